"""Slices of different clocks of which error bars cannot say whether they overlap.

Two slices overlap if each begins before the other one ends. Where the bars of these readings are
apart, that is decided; else it is not. Slices are compared on the clock at which their paths meet:
what both may be off by together, beyond that clock, does not count. What is left of an error that
both share, such as one half-width of a snapshot, counts as if it were two: more pairs may be called
undecided than need be, never fewer.

Nothing is done per pair but for those that are shown.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tracetime.analysis.meetings import meetings
from tracetime.analysis.span_pairs import Spans, count_undecided, pairs_to_show
from tracetime.clocks.ids import ClockId
from tracetime.graph.tube.bars import Bars
from tracetime.trace.events_table import Columns
from tracetime.trace.slice_ends import Rows, SliceEnds


class Bar(NamedTuple):
    """One end of a slice, ns on the clock it is compared on."""

    estimate: int
    earliest: int
    latest: int


class Span(NamedTuple):
    """A slice under its error bars.

    Attributes:
        row: its number in the table of slices.
        clock: that its begin was read in.
    """

    row: int
    clock: ClockId
    begin: Bar
    end: Bar


class Place(NamedTuple):
    """Two slices that may overlap, or not.

    Attributes:
        one, other: the one whose estimate begins first comes first.
        on: the clock they are compared on.
    """

    one: Span
    other: Span
    on: ClockId

    @property
    def window(self) -> tuple[int, int]:
        """The earliest and the latest instant at which they can overlap, ns."""
        begins, ends = (self.one.begin, self.other.begin), (self.one.end, self.other.end)
        return max(bar.earliest for bar in begins), min(bar.latest for bar in ends)

    @property
    def at_stake(self) -> tuple[int, int]:
        """How long they may overlap, and for how long that is open, ns."""
        first, last = self.window
        shorter = min(side.end.estimate - side.begin.estimate for side in (self.one, self.other))
        return min(shorter, last - first), last - first


@dataclass(frozen=True, slots=True)
class UndecidedOverlaps:
    """What error bars leave open about the slices of a trace.

    Attributes:
        compared: how many slices have bars at both ends.
        left_out: how many have not: they do not end, or nothing places them.
        undecided: pairs of slices that may overlap or not.
        affected: slices of such a pair.
        by_clock: for each clock that slices begin on, how many there are, and how many of them
            are affected.
        places: pairs to show, the one with most at stake first.
    """

    compared: int
    left_out: int
    undecided: int
    affected: int
    by_clock: dict[ClockId, tuple[int, int]]
    places: list[Place]


def undecided_overlaps(
    ends: SliceEnds, trace_clock: ClockId, most: int, bars: Bars = "estimated"
) -> UndecidedOverlaps:
    """Compare the slices of a trace.

    Args:
        ends: of the slices.
        trace_clock: paths lead to it.
        most: the largest number of places.
        bars: "estimated" or "guaranteed".
    """
    clocks, begins, stops = ends.clocks, ends.begin_clock, ends.end_clock
    compared, affected = (np.zeros(len(begins), np.bool_) for _ in range(2))
    found: list[Place] = []
    undecided = 0
    for meeting in meetings(ends.graph, trace_clock, clocks):
        rows, group = meeting.members(begins, stops)
        placed, first, last = _placed(ends, meeting.on, rows, bars)
        rows = rows[placed]
        instant = ends.begins["source_ns"][rows] == ends.ends["source_ns"][rows]
        instant &= begins[rows] == stops[rows]
        spans = Spans(
            first["earliest"],
            first["latest"],
            last["earliest"],
            last["latest"],
            instant,
            group[placed],
        )
        compared[rows] = True
        counts = count_undecided(spans)
        undecided += int(counts.sum()) // 2
        affected[rows[counts > 0]] = True
        numbers = begins[rows].astype(np.int64)
        for pair in pairs_to_show(spans, np.flatnonzero(counts), numbers, most):
            sides = []
            for k in pair:
                clock = clocks[numbers[k]]
                sides.append(Span(int(rows[k]), clock, _bar(first, k), _bar(last, k)))
            one, other = sorted(sides, key=lambda side: side.begin.estimate)
            found.append(Place(one, other, meeting.on))
    total, with_doubt = (
        np.bincount(begins[rows], minlength=len(clocks)).tolist() for rows in (compared, affected)
    )
    found.sort(key=lambda place: place.at_stake, reverse=True)
    return UndecidedOverlaps(
        compared=int(np.count_nonzero(compared)),
        left_out=int(np.count_nonzero(~compared)),
        undecided=undecided,
        affected=int(np.count_nonzero(affected)),
        by_clock={c: (n, k) for c, n, k in zip(clocks, total, with_doubt, strict=True) if n},
        places=found[:most],
    )


def _placed(ends: SliceEnds, on: ClockId, rows: Rows, bars: Bars) -> tuple[Rows, Columns, Columns]:
    """Which of some slices have bars at both ends; and these bars."""
    first, last = ends.place(on, rows, bars)
    placed = np.flatnonzero(
        (first["earliest"] <= first["latest"])
        & (last["earliest"] <= last["latest"])
        & (first["earliest"] <= last["latest"])
    )
    first, last = ({name: at[placed] for name, at in end.items()} for end in (first, last))
    # No slice ends before it begins, so one bar narrows the other.
    np.minimum(first["latest"], last["latest"], out=first["latest"])
    np.maximum(first["earliest"], last["earliest"], out=last["earliest"])
    np.maximum(first["trace_time"], last["trace_time"], out=last["trace_time"])
    return placed, first, last


def _bar(placed: Columns, k: int) -> Bar:
    return Bar(*(int(placed[name][k]) for name in ("trace_time", "earliest", "latest")))
