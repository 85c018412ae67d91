"""Wall clocks that were never set: machines without a battery for theirs begin with a default.

Every boot then begins at the same time, and so do other machines of one make: that REALTIME -
BOOTTIME agrees proves nothing. A default is 1970, the first of a year, the midnight of some other
day, or when the kernel was built.
"""

from __future__ import annotations

import re
from calendar import timegm
from collections.abc import Iterable
from time import strptime
from typing import Final

import numpy as np
import numpy.typing as npt

from tracetime.clocks.wall_time import NS_OF_UNIT

_EARLIEST_NS: Final = 1_483_228_800 * NS_OF_UNIT["s"]
"""2017, when there was nothing yet that records two clocks with a trace."""

_DAY_NS: Final = 24 * NS_OF_UNIT["h"]
_BEFORE_NS: Final = NS_OF_UNIT["min"]
_AFTER_NS: Final = 10 * NS_OF_UNIT["min"]
"""A clock begins with its default when it gets power, or when a program of the boot sets it."""

_BUILT: Final = re.compile(
    rb"([A-Z][a-z]{2}) +(\d{1,2}) (\d\d:\d\d:\d\d) (?:[A-Z]+ )?(\d{4})", re.ASCII
)
"""As `uname -v` ends: Mon Apr  3 17:24:16 BST 2023."""

_ZONES_NS: Final = 14 * NS_OF_UNIT["h"]
"""It is said in some time zone."""


def are_unset(booted: npt.NDArray[np.int64], machine: Iterable[bytes]) -> npt.NDArray[np.bool_]:
    """A mask of the boot instants by a wall clock that had not been set.

    Args:
        booted: int64 ns, what REALTIME - BOOTTIME is.
        machine: what the machine says of its kernel.
    """
    since_midnight = (booted + _BEFORE_NS) % _DAY_NS
    unset: npt.NDArray[np.bool_] = booted < earliest_ns(machine, _ZONES_NS)
    return unset | (since_midnight < _BEFORE_NS + _AFTER_NS)


def earliest_ns(machine: Iterable[bytes], built_late_ns: int = -_ZONES_NS) -> int:
    """Before when no clock of a machine can have read REALTIME rightly, ns.

    Args:
        machine: as of `are_unset`.
        built_late_ns: how far its kernel may have been built from when it says, in UTC.
    """
    built = [when + built_late_ns for text in machine if (when := _built_ns(text)) is not None]
    return max((_EARLIEST_NS, *built))


def _built_ns(text: bytes) -> int | None:
    """The time when a kernel was built, in the builder's time zone; None where it does not say."""
    match = _BUILT.search(text)
    if match is None:
        return None
    month, day, time, year = (part.decode() for part in match.groups())
    try:
        return (
            timegm(strptime(f"{month} {day} {time} {year}", "%b %d %H:%M:%S %Y")) * NS_OF_UNIT["s"]
        )
    except ValueError:
        return None
