"""Slices of different clocks whose error bars leave open whether they overlap.

Two slices overlap if each begins before the other one ends. Where the bars of these readings are
apart, that is decided; else it is not. Slices are compared on the clock at which their paths meet:
what both may be off by together, beyond that clock, does not count. What is left of an error that
both share, such as one half-width of a snapshot, counts as if it were two: more pairs may be called
undecided than need be, never fewer.

Nothing is done per pair but for those that are shown.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from tracetime._kernels.common.columns import count_crossing, count_others
from tracetime.clocks.ids import ClockId
from tracetime.errors import ConversionError
from tracetime.graph.graph import Graph
from tracetime.graph.tube.results import Bars
from tracetime.graph.values import Values
from tracetime.trace.events_table import Columns
from tracetime.trace.slice_ends import Rows, SliceEnds

# Pairs of spans, compared by the bars of their ends: how many are undecided, and which.
#
# Counting takes sorted columns, however many pairs there are.

_MOST_PAIRS: Final = 200_000
"""Pairs that are looked at for those to show: their columns take some 20 MB."""

_MOST_OF_ONE: Final = 1000
"""So many of these may be of one span."""


_FARTHEST: Final = 1 << 61
"""73 years in ns."""


class SpanColumns(NamedTuple):
    """Spans as columns: the bars of both ends, ns on one clock.

    earliest <= latest of either end; earliest and latest of the begin are not after the end's.

    Attributes:
        instant: whether each lasts no time; two such never overlap.
        group: from 0; those of one group are not compared.
    """

    begin_earliest: Values
    begin_latest: Values
    end_earliest: Values
    end_latest: Values
    instant: npt.NDArray[np.bool_]
    group: Values

    def of(self, rows: Rows | npt.NDArray[np.bool_]) -> SpanColumns:
        """The spans of some rows."""
        return SpanColumns(
            self.begin_earliest[rows],
            self.begin_latest[rows],
            self.end_earliest[rows],
            self.end_latest[rows],
            self.instant[rows],
            self.group[rows],
        )


def count_undecided(spans: SpanColumns) -> Values:
    """The number of spans of other groups that each may overlap, or not.

    By their bars two spans overlap where each has begun before the other one can have ended; they
    are apart where one has ended before the other one can have begun. So it is undecided where
    one can begin within the bar of the other one's end.
    """
    begin, begun, end, ended = spans[:4]
    by_begin, by_begun, by_end, by_ended = (np.argsort(column) for column in spans[:4])
    group = spans.group
    # The other one may begin at the end of this one; this one at the end of the other one; both.
    counts = count_others(begin, by_begin, ended, by_ended, group, False)
    counts -= count_others(begun, by_begun, end, by_end, group, True)
    counts += count_others(end, by_end, begun, by_begun, group, False)
    counts -= count_others(ended, by_ended, begin, by_begin, group, True)
    if (end <= begun).any():
        counts -= count_crossing(begun, by_begun, end, by_end)
        for rows in _by_group(group):
            first, last = begun[rows], end[rows]
            counts[rows] += count_crossing(first, np.argsort(first), last, np.argsort(last))
        # One that may end before it begins is its own group here, too.
        counts += (np.bincount(group)[group] == 1) & (end <= begun)
    by_begin, by_ended = by_begin[spans.instant[by_begin]], by_ended[spans.instant[by_ended]]
    counts -= count_others(begin, by_begin, ended, by_ended, group, False)
    counts += count_others(ended, by_ended, begin, by_begin, group, True)
    return counts


def _by_group(group: Values) -> Iterator[Rows]:
    """The rows of each group of two and more."""
    members = np.bincount(group)
    shared = np.flatnonzero(members[group] > 1)
    numbers = np.cumsum(members > 1)[group[shared]] - 1
    # Few groups fit in 16 bits, where a stable sort is a radix sort.
    kind = np.uint16 if numbers.max(initial=0) < 1 << 16 else np.int64
    order = shared[np.argsort(numbers.astype(kind), kind="stable")]
    ends = np.cumsum(members[members > 1]).tolist()
    for first, last in pairwise([0, *ends]):
        yield order[first:last]


def pairs_to_show(
    spans: SpanColumns, affected: Rows, clock: Values, most: int
) -> list[tuple[int, int]]:
    """Undecided pairs: first those with most at stake of each two clocks, then others.

    At stake is the time that two spans may overlap, at most the length of the shorter one. Of very
    many pairs, those of the longest affected spans are looked at.

    Args:
        spans: all.
        affected: which of them are in such a pair.
        clock: of each.
        most: the largest number of pairs.
    """
    if not len(affected):
        return []
    # Beyond, differences would overflow.
    begin, begun, end, ended = (np.clip(column, -_FARTHEST, _FARTHEST) for column in spans[:4])
    spans = SpanColumns(begin, begun, end, ended, spans.instant, spans.group)
    one, other = _candidates(spans, affected)
    window = np.minimum(spans.end_latest[one], spans.end_latest[other]) - np.maximum(
        spans.begin_earliest[one], spans.begin_earliest[other]
    )
    length = spans.end_earliest - spans.begin_earliest
    stake = np.minimum(np.minimum(length[one], length[other]), window)
    order = np.lexsort((-window, -stake))
    low, high = np.minimum(clock[one], clock[other]), np.maximum(clock[one], clock[other])
    key = (low * (int(clock.max()) + 1) + high)[order]
    leading = np.zeros(len(order), np.bool_)
    leading[np.unique(key, return_index=True)[1]] = True
    order = np.concatenate([order[leading], order[~leading]])[:most]
    return list(zip(one[order].tolist(), other[order].tolist(), strict=True))


def _candidates(spans: SpanColumns, affected: Rows) -> tuple[Rows, Rows]:
    """Undecided pairs, each once; not all where there are very many."""
    by_begin = affected[np.argsort(spans.begin_earliest[affected], kind="stable")]
    own = spans.of(by_begin)
    begins = own.begin_earliest
    after = np.arange(1, len(begins) + 1)
    # What follows a span in this order and is undecided begins as it may end, or ends as it may
    # begin.
    widest = int((own.begin_latest - begins).max())
    first = np.maximum(np.searchsorted(begins, own.end_earliest - widest, "left"), after)
    last = np.maximum(np.searchsorted(begins, own.end_latest, "right"), first)
    early = np.clip(np.searchsorted(begins, own.begin_latest, "right"), after, first)
    counts = [np.minimum(x, _MOST_OF_ONE) for x in (early - after, last - first)]
    longest = np.argsort(begins - own.end_earliest, kind="stable")
    longest = longest[np.cumsum((counts[0] + counts[1])[longest]) <= _MOST_PAIRS]
    parts = [
        (np.repeat(longest, n[longest]), _ranges(start[longest], n[longest]))
        for start, n in zip((after, first), counts, strict=True)
    ]
    one, other = (np.concatenate(part) for part in zip(*parts, strict=True))
    open_ = (
        (own.group[one] != own.group[other])
        & ~(own.instant[one] & own.instant[other])
        & (own.begin_earliest[other] <= own.end_latest[one])
        & (own.begin_earliest[one] <= own.end_latest[other])
        & ~(
            (own.end_earliest[one] > own.begin_latest[other])
            & (own.end_earliest[other] > own.begin_latest[one])
        )
    )
    return by_begin[one[open_]], by_begin[other[open_]]


def _ranges(starts: Rows, counts: Values) -> Rows:
    """The numbers from each start, as many as its count."""
    before = np.cumsum(counts) - counts
    numbers: Rows = np.arange(int(counts.sum())) + np.repeat(starts - before, counts)
    return numbers


Numbers = npt.NDArray[np.int32]

_NOT_HERE = -1


@dataclass(frozen=True, eq=False, slots=True)
class Meeting:
    """A clock at which paths meet.

    Attributes:
        on: the clock on which to compare.
        through: by number of a clock, over which neighbour its path comes here; -1 for none. The
            last one is that of no clock.
        unsteady: by number of a clock, whether it was set back, so that it does not decide what
            came first; it counts where its path first leads.
    """

    on: ClockId
    through: Values
    unsteady: npt.NDArray[np.bool_]

    def members(self, begins: Numbers, ends: Numbers) -> tuple[Rows, Values]:
        """The slices whose clocks both come here, and the group of each.

        Those of one group are not compared here. Slices that begin on one clock and end on another
        one that first meets it here are groups of their own: neither clock decides about them; so
        are those on a clock that was set back.

        begins, ends: the number of the clock of each; -1 of none.
        """
        first, last = self.through[begins], self.through[ends]
        rows = np.flatnonzero((first != _NOT_HERE) & (last != _NOT_HERE))
        first, last = first[rows], last[rows]
        alone = (first != last) | self.unsteady[begins[rows]] | self.unsteady[ends[rows]]
        return rows, np.where(alone, len(self.through) + np.arange(len(rows)), first)


def meetings(graph: Graph, trace_clock: ClockId, clocks: list[ClockId]) -> Iterator[Meeting]:
    """The clocks where the paths of some clocks to the trace clock meet, by number.

    A clock that was set back does not tell what came first: another one takes its place, or what
    meets there is not compared.
    """
    tubes = graph.tubes
    onward = _onward(graph, trace_clock, clocks)
    through: dict[ClockId, dict[int, ClockId]] = {}
    for number, clock in enumerate(clocks):
        here = clock
        if clock not in onward:
            continue
        came_from: ClockId | None = clock
        while came_from is not None:
            through.setdefault(here, {})[number] = came_from
            came_from, here = (here, onward[here]) if here != onward[here] else (None, here)
    for here, members in through.items():
        neighbours = list(dict.fromkeys(members.values()))
        unsteady = np.zeros(len(clocks) + 1, np.bool_)
        for number, neighbour in members.items():
            decides = neighbour != clocks[number] or neighbour == here != trace_clock
            unsteady[number] = not decides and tubes.pairs.was_set_back(neighbour)
        if len(neighbours) < 2 and not unsteady.any():
            continue
        on = tubes.paths.reference(here, here)
        if tubes.pairs.was_set_back(on):
            continue
        places = np.full(len(clocks) + 1, _NOT_HERE)
        for number, neighbour in members.items():
            places[number] = neighbours.index(neighbour)
        yield Meeting(on, places, unsteady)


def _onward(graph: Graph, trace_clock: ClockId, clocks: list[ClockId]) -> dict[ClockId, ClockId]:
    """The next clock on the way to the trace clock, which itself stays; of clocks with a path."""
    onward = {trace_clock: trace_clock}
    for clock in clocks:
        try:
            path = graph.tubes.path(clock, trace_clock) if clock != trace_clock else []
        except ConversionError:
            continue
        for here, there in pairwise(path):
            if here in onward:
                break
            onward[here] = there
    return onward


class Bar(NamedTuple):
    """One end of a slice, ns on the clock it is compared on."""

    estimate: int
    earliest: int
    latest: int


class BarredSlice(NamedTuple):
    """A slice under its error bars.

    Attributes:
        row: its number in the table of slices.
        clock: that its begin was read in.
    """

    row: int
    clock: ClockId
    begin: Bar
    end: Bar


class UndecidedPair(NamedTuple):
    """Two slices that may overlap, or not.

    Attributes:
        one, other: the one whose estimate begins first comes first.
        on: the clock they are compared on.
    """

    one: BarredSlice
    other: BarredSlice
    on: ClockId

    @property
    def window(self) -> tuple[int, int]:
        """The earliest and the latest instant at which they can overlap, ns."""
        begins, ends = (self.one.begin, self.other.begin), (self.one.end, self.other.end)
        return max(bar.earliest for bar in begins), min(bar.latest for bar in ends)

    @property
    def at_stake(self) -> tuple[int, int]:
        """The longest possible overlap, and the time for which it is open, ns."""
        first, last = self.window
        shorter = min(side.end.estimate - side.begin.estimate for side in (self.one, self.other))
        return min(shorter, last - first), last - first


@dataclass(frozen=True, slots=True)
class UndecidedOverlaps:
    """The overlaps of slices of a trace that error bars leave open.

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
    places: list[UndecidedPair]


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
    found: list[UndecidedPair] = []
    undecided = 0
    for meeting in meetings(ends.graph, trace_clock, clocks):
        rows, group = meeting.members(begins, stops)
        placed, first, last = _place_slices(ends, meeting.on, rows, bars)
        rows = rows[placed]
        instant = ends.begins["source_ns"][rows] == ends.ends["source_ns"][rows]
        instant &= begins[rows] == stops[rows]
        spans = SpanColumns(
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
                sides.append(BarredSlice(int(rows[k]), clock, _bar(first, k), _bar(last, k)))
            one, other = sorted(sides, key=lambda side: side.begin.estimate)
            found.append(UndecidedPair(one, other, meeting.on))
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


def _place_slices(
    ends: SliceEnds, on: ClockId, rows: Rows, bars: Bars
) -> tuple[Rows, Columns, Columns]:
    """A mask of the slices with bars at both ends, and these bars."""
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
