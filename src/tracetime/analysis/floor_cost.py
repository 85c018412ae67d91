"""The cost of the floor policy: its distance from the tube's trace time, and wrong orders.

Measured on every event, or on the readings that can be farthest off by the snapshots alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from contextlib import suppress
from itertools import combinations, pairwise
from typing import TYPE_CHECKING, Final

import numpy as np

from tracetime.analysis.event_bars import EventBars
from tracetime.clocks.ids import ClockId
from tracetime.clocks.json_facts import Document, as_json
from tracetime.columns.arrays import known_of, values_of
from tracetime.errors import TracetimeError
from tracetime.graph.clock_graph import coat
from tracetime.graph.graph import Graph
from tracetime.graph.tube.evidence import FARTHEST, NOT_RECORDED
from tracetime.graph.values import Mask, Values, ascending, distances, gains
from tracetime.trace.error_bars import ErrorBars
from tracetime.trace.events_table import Columns
from tracetime.trace.trace import Trace

if TYPE_CHECKING:
    from tracetime.clocks.json_types import Count

# Clocks whose offset is so constant that floor is within the tube's bars, without any tube.
#
# Where the offsets of all snapshots are within one half-width of each other, no snapshot
# contradicts a constant offset that equals any of them: the bars hold it everywhere. Floor adds
# one of these offsets to a timestamp, so its result is within the bars.

_MOST_CLOCKS: Final = 8
"""Each pair is compared: of more clocks that grows with the square."""

_ROUNDED_NS: Final = 4
"""What rounding adds, over all hops of a path."""


class ConstantOffsets:
    """The clocks of a graph with a constant offset from a reference, a clock that counts ns.

    Args:
        alone: clocks that only snapshots of one list of clocks hold, which holds the reference.
    """

    def __init__(self, graph: Graph, reference: ClockId, alone: set[ClockId]) -> None:
        self._graph = graph
        self._reference = reference
        self._alone = alone
        self._known: dict[frozenset[ClockId], bool] = {}

    def limit_ns(self, clock: ClockId, span_ns: tuple[int, int] | None) -> int | None:
        """The greatest distance of floor from the tube's estimate; None where that takes a tube.

        span_ns: the least and the greatest reading of the reference that matters.
        """
        if clock not in self._alone or not self._is_constant(clock):
            return None
        _, ours, theirs = self._graph.shared(clock, self._reference)
        offsets = theirs - ours
        spread = int(offsets.max() - offsets.min())
        first, last = int(theirs.min()), int(theirs.max())
        low, high = span_ns or (first, last)
        beyond = max(first - low, high - last, 0)
        if not spread:
            return 0
        # A line of least squares leaves the range of its points by a third of that range at most, a
        # cubic the range of its ends by a quarter of what its slopes there would reach.
        lengths = int(np.diff(theirs).max(initial=0)) / 4 + beyond
        bent = math.ceil(self._fastest(clock, theirs, offsets) * lengths)
        return spread + spread // 2 + _ROUNDED_NS + bent

    def _fastest(self, clock: ClockId, at: Values, offsets: Values) -> float:
        """The greatest rate at which the estimate may leave the offsets."""
        gaps = np.diff(at)
        moved = gaps > 0
        if not moved.any():
            return 0.0
        one_to_next = float(np.max(np.abs(np.diff(offsets)[moved]) / gaps[moved]))
        # A line of least squares is no steeper than that, nor than twice the spread over its span.
        limits = self._graph.tubes.pairs.limits(clock, self._reference)
        overall = 2 * float(offsets.max() - offsets.min()) / float(at.max() - at.min())
        return min(one_to_next, overall + 2 * limits.wander, limits.drift)

    def _is_constant(self, clock: ClockId) -> bool:
        clocks = frozenset({clock, *self._graph.tubes.neighbours[clock]})
        if clocks not in self._known:
            self._known[clocks] = self._pairs_are_constant(clocks)
        return self._known[clocks]

    def _pairs_are_constant(self, clocks: frozenset[ClockId]) -> bool:
        # By the tube's path, too, which may lead over any of these, and over no other.
        if len(clocks) > _MOST_CLOCKS or not clocks - {self._reference} <= self._alone:
            return False
        domains = map(self._graph.domain, clocks)
        plain = all(
            d.ns_per_tick == 1 and d.valid_bits == 64 and d.assumed_half_width_ns is None
            for d in domains
        )
        if not plain:
            return False
        return all(self._pair_is_constant(one, other) for one, other in combinations(clocks, 2))

    def _pair_is_constant(self, one: ClockId, other: ClockId) -> bool:
        snapshots, ours, theirs = self._graph.shared(one, other)
        if not len(snapshots):
            return False
        used, *_ = self._graph.tubes.pairs.shared(one, other)
        if len(used) < len(snapshots):
            return False
        measured = self._graph.state.measured
        for clock in (one, other):
            read, steered = measured.reads(clock, snapshots), measured.frequency(clock, snapshots)
            if (read.half >= 0).any() or (steered != NOT_RECORDED).any():
                return False
        # In floats, which no difference overflows, only to know that none does.
        if not np.all(np.abs(theirs.astype(np.float64) - ours) < FARTHEST):
            return False
        offsets = theirs - ours
        width = self._graph.tubes.pairs.least_assumed_ns(one, other)
        return int(offsets.max()) - int(offsets.min()) <= width


CLOCKS_SAMPLED: Final = 200
"""How many clocks floor and tube are compared for at most, where events are not."""

_GAPS_SAMPLED: Final = 2048
"""Of more gaps between snapshots, those are examined in which the offset changes most."""

_ORDERED_TOGETHER: Final = 1 << 20
"""The order of so many events, one after the other in the file, is examined together."""

_MOST_CONSTANT: Final = 1000
"""So many clocks are examined for a constant offset at most: there may be a million."""

_NEGLIGIBLE_NS: Final = 10_000
"""Drift of less does not matter, however small the cost that is known."""


@as_json("clock at_most_ns events_reordered clocks_left_out clocks_untied is_limit")
class FloorCost(Document):
    """The distance of the floor policy's trace time from the tube's estimate.

    Attributes:
        clock: the clock of the events that are farthest; null without any.
        at_most_ns: how far that is, ns.
        events_reordered: how many events floor puts in an order that is wrong by their bars; null:
            unknown.
        clocks_left_out: how many clocks were not compared: there are too many.
        untied: the clocks of events that floor places and the tube has no path for, or a bar with
            an open side: how far off they are is unknown.
        settled: whether no event of all other clocks can be farther off than `at_most_ns`.
        ended_early: whether floor had placed events of a clock before it ran backwards; how well is
            not examined.
        other_ways: whether a clock has several paths to the trace clock, or none in one hop: floor
            may have placed its events by another, which is not examined.
        drift_ns: how far the offset of a clock changed over the whole trace, at most.
        is_of_events: whether every event was placed.
        compared: the clocks that were compared at snapshots.
        bars: the bars of the events, and by how much later floor puts them.
        leaves_bars: whether floor's time was seen outside of the tube's bar. While it is within, no
            two events can be in an order that their bars rule out.
    """

    clock: ClockId | None
    at_most_ns: Count
    events_reordered: Count | None
    clocks_left_out: Count

    def __init__(self, reordered: int | None = None) -> None:
        self.clock = None
        self.at_most_ns = 0
        self.events_reordered = reordered
        self.clocks_left_out = 0
        self.untied: set[ClockId] = set()
        self.drift_ns = 0
        self.ended_early = False
        self.other_ways = False
        self.settled = True
        self.leaves_bars = False
        self.is_of_events = False
        self.compared: list[ClockId] = []
        self.bars = EventBars()
        self._ordered: list[tuple[Values, Values, Values]] = []
        self._n_ordered = 0

    def compare(self, clock: ClockId, floor: Values, estimate: Values) -> None:
        """Note the largest distance between two placings of the same events of one clock."""
        if len(floor):
            self.note(clock, int(distances(floor, estimate).max()))
            self.bars.shift(clock, floor, estimate)

    def bound(self, clock: ClockId, read: Values, earliest: Values, latest: Values) -> None:
        """Note the bars of events of one clock."""
        self.bars.bound(clock, read, earliest, latest)

    def untie(self, clock: ClockId) -> None:
        """Note that the tube has no path, or an open bar, for events that floor places."""
        self.untied.add(clock)

    def note(self, clock: ClockId, distance_ns: int) -> None:
        """Note a distance that events of a clock may have."""
        if self.clock is None or distance_ns > self.at_most_ns:
            self.clock, self.at_most_ns = clock, distance_ns

    def join(self, events: FloorCost) -> None:
        """Add the distances and orders of every event."""
        if events.clock is not None:
            self.clock, self.at_most_ns = events.clock, events.at_most_ns
        self.events_reordered = events.events_reordered
        self.clocks_left_out = 0
        self.untied = events.untied
        self.is_of_events, self.bars = True, events.bars
        self.settled = True

    @property
    def clocks_untied(self) -> Count:
        """The number of clocks whose distance is unknown."""
        return len(self.untied)

    @property
    def is_limit(self) -> bool:
        """Whether `at_most_ns` is a limit: no event is farther off."""
        return self.settled and not self.untied

    @property
    def drifts_on(self) -> bool:
        """Whether an offset older than the last can make floor much worse."""
        return self.drift_ns > max(self.at_most_ns, _NEGLIGIBLE_NS)

    def order(self, floor: Values, earliest: Values, latest: Values) -> None:
        """Note the next events of the file, to be counted a million at a time."""
        self._ordered.append((floor, earliest, latest))
        self._n_ordered += len(floor)
        if self._n_ordered >= _ORDERED_TOGETHER:
            self.finish()

    def finish(self) -> None:
        """Count the order of the events since the last time: with this, `reordered` is complete."""
        if self._ordered:
            self.count_order(*map(np.concatenate, zip(*self._ordered, strict=True)))
        self._ordered, self._n_ordered = [], 0

    def count_order(self, floor: Values, earliest: Values, latest: Values) -> None:
        """Count the events that floor puts on the wrong side of another."""
        self.events_reordered = self.events_reordered or 0
        if not np.any((floor < earliest) | (floor > latest)):
            # Bars that overlap where floor puts their events allow its order.
            return
        order = np.argsort(floor, kind="stable")
        earliest, latest = earliest[order], latest[order]
        behind = np.maximum.accumulate(earliest)[:-1] > latest[1:]
        before = np.minimum.accumulate(latest[::-1])[::-1][1:] < earliest[:-1]
        self.events_reordered += int(min(np.count_nonzero(behind), np.count_nonzero(before)))


class OrderCheck:
    """A placing of events by the tube, so that its observer counts those that floor reorders.

    Events wait until one of a clock that moves: where none comes, floor keeps their order.

    Args:
        bars: place the events, and tell the observer.
        moving: the numbers of the clocks that move much from one snapshot to the next.
    """

    def __init__(self, bars: ErrorBars, moving: Values) -> None:
        self._bars = bars
        self._moving = moving
        self._has_begun = False
        self._waiting: list[Columns] = []

    def add(self, columns: Columns, numbers: Values) -> None:
        """Take the next events of the file, and the numbers of their clocks."""
        self._has_begun |= bool(np.isin(numbers, self._moving).any())
        self._waiting.append(columns)
        if self._has_begun:
            for one in self._waiting:
                self._bars.place(one)
        if self._has_begun or sum(len(one["clock"]) for one in self._waiting) >= _ORDERED_TOGETHER:
            self._waiting = []


def floor_cost_of_events(trace: Trace) -> FloorCost:
    """Read a trace, and compare floor with the tube for every event.

    Raises:
        TraceError: the trace cannot be read.
    """
    cost = FloorCost(reordered=0)
    for _ in trace.placed_columns("tube", observer=cost):
        pass
    cost.finish()
    return cost


def floor_cost_at_snapshots(
    graph: Graph,
    trace_clock: ClockId,
    clocks: Iterable[ClockId],
    most: int = CLOCKS_SAMPLED,
    spans_ns: Mapping[ClockId, tuple[int, int]] | None = None,
    late: bool = False,
) -> FloorCost:
    """Compare floor with the tube where floor is at its best and at its worst.

    For each clock: at its readings in the snapshots it is converted by, half-way between them, and
    just before the next one, where there are very many about those between which its offset changes
    most, and at the ends of its events. What cannot be compared is left out.

    Args:
        clocks: floor has placed events of these.
        most: tubes are built for so many clocks at most: those whose offset changes most from one
            snapshot to the next, which is about what floor can be off by. Clocks with a constant
            offset need no tube (`ConstantOffsets`).
        spans_ns: the least and the greatest trace time of the events of each of them.
        late: whether a snapshot comes in the file after events that were read later, so that floor
            may have placed them by any snapshot before it.
    """
    cost = FloorCost()
    listed = list(clocks)
    spans = None
    if spans_ns is not None:
        spans = np.array([spans_ns[clock] for clock in listed], dtype=np.int64).reshape(-1, 2)
    hops, changes, drifts = graph.floor.variations(listed, trace_clock, spans)
    cost.ended_early = bool((hops < 0).any())
    away = np.flatnonzero(hops > 0).tolist()
    one_way = graph.contents.tied_only_to(trace_clock)
    cost.other_ways = any(listed[k] not in one_way for k in away)
    cost.drift_ns = int(drifts[away].max(initial=0))
    away.sort(key=lambda k: (-float(changes[k]), listed[k].order()))
    cost.compared = [listed[k] for k in away[:most]]
    for clock in cost.compared:
        span = None if spans_ns is None else spans_ns[clock]
        with suppress(TracetimeError):
            _compare_at_ends(cost, graph, clock, trace_clock, span, late and clock in one_way)
    constant = ConstantOffsets(graph, trace_clock, one_way)
    for n, k in enumerate(away[most:]):
        limit = None
        if n < _MOST_CONSTANT:
            limit = constant.limit_ns(
                listed[k], None if spans is None else tuple(spans[k].tolist())
            )
        if limit is not None:
            cost.note(listed[k], limit)
        else:
            cost.clocks_left_out += int(changes[k] > cost.at_most_ns)
    are_tied = graph.tubes.machines.are_tied
    cost.untied = {listed[k] for k in away if not are_tied(listed[k], trace_clock)}
    cost.settled = not (cost.clocks_left_out or cost.ended_early or cost.other_ways)
    return cost


def _compare_at_ends(
    cost: FloorCost,
    graph: Graph,
    clock: ClockId,
    reference: ClockId,
    span_ns: tuple[int, int] | None,
    late: bool,
) -> None:
    """Compare floor with the tube for readings of a clock at the ends of its first hop.

    late: floor may have used any snapshot of the clock and the reference before these.
    """
    points = _points(graph, clock, graph.path(clock, reference)[1])
    if span_ns is not None:
        points = np.append(points, _ends(graph, clock, reference, span_ns))
    tube = coat(graph).convert(points, clock, reference, policy="tube", errors="mask", bounds=True)
    floor = coat(graph).convert(points, clock, reference, errors="mask")
    known: Mask = known_of(floor)[1] & known_of(tube.estimate)[1]
    at, estimate, low, high = (values_of(one)[0][known] for one in (floor, *tube))
    placed = [at]
    if late:
        _, ours, theirs = graph.shared(clock, reference)
        offsets = theirs - ours
        unit_ns = graph.contents.unit_ns(clock)
        used = np.searchsorted(ours, points[known] * unit_ns, side="right") - 1
        used = np.maximum(used, 0)
        for reach in (np.minimum, np.maximum):
            placed.append(at - offsets[used] + reach.accumulate(offsets)[used])
    for one in placed:
        cost.compare(clock, one, estimate)
        cost.leaves_bars |= bool(np.any((one < low) | (one > high)))
    # Across a jump a bar is the hull of two, which bulges: its ends say little of what is between.
    cost.leaves_bars |= any(
        graph.tubes.pair(*pair).tube.discontinuities
        for pair in pairwise(graph.path(clock, reference, policy="tube"))
    )


def _ends(graph: Graph, clock: ClockId, trace_clock: ClockId, span_ns: tuple[int, int]) -> Values:
    """The readings of a clock at two trace times, where floor has a path back."""
    try:
        there = coat(graph).convert(list(span_ns), trace_clock, clock, errors="mask")
    except TracetimeError:
        return np.empty(0, dtype=np.int64)
    values, known = known_of(there)
    return values[known] // graph.contents.unit_ns(clock)


def _points(graph: Graph, clock: ClockId, other: ClockId) -> Values:
    """Readings of a clock at and between the snapshots that it shares with another."""
    _, ours, theirs = graph.shared(clock, other)
    unit_ns = graph.contents.unit_ns(clock)
    readings = ascending(ours // unit_ns)
    here, there = readings[:-1], readings[1:]
    if len(here) > _GAPS_SAMPLED:
        at = np.searchsorted(readings, ours // unit_ns)
        mine, its = np.empty((2, len(readings)), dtype=np.int64)
        mine[at], its[at] = ours, theirs
        chosen = np.argsort(np.abs(gains(its, mine)))[-_GAPS_SAMPLED:]
        here, there = here[chosen], there[chosen]
    # Halves apart, because the sum of two readings may not fit.
    middle = (here >> 1) + (there >> 1) + (here & there & 1)
    return ascending(np.concatenate([here, middle, there - 1, readings[-1:]]))
