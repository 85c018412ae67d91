"""What befell a clock or a machine, each thing once, however many pairs of clocks tell of it."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise
from operator import attrgetter
from typing import Final

import numpy as np

from tracetime.clocks.ids import ClockId
from tracetime.graph.tube.results import PairDiscontinuity

BACK: Final = 0.03
"""A jump back differs from the jump away by no more than this part of it: that is drift."""

_Zone = tuple[int, int, PairDiscontinuity]
_by_snapshots = attrgetter("snapshots")


def sleeps(found: list[PairDiscontinuity]) -> list[PairDiscontinuity]:
    """The suspends of a machine, each once, by the two snapshots that are closest about it."""
    first: dict[tuple[int, int], PairDiscontinuity] = {}
    for start, end, d in _zones(sorted(found, key=_by_snapshots)):
        first.setdefault((start, end), d)
    kept: list[PairDiscontinuity] = []
    for beside in _overlapping([(start, end, d) for (start, end), d in first.items()]):
        told = _Told()
        for start, end, d in beside:
            if not told.overlapping(start, end):
                told.add(start, end)
                kept.append(d)
    return sorted(kept, key=_by_snapshots)


class _Told:
    """Zones that were told of, by where they start and end."""

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._ends: list[int] = []

    def add(self, start: int, end: int) -> None:
        insort(self._starts, start)
        insort(self._ends, end)

    def overlapping(self, start: int, end: int) -> int:
        """How many begin before a zone's end, but for those that end before it."""
        return bisect_left(self._starts, end) - bisect_right(self._ends, start)


def settled(found: list[PairDiscontinuity]) -> list[PairDiscontinuity]:
    """What befell one clock, but for suspends, each thing once: several pairs tell of it.

    A jump away in one snapshot and back in the next is one reading that is off.
    """
    by_witness = defaultdict(list)
    for d in sorted(found, key=_by_snapshots):
        by_witness[d.src].append(d)
    every = [d for told in by_witness.values() for d in _healed(told)]
    off = {number: d.src for d in every if d.kind == "outlier" for number in d.snapshots}
    kept, jumped, seen = [], [], set()
    for d in every:
        if d.kind != "outlier":
            jumped.append(d)
        elif d.snapshots not in seen:
            seen.add(d.snapshots)
            kept.append(d)
    for beside in _overlapping(list(_zones(jumped))):
        kept += _once(beside, off)
    return sorted(kept, key=_by_snapshots)


def _once(beside: list[_Zone], off: dict[int, ClockId]) -> Iterator[PairDiscontinuity]:
    """Jumps whose zones overlap, the narrowest first, without what other witnesses tell again.

    off: the snapshots that are off, with the clock that tells it.
    """
    every, by_witness = _Told(), defaultdict[ClockId, _Told](_Told)
    for start, end, d in beside:
        own = by_witness[d.src]
        again = every.overlapping(start, end) - own.overlapping(start, end)
        if not again and all(off.get(number, d.src) == d.src for number in d.snapshots):
            every.add(start, end)
            own.add(start, end)
            yield d


def _overlapping(zones: list[_Zone]) -> Iterator[list[_Zone]]:
    """Zones in groups that touch no other; in each the narrowest first, the better evidence."""
    starts, ends = (np.array([zone[k] for zone in zones], dtype=np.int64) for k in (0, 1))
    order = np.lexsort((ends, starts))
    farthest = np.maximum.accumulate(ends[order])
    apart = np.flatnonzero(starts[order][1:] >= farthest[:-1]) + 1
    bounds = [0, *apart.tolist(), len(zones)]
    rows = order.tolist()
    for i, j in pairwise(bounds):
        beside = [zones[row] for row in rows[i:j]]
        yield sorted(beside, key=lambda zone: (zone[1] - zone[0], zone[2].snapshots))


def _zones(found: list[PairDiscontinuity]) -> Iterator[_Zone]:
    """The snapshots between which each happened, and itself."""
    return ((min(d.snapshots), max(d.snapshots), d) for d in found)


def _healed(told: list[PairDiscontinuity]) -> list[PairDiscontinuity]:
    """The jumps beside one clock, in order, with those away and back as the outliers they are."""
    found: list[PairDiscontinuity] = []
    for d in told:
        if found and _there_and_back(found[-1], d):
            found[-1] = found[-1]._replace(kind="outlier", snapshots=d.snapshots[:1])
        else:
            found.append(d)
    return found


def _there_and_back(one: PairDiscontinuity, other: PairDiscontinuity) -> bool:
    if one.size_ns is None or other.size_ns is None or "outlier" in (one.kind, other.kind):
        return False
    away, back = sum(one.size_ns), sum(other.size_ns)
    return one.snapshots[-1] == other.snapshots[0] and abs(away + back) <= BACK * abs(away)
