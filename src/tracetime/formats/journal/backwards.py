"""Where REALTIME of a machine runs backwards in its journal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np
import numpy.typing as npt

Values = npt.NDArray[np.int64]

USUAL_US: Final = 10**6
"""NTP may set the clock by so much between two boots without a fault."""


def backwards(boots: Mapping[tuple[int, int, int, int], Values]) -> Values:
    """Return the entries that are over 1 s before the end of a boot that began before theirs.

    A machine has one boot at a time: where two overlap, one of them had a clock that was wrong. A
    journal in reverse order (`journalctl -r`) is no different. A step within a boot is seen by
    its two clocks, and not told here. Boots that do not overlap follow each other in the file as
    they did: one that is wholly before those before it had a clock that was not set.

    boots: by the halves of a machine's id and of a boot's, monotonic and realtime in us and the
        index of each entry.
    """
    machines: dict[tuple[int, ...], list[Values]] = {}
    for boot, read in boots.items():
        if read.size:
            machines.setdefault(boot[:2], []).append(read)
    found = [np.empty(0, np.int64)]
    for boots_of in machines.values():
        if len(boots_of) == 1:
            continue
        sizes = np.array([read.shape[1] for read in boots_of])
        ends = np.cumsum(sizes)
        _, realtime_us, entries = np.concatenate(boots_of, axis=1)
        first_us, last_us, first, last = (
            of.reduceat(column, ends - sizes)
            for column in (realtime_us, entries)
            for of in (np.minimum, np.maximum)
        )
        latest_us = _before(first_us, last_us)
        found.append(entries[realtime_us < np.repeat(latest_us, sizes) - USUAL_US])
        # Boots that are wholly before one that comes before them in the file.
        is_reversed = np.sign(entries[ends - 1] - entries[ends - sizes]).sum() < 0
        latest_us = _before(-last if is_reversed else first, last_us)
        found.append(entries[np.repeat(last_us < latest_us - USUAL_US, sizes)])
    return np.unique(np.concatenate(found))


def _before(rank: Values, last_us: Values) -> Values:
    """For each boot, the latest time of those that come before it by rank; 0 for the first."""
    order = np.argsort(rank, kind="stable")
    latest_us = np.empty_like(last_us)
    latest_us[order] = np.maximum.accumulate(np.append(0, last_us[order]))[:-1]
    return latest_us
