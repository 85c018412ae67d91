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
    its two clocks, and not told here.

    boots: by the halves of a machine's id and of a boot's, monotonic and realtime in us and the
        index of each entry.
    """
    machines: dict[tuple[int, ...], list[Values]] = {}
    for boot, read in boots.items():
        if read.size:
            machines.setdefault(boot[:2], []).append(read)
    found = [np.empty(0, np.int64)]
    for boots_of in machines.values():
        latest_us = 0
        for _, realtime_us, entries in sorted(boots_of, key=lambda read: int(read[1].min())):
            found.append(entries[realtime_us < latest_us - USUAL_US])
            latest_us = max(int(realtime_us.max()), latest_us)
    return np.sort(np.concatenate(found))
