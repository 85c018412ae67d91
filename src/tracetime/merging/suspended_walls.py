"""Wall clocks after a suspend: until its time service has seen to it, nobody knows how far off."""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from tracetime.clocks.ids import BUILTIN_IDS, ClockId
from tracetime.merging.files import MergedFile

_BOOTTIME: Final = BUILTIN_IDS["BOOTTIME"]
_MONOTONIC: Final = BUILTIN_IDS["MONOTONIC"]
_COUNTED_NS: Final = 1_000_000_000
"""The clock that goes on in a suspend may count whole seconds."""
_SLOWEST: Final = 2_000
"""It drifts by up to 500 ppm."""
_STILL_NS: Final = 1_000_000
"""A recorder that is held up reads two clocks so far apart."""

Values = npt.NDArray[np.int64]


def after_suspend_ns(file: MergedFile, snapshots: Values) -> Values:
    """How far REALTIME may be off besides what is said in some snapshots, int64 ns.

    A bound that is said after a suspend may be from before it: REALTIME is as BOOTTIME then, which
    counts a suspend by a clock of whole seconds.

    Args:
        snapshots: their numbers, ascending.
    """
    clocks = (ClockId(number, machine=file.home.machine) for number in (_MONOTONIC, _BOOTTIME))
    numbers, monotonic, boottime = file.trace.clocks._parts.shared(*clocks)
    if not len(numbers):
        return np.zeros(len(snapshots), dtype=np.int64)
    order = np.argsort(numbers, kind="stable")
    slept = (boottime - monotonic)[order]
    # One that has no MONOTONIC may be of the time after the suspend.
    at = np.minimum(np.searchsorted(numbers[order], snapshots), len(slept) - 1)
    slept = np.maximum.accumulate(slept - slept[0])
    times = np.append(0, np.cumsum(np.diff(slept) > _STILL_NS))
    more: Values = np.where(times > 0, times * _COUNTED_NS + slept // _SLOWEST, 0)[at]
    return more
