"""Events with error bars: batches of rows from Perfetto's rule to the tube's estimate and bounds.

How one clock converts is the graph's (`graph/tube/policy.py`); here rows are grouped by clock, and
what the floor policy costs beside the tube is counted. Nothing is done per event in Python.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import pairwise
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tracetime.analysis.constant_offsets import Level
from tracetime.arrays import known_of, values_of
from tracetime.clocks.ids import ClockId
from tracetime.errors import (
    AMBIGUOUS_SOURCE,
    NO_PATH,
    NON_MONOTONIC_SOURCE,
    REASONS,
    RESOLVED,
    ConversionError,
    TracetimeError,
)
from tracetime.formats.perfetto.schema import BOUNDED_SCHEMA, record_batch
from tracetime.graph.graph import ClockGraph
from tracetime.graph.tube import Bars
from tracetime.graph.tube.policy import Reached, TubePolicy
from tracetime.graph.tube.wraps import open_wraps
from tracetime.graph.values import ascending, gains

Values = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

CLOCKS_SAMPLED: Final = 200
"""How many clocks floor and tube are compared for at most, where events are not."""

_GAPS_SAMPLED: Final = 2048

_UNKNOWN: Final = ("unknown_source_clock", "unknown_target_clock")

_ORDERED_TOGETHER: Final = 1 << 20
"""The order of so many events, as they stand in the file, is looked at together."""

_LEVEL_AT_MOST: Final = 1000
"""How many clocks are looked at for being level at most: there may be a million."""

_NEGLIGIBLE_NS: Final = 10_000


class FloorCost:
    """How far the floor policy's trace time is from the tube's estimate.

    Attributes:
        clock: the clock where it is farthest; None where nothing was compared.
        largest_ns: how far that is.
        reordered: how many events floor puts in another order than they certainly had: they stand
            behind one that came later or, where those are fewer, before one that came earlier (its
            earliest is after the other's latest; ties in file order; a million of events of the
            file at a time). None where events were not looked at.
        clocks_left_out: how many clocks may be farther off, and were not looked at.
        untied: the clocks of events that floor places and the tube has no way for: how far off
            they are, nothing says.
        settled: whether no event of all other clocks can be farther off than `largest_ns`.
        ended_early: whether floor had placed events of a clock before it ran backwards, where
            nobody looked how well.
        other_ways: whether a clock has several ways to the trace clock, or none in one hop: floor
            may have placed its events by another, where nobody looked.
        drift_ns: how far the offset of a clock strayed over the whole trace, at most.
        leaves_bars: whether floor's time was seen outside of the tube's bar. While it is within,
            no two events can be in an order that their bars rule out.
    """

    def __init__(self, reordered: int | None = None) -> None:
        self.clock: ClockId | None = None
        self.largest_ns = 0
        self.reordered = reordered
        self.clocks_left_out = 0
        self.untied: set[ClockId] = set()
        self.drift_ns = 0
        self.ended_early = False
        self.other_ways = False
        self.settled = True
        self.leaves_bars = False

    def compare(self, clock: ClockId, floor: Values, estimate: Values) -> None:
        """Note the largest distance between two placings of the same events of one clock."""
        if len(floor):
            self.note(clock, int(distances(floor, estimate).max()))

    def note(self, clock: ClockId, distance_ns: int) -> None:
        """Note a distance that events of a clock may have."""
        if self.clock is None or distance_ns > self.largest_ns:
            self.clock, self.largest_ns = clock, distance_ns

    def join(self, events: FloorCost) -> None:
        """Take over what was seen of every event."""
        if events.clock is not None:
            self.clock, self.largest_ns = events.clock, events.largest_ns
        self.reordered = events.reordered
        self.clocks_left_out = 0
        self.untied = events.untied
        self.settled = True

    @property
    def is_limit(self) -> bool:
        """Whether no event can be farther off than `largest_ns`."""
        return self.settled and not self.untied

    @property
    def drifts_on(self) -> bool:
        """Whether an offset older than the last can make floor much worse."""
        return self.drift_ns > max(self.largest_ns, _NEGLIGIBLE_NS)

    def count_order(self, floor: Values, earliest: Values, latest: Values) -> None:
        """Count the events that floor puts on the wrong side of another."""
        self.reordered = self.reordered or 0
        if not np.any((floor < earliest) | (floor > latest)):
            # Bars that overlap where floor puts their events allow its order.
            return
        order = np.argsort(floor, kind="stable")
        earliest, latest = earliest[order], latest[order]
        behind = np.maximum.accumulate(earliest)[:-1] > latest[1:]
        before = np.minimum.accumulate(latest[::-1])[::-1][1:] < earliest[:-1]
        self.reordered += int(min(np.count_nonzero(behind), np.count_nonzero(before)))

    def to_dict(self) -> dict[str, Any]:
        """The facts in the types of JSON."""
        return {
            "clock": None if self.clock is None else str(self.clock),
            "at_most_ns": self.largest_ns,
            "events_reordered": self.reordered,
            "clocks_left_out": self.clocks_left_out,
            "clocks_untied": len(self.untied),
            "is_limit": self.is_limit,
        }


class Bounding:
    """Turns the kernels' columns into batches with the tube's estimate and bounds.

    Args:
        graph: with every snapshot of the trace.
        trace_clock: what to convert to.
        machines: machine_id by index, as `Trace.machines` has them.
        bars: "estimated" or "guaranteed".

    Attributes:
        cost: how far floor is from the tube.
        faults: by clock and status, why the tube could not place events of that clock, and what to
            do, where it can say.
    """

    def __init__(
        self, graph: ClockGraph, trace_clock: ClockId, machines: list[int], bars: Bars
    ) -> None:
        self._graph = graph
        self._trace_clock = trace_clock
        self._machines = {machine_id: index for index, machine_id in enumerate(machines)}
        self._bars = bars
        self._incremental = {info.clock for info in graph.clocks() if info.incremental}
        self.cost = FloorCost(reordered=0)
        self._ordered: list[tuple[Values, Values, Values]] = []
        self._n_ordered = 0
        self.faults: dict[tuple[ClockId, int], str] = {}

    def batch(self, columns: dict[str, npt.NDArray[Any]]) -> pa.RecordBatch:
        """Return the rows as a batch of `BOUNDED_SCHEMA`.

        Rows that floor resolved, or refused because their clock ran backwards, are placed by the
        tube, or null with its reason; so are those for which floor has no way (one over a clock
        that ran backwards, or of many hops) and the tube has one. All others stay as they are.
        Without a bar, earliest is after latest.
        """
        floor, before = columns["trace_time"], columns["status"]
        source = columns["source_ns"]
        estimate, status = floor.copy(), before.copy()
        earliest, latest = np.ones_like(floor), np.zeros_like(floor)
        rows = np.flatnonzero(
            (before == RESOLVED) | (before == NON_MONOTONIC_SOURCE) | (before == NO_PATH)
        )
        groups = list(by_clock(columns, rows, self._machines))
        others = (clock for clock, _ in groups if clock != self._trace_clock)
        self._graph._tubes().expect(others, self._trace_clock)
        for clock, group in groups:
            if clock in self._incremental:
                # Deltas of a clock that Perfetto had given up: nobody summed them.
                group = group[before[group] == RESOLVED]
            if not self._has_way(clock):
                group = group[before[group] != NO_PATH]
            reached = self._convert(clock, source[group], columns["snapshots"][group])
            estimate[group], status[group] = reached.estimate, reached.status
            earliest[group], latest[group] = reached.earliest, reached.latest
            if clock != self._trace_clock:
                both = group[(before[group] == RESOLVED) & (status[group] == RESOLVED)]
                self.cost.compare(clock, floor[both], estimate[both])
                if np.any((before[group] == RESOLVED) & (status[group] == NO_PATH)):
                    self.cost.untied.add(clock)
        barred = (status == RESOLVED) | (status == AMBIGUOUS_SOURCE)
        earliest[~barred], latest[~barred] = 1, 0
        both = rows[(before[rows] == RESOLVED) & (status[rows] == RESOLVED)]
        self._ordered.append((floor[both], earliest[both], latest[both]))
        self._n_ordered += len(both)
        if self._n_ordered >= _ORDERED_TOGETHER:
            self.finish()
        return record_batch(
            {
                **columns,
                "trace_time": estimate,
                "status": status,
                "earliest": earliest,
                "latest": latest,
            },
            BOUNDED_SCHEMA,
        )

    def _has_way(self, clock: ClockId) -> bool:
        try:
            self._graph._tubes().path(clock, self._trace_clock)
        except ConversionError as error:
            return error.reason not in (REASONS[NO_PATH], *_UNKNOWN)
        return True

    def finish(self) -> None:
        """Count the order of the events since the last time: with this, `cost` is complete."""
        if self._ordered:
            self.cost.count_order(*map(np.concatenate, zip(*self._ordered, strict=True)))
        self._ordered, self._n_ordered = [], 0

    def _convert(self, clock: ClockId, source_ns: Values, seen: npt.NDArray[np.uint32]) -> Reached:
        """Place readings of one clock; seen: how many snapshots had been read before each."""
        if clock == self._trace_clock:
            known = np.zeros(len(source_ns), dtype=np.uint8)
            return Reached(source_ns, source_ns, source_ns, known)
        try:
            # Not `graph.convert`: these are ns already, and which value fails why matters.
            tubes = self._graph._tubes()
            reached = tubes.convert(
                source_ns,
                clock,
                self._trace_clock,
                self._bars,
                lambda counter: counter.around(seen),
            )[0]
        except ConversionError as error:
            reason = REASONS.index(error.reason)
            self.faults[clock, reason] = error.message
            nothing = np.zeros_like(source_ns)
            why = np.full(len(source_ns), reason, dtype=np.uint8)
            return Reached(nothing, nothing + 1, nothing, why)
        if np.any(reached.status == AMBIGUOUS_SOURCE):
            self._note_wraps(clock, tubes)
        return reached

    def _note_wraps(self, clock: ClockId, tubes: TubePolicy) -> None:
        counter = tubes.counter(clock)
        if counter is not None:
            told = open_wraps(clock, counter, self._graph.domain(clock).ns_per_tick)
            if told is not None:
                self.faults[clock, AMBIGUOUS_SOURCE] = told


def distances(one: Values, other: Values) -> npt.NDArray[np.uint64]:
    """How far apart values are; in uint64, where the distance of any two int64 fits."""
    apart: npt.NDArray[np.uint64] = np.maximum(one, other).view(np.uint64) - np.minimum(
        one, other
    ).view(np.uint64)
    return apart


def by_clock(
    columns: dict[str, npt.NDArray[Any]], rows: npt.NDArray[np.intp], machines: dict[int, int]
) -> Iterator[tuple[ClockId, npt.NDArray[np.intp]]]:
    """The clocks of some rows, each with its rows in file order.

    machines: the index of each machine_id.
    """
    if not len(rows):
        return
    scoped = columns["clock"][rows].astype(np.uint64) << np.uint64(32)
    scoped |= columns["sequence"][rows]
    keys, which = np.unique(scoped, return_inverse=True)
    found, on = np.unique(columns["machine"][rows], return_inverse=True)
    if len(found) > 1:
        pairs, which = np.unique(which * len(found) + on, return_inverse=True)
    else:
        pairs = np.arange(len(keys))
    ends = np.cumsum(np.bincount(which, minlength=len(pairs)))
    # Few clocks fit in 16 bits, where a stable sort is a radix sort.
    kind = np.uint16 if len(pairs) <= 1 << 16 else np.int64
    parts = np.split(rows[np.argsort(which.astype(kind), kind="stable")], ends[:-1])
    for pair, group in zip(pairs.tolist(), parts, strict=True):
        key, machine = divmod(pair, len(found))
        clock, sequence = divmod(int(keys[key]), 1 << 32)
        # A machine_id without an index is the one that stands for the host.
        index = machines.get(int(found[machine]), 0)
        yield ClockId(clock, sequence, index), group


def floor_cost_at_snapshots(
    graph: ClockGraph,
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
        clocks: those of which floor has placed events.
        most: tubes are built for so many clocks at most: those whose offset changes most from one
            snapshot to the next, which is about what floor can be off by. Of those whose offset
            stays level it is known without (`constant_offsets.py`).
        spans_ns: the least and the greatest trace time of the events of each of them.
        late: whether a snapshot stands in the file behind events from after it, so that floor may
            have placed them by any snapshot before that.
    """
    cost = FloorCost()
    asked = list(clocks)
    spans = None
    if spans_ns is not None:
        spans = np.array([spans_ns[clock] for clock in asked], dtype=np.int64).reshape(-1, 2)
    hops, changes, drifts = graph._strays(asked, trace_clock, spans)
    cost.ended_early = bool((hops < 0).any())
    away = np.flatnonzero(hops > 0).tolist()
    one_way = graph._only_beside(trace_clock)
    cost.other_ways = any(asked[k] not in one_way for k in away)
    cost.drift_ns = int(drifts[away].max(initial=0))
    away.sort(key=lambda k: (-float(changes[k]), asked[k].order()))
    for clock in (asked[k] for k in away[:most]):
        span = None if spans_ns is None else spans_ns[clock]
        with suppress(TracetimeError):
            _compare_at_ends(cost, graph, clock, trace_clock, span, late and clock in one_way)
    level = Level(graph, trace_clock, one_way)
    for n, k in enumerate(away[most:]):
        limit = None
        if n < _LEVEL_AT_MOST:
            limit = level.limit_ns(asked[k], None if spans is None else tuple(spans[k].tolist()))
        if limit is not None:
            cost.note(asked[k], limit)
        else:
            cost.clocks_left_out += changes[k] > cost.largest_ns
    are_tied = graph._tubes().machines.are_tied
    cost.untied = {asked[k] for k in away if not are_tied(asked[k], trace_clock)}
    cost.settled = not (cost.clocks_left_out or cost.ended_early or cost.other_ways)
    return cost


