"""Where REALTIME of a machine runs backwards in its journal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
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
        latest_us = 0
        for _, realtime_us, entries in sorted(boots_of, key=lambda read: int(read[1].min())):
            found.append(entries[realtime_us < latest_us - USUAL_US])
            latest_us = max(int(realtime_us.max()), latest_us)
        found += _out_of_order(boots_of)
    return np.unique(np.concatenate(found))


def _out_of_order(boots: Sequence[Values]) -> Iterator[Values]:
    """Yield the entries of boots that are wholly before one that comes before them in the file."""
    is_reversed = sum(map(_rises, boots)) < 0
    latest_us = 0
    for _, realtime_us, entries in sorted(boots, key=lambda read: _first(read, is_reversed)):
        if realtime_us.max() < latest_us - USUAL_US:
            yield entries
        latest_us = max(int(realtime_us.max()), latest_us)


def _rises(boot: Values) -> int:
    """1 where later entries of a boot come later in the file, -1 where they come earlier."""
    return int(np.sign(boot[2, -1] - boot[2, 0]))


def _first(boot: Values, is_reversed: bool) -> int:
    """Where a boot begins in the file; from its end, if that is in reverse order."""
    return -int(boot[2].max()) if is_reversed else int(boot[2].min())
