"""Jumps of a clock and suspends of a machine, each once: several pairs of clocks show the same."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from typing import Final

import numpy as np

from tracetime.doctor.jump_columns import JumpSnapshots
from tracetime.graph.tube.discontinuities import PairDiscontinuities
from tracetime.graph.values import Values

BACK: Final = 0.03
"""A jump back may differ from the jump away by this part of it, because of drift."""


def distinct_suspends(found: PairDiscontinuities) -> PairDiscontinuities:
    """Return the suspends of a machine, each once, with the closest snapshots around it."""
    found = _in_order(found)
    kept: list[int] = []
    for group in _overlapping(found):
        known = _Zones()
        for start, end, row in group:
            if not known.overlapping(start, end):
                known.add(start, end)
                kept.append(row)
    return found.take(np.sort(np.array(kept, dtype=np.int64)))


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


def distinct_jumps(found: PairDiscontinuities) -> PairDiscontinuities:
    """Return the jumps of one clock, without suspends, each once: several pairs show it.

    A jump away in one snapshot and back in the next is one wrong reading.
    """
    found = _in_order(found)
    by_reference = [_with_outliers(those) for those in found.grouped(found.src)]
    every = PairDiscontinuities.joined(by_reference)
    keys, is_off = _keys(every), every.kind_is("outlier")
    off, jumped = np.flatnonzero(is_off), np.flatnonzero(~is_off)
    if len(by_reference) > 1:
        # One witness tells of different things, however they overlap.
        jumped = jumped[np.lexsort(keys[::-1, jumped])]
        jumped = jumped[_distinct(every.take(jumped), every.take(off))]
    _, once = np.unique(keys[:, off], axis=1, return_index=True)
    kept = np.append(off[np.sort(once)], jumped)
    return every.take(kept[np.lexsort(keys[::-1, kept])])


def _distinct(jumped: PairDiscontinuities, off: PairDiscontinuities) -> Values:
    """Return which jumps to keep: of those that overlap the narrowest, once if others repeat it.

    off: the snapshots with a wrong reading; jumps there that other clocks show are the same.
    """
    shown_by = dict(
        zip(off.snapshots.flat.tolist(), off.src[off.snapshots.row].tolist(), strict=True)
    )
    numbers, sources = list(jumped.snapshots), jumped.src.tolist()
    kept: list[int] = []
    for group in _overlapping(jumped):
        every, by_reference = _Zones(), defaultdict[int, _Zones](_Zones)
        for start, end, row in group:
            src = sources[row]
            own = by_reference[src]
            again = every.overlapping(start, end) - own.overlapping(start, end)
            if not again and all(shown_by.get(number, src) == src for number in numbers[row]):
                every.add(start, end)
                own.add(start, end)
                kept.append(row)
    return np.array(kept, dtype=np.int64)


def _keys(found: PairDiscontinuities) -> Values:
    """Return the first and the last snapshot of each, and how many there are: int64[3, n]."""
    on = found.snapshots
    return np.stack([on.firsts, on.lasts, on.counts])


def _in_order(found: PairDiscontinuities) -> PairDiscontinuities:
    """Return them by their snapshots; those of the same ones stay as they were."""
    return found.take(np.lexsort(_keys(found)[::-1]))


def _overlapping(found: PairDiscontinuities) -> Iterator[list[tuple[int, int, int]]]:
    """Yield groups whose zones overlap no other group's: start, end and row, the narrowest first.

    A zone is what is between the snapshots around a jump. Rows are in order of snapshots.
    """
    snapshots = JumpSnapshots(found)
    starts, ends = snapshots.lows, snapshots.highs
    order = np.lexsort((ends, starts))
    farthest = np.maximum.accumulate(ends[order])
    apart = np.flatnonzero(starts[order][1:] >= farthest[:-1]) + 1
    columns = (starts[order], ends[order], order)
    rows = list(zip(*(column.tolist() for column in columns), strict=True))
    for i, j in pairwise([0, *apart.tolist(), len(rows)]):
        yield sorted(rows[i:j], key=lambda row: (row[1] - row[0], row[2]))


def _with_outliers(jumps: PairDiscontinuities) -> PairDiscontinuities:
    """Return the jumps against one clock, in order, with a jump away and back as an outlier."""
    moved, on = jumps.low + jumps.high, jumps.snapshots
    is_jump = jumps.sized & ~jumps.kind_is("outlier")
    back = is_jump[:-1] & is_jump[1:] & (on.lasts[:-1] == on.firsts[1:])
    back &= np.abs(moved[:-1] + moved[1:]) <= BACK * np.abs(moved[:-1])
    # What is back again is away no more: of a row of such jumps, every other one is an outlier.
    places = np.arange(len(back))
    back &= (places - np.maximum.accumulate(np.where(back, -1, places))) % 2 == 1
    away, again = np.append(back, False), np.append(False, back)
    left = ~away[on.row]
    left[on.ends[away] - 1] = True
    off = replace(jumps, snapshots=on.only(left)).as_kind(away, "outlier")
    return off.take(~again[: len(jumps)])