def _compare_at_ends(
    cost: FloorCost,
    graph: ClockGraph,
    clock: ClockId,
    hub: ClockId,
    span_ns: tuple[int, int] | None,
    late: bool,
) -> None:
    """Compare what floor and the tube make of readings of a clock at the ends of its first hop.

    late: floor may have used any snapshot of the clock and the hub before these.
    """
    points = _points(graph, clock, graph.path(clock, hub)[1])
    if span_ns is not None:
        points = np.append(points, _ends(graph, clock, hub, span_ns))
    tube = graph.convert(points, clock, hub, policy="tube", errors="mask", bounds=True)
    floor = graph.convert(points, clock, hub, errors="mask")
    known: Mask = known_of(floor)[1] & known_of(tube.estimate)[1]
    at, estimate, low, high = (values_of(one)[0][known] for one in (floor, *tube))
    placed = [at]
    if late:
        _, ours, theirs = graph._shared(clock, hub)
        offsets = theirs - ours
        used = np.searchsorted(ours, points[known] * graph._unit_ns(clock), side="right") - 1
        used = np.maximum(used, 0)
        for reach in (np.minimum, np.maximum):
            placed.append(at - offsets[used] + reach.accumulate(offsets)[used])
    for one in placed:
        cost.compare(clock, one, estimate)
        cost.leaves_bars |= bool(np.any((one < low) | (one > high)))
    # Across a jump a bar is the hull of two, which bulges: its ends say little of what is between.
    cost.leaves_bars |= any(
        graph._tubes().pair(*pair).tube.discontinuities
        for pair in pairwise(graph.path(clock, hub, policy="tube"))
    )


def _ends(
    graph: ClockGraph, clock: ClockId, trace_clock: ClockId, span_ns: tuple[int, int]
) -> Values:
    """What a clock read at two trace times, where floor has a way back."""
    try:
        there = graph.convert(list(span_ns), trace_clock, clock, errors="mask")
    except TracetimeError:
        return np.empty(0, dtype=np.int64)
    values, known = known_of(there)
    return values[known] // graph._unit_ns(clock)


def _points(graph: ClockGraph, clock: ClockId, other: ClockId) -> Values:
    """Readings of a clock at and between the snapshots that it shares with another."""
    _, ours, theirs = graph._shared(clock, other)
    unit_ns = graph._unit_ns(clock)
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
