"""Which clock of the host a driver's timer is: found by reading, as no driver says it."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

CANDIDATES: Final = ("REALTIME", "MONOTONIC", "MONOTONIC_RAW", "BOOTTIME")

_ROUNDS: Final = 8
"""A clock that is read by chance within a bracket of another is not so each time."""


def clocks_of(timer: Callable[[], int], resolution_ns: int = 0) -> tuple[str, ...]:
    """The clocks of Linux that a timer shows: it reads between two readings of each, every time.

    Several where they show the same: MONOTONIC and BOOTTIME until the machine is suspended.

    Args:
        timer: reads it, ns.
        resolution_ns: how much earlier than now it may show.

    Raises:
        SourceError: the timer cannot be read.
    """
    return tuple(name for name in CANDIDATES if _is_read_by(timer, name, resolution_ns))


def in_words(clocks: tuple[str, ...]) -> str:
    """`MONOTONIC or BOOTTIME`."""
    return " or ".join(clocks) if clocks else "none of the host's clocks"


def _is_read_by(timer: Callable[[], int], name: str, resolution_ns: int) -> bool:
    number = getattr(time, f"CLOCK_{name}", None)
    if number is None:
        return False
    for _ in range(_ROUNDS):
        before_ns = time.clock_gettime_ns(number)
        shown_ns = timer()
        if not before_ns - resolution_ns <= shown_ns <= time.clock_gettime_ns(number):
            return False
    return True
