"""Jumps of a clock and suspends of a machine, each once: several pairs of clocks show the same."""

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
"""A jump back may differ from the jump away by this part of it, because of drift."""

_Zone = tuple[int, int, PairDiscontinuity]
_by_snapshots = attrgetter("snapshots")


def distinct_suspends(found: list[PairDiscontinuity]) -> list[PairDiscontinuity]:
    """Return the suspends of a machine, each once, with the closest snapshots around it."""
    first: dict[tuple[int, int], PairDiscontinuity] = {}
    for start, end, d in _zones(sorted(found, key=_by_snapshots)):
        first.setdefault((start, end), d)
    kept: list[PairDiscontinuity] = []
    for group in _overlapping([(start, end, d) for (start, end), d in first.items()]):
        known = _Zones()
        for start, end, d in group:
            if not known.overlapping(start, end):
                known.add(start, end)
                kept.append(d)
    return sorted(kept, key=_by_snapshots)


class _Zones:
    """Spans of snapshots in which something happened."""

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._ends: list[int] = []

    def add(self, start: int, end: int) -> None:
        insort(self._starts, start)
        insort(self._ends, end)

    def overlapping(self, start: int, end: int) -> int:
        """Return how many of them overlap a span."""
        return bisect_left(self._starts, end) - bisect_right(self._ends, start)


def distinct_jumps(found: list[PairDiscontinuity]) -> list[PairDiscontinuity]:
    """Return the jumps of one clock, without suspends, each once: several pairs show it.

    A jump away in one snapshot and back in the next is one wrong reading.
    """
    by_reference = defaultdict(list)
    for d in sorted(found, key=_by_snapshots):
        by_reference[d.src].append(d)
    every = [d for jumps in by_reference.values() for d in _with_outliers(jumps)]
    off = {number: d.src for d in every if d.kind == "outlier" for number in d.snapshots}
    kept, jumped, seen = [], [], set()
    for d in every:
        if d.kind != "outlier":
            jumped.append(d)
        elif d.snapshots not in seen:
            seen.add(d.snapshots)
            kept.append(d)
    if len(by_reference) == 1:
        # One witness tells of different things, however they overlap.
        kept += jumped
    else:
        for group in _overlapping(list(_zones(jumped))):
            kept += _distinct(group, off)
    return sorted(kept, key=_by_snapshots)


def _distinct(group: list[_Zone], off: dict[int, ClockId]) -> Iterator[PairDiscontinuity]:
    """Yield jumps whose zones overlap, the narrowest first, without those that other clocks repeat.

    off: the snapshots with a wrong reading, and the clock that shows it.
    """
    every, by_reference = _Zones(), defaultdict[ClockId, _Zones](_Zones)
    for start, end, d in group:
        own = by_reference[d.src]
        again = every.overlapping(start, end) - own.overlapping(start, end)
        if not again and all(off.get(number, d.src) == d.src for number in d.snapshots):
            every.add(start, end)
            own.add(start, end)
            yield d


def _overlapping(zones: list[_Zone]) -> Iterator[list[_Zone]]:
    """Yield groups of zones that overlap no other group, each with the narrowest zone first."""
    starts, ends = (np.array([zone[k] for zone in zones], dtype=np.int64) for k in (0, 1))
    order = np.lexsort((ends, starts))
    farthest = np.maximum.accumulate(ends[order])
    apart = np.flatnonzero(starts[order][1:] >= farthest[:-1]) + 1
    bounds = [0, *apart.tolist(), len(zones)]
    rows = order.tolist()
    for i, j in pairwise(bounds):
        group = [zones[row] for row in rows[i:j]]
        yield sorted(group, key=lambda zone: (zone[1] - zone[0], zone[2].snapshots))


def _zones(found: list[PairDiscontinuity]) -> Iterator[_Zone]:
    """Return the snapshots between which each jump happened, and the jump."""
    return ((min(d.snapshots), max(d.snapshots), d) for d in found)


def _with_outliers(jumps: list[PairDiscontinuity]) -> list[PairDiscontinuity]:
    """Return the jumps against one clock, in order, with a jump away and back as an outlier."""
    found: list[PairDiscontinuity] = []
    for d in jumps:
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
