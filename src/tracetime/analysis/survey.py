"""The survey of a trace for the doctor: its events, counted in one pass, and its clock graph.

The file was read before for all of its snapshots: what has to be counted is known, and nothing is
read a third time.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import cached_property, lru_cache
from typing import Final

import numpy as np
import numpy.typing as npt

from tracetime.analysis.contradictions import Contradiction, contradiction
from tracetime.analysis.event_bars import EventBars, widest_in_trace
from tracetime.analysis.event_distances import ReadingSpans, Strays
from tracetime.analysis.file_order import FileOrder
from tracetime.analysis.floor_cost import FloorCost, OrderCheck
from tracetime.analysis.groups import Between, Counts, Group, GroupCounter, places_of
from tracetime.analysis.rates import LEAST_SNAPSHOTS, Rate, SharedReadings, rates_of
from tracetime.analysis.snapshots import MOST_KEPT, Written
from tracetime.analysis.time_clusters import TimeClusters
from tracetime.clocks.domain import ClockDomain
from tracetime.clocks.ids import BUILTIN_IDS, ClockId
from tracetime.clocks.int_arrays import is_any_of
from tracetime.clocks.snapshot import INT64_MAX
from tracetime.columns.arrays import known_of
from tracetime.errors import (
    AMBIGUOUS_SOURCE,
    BARRED,
    PLACED,
    REASONS,
    RESOLVED,
    ConversionError,
    TraceError,
    TracetimeError,
    UsageError,
)
from tracetime.graph.arguments import is_cpu_time
from tracetime.graph.clock_graph import inner
from tracetime.graph.comparison import eventful, inconsistencies, shared_with_references
from tracetime.graph.graph import Graph
from tracetime.graph.info import ClockInfo
from tracetime.graph.info import OffsetVariations as Ways
from tracetime.graph.tube.discontinuities import PairDiscontinuities
from tracetime.graph.tube.lattice import LEAST_READINGS
from tracetime.graph.tube.pair import Pair
from tracetime.graph.tube.results import Inconsistency
from tracetime.graph.tube.wraps import Counter
from tracetime.graph.values import Values, distances
from tracetime.trace.error_bars import ErrorBars
from tracetime.trace.event_clocks import ClockNumbers
from tracetime.trace.events_table import Columns
from tracetime.trace.flows import backward_flows
from tracetime.trace.trace import Trace

_TRACE_FILE: Final = BUILTIN_IDS["TRACE_FILE"]
_BOOTTIME: Final = BUILTIN_IDS["BOOTTIME"]
_NO_ROWS: Final = np.empty(0, dtype=np.int64)
_EQUATED: Final = (_BOOTTIME, _TRACE_FILE)

MOST_ORDERED: Final = 64
"""Of so many pairs the doctor looks at the messages: each pair takes a tube."""

MOST_EXAMINED: Final = 500
"""For so many pairs of clocks the doctor makes a tube, to see what happened to them; with so many
clocks it places events by tubes, to see whether floor keeps their order."""


class Survey:
    """A trace read once, and its clock graph.

    Args:
        trace: read from its start by this.
        tolerance_ns: an event may be misplaced by so much without an error.
        watch: is given every batch of `Trace.columns`, in order.
        place: whether to place events by the tube, for `bars`, also where no finding needs it.

    Attributes:
        at_zero: clocks of events at a reading of 0: how many, and the packet of the first.
        clusters: of the times of Chrome's JSON, which may be of several clocks.
        file_order: where groups of events stand among the snapshots.
        bars: the bars of placed events; None where they are not placed, for too many clocks.
        late: clocks of events that later snapshots of the file would place elsewhere: how many by
            more than is healthy, and by how much at most, ns.
        late_wakings: see `TraceReading`.
        backward: the note about flows that run back, of what this reading has of flows.

    Raises:
        UsageError: a negative tolerance.
        TraceError: the trace cannot be read.
    """

    def __init__(
        self,
        trace: Trace,
        tolerance_ns: int,
        watch: Callable[[Columns], None] | None = None,
        *,
        place: bool = False,
    ) -> None:
        if tolerance_ns < 0:
            raise UsageError(f"tolerance_ns is {tolerance_ns}: use 0 or more")
        self.trace = trace
        self.tolerance_ns = tolerance_ns
        self.graph: Graph = inner(trace.clocks)
        # Findings examine what happened to one pair, then to the next.
        self._shared = lru_cache(1)(self.graph.shared)
        # The clocks of many pairs are compared with one.
        self.tick_ns = lru_cache(1 << 10)(self._tick_ns)
        self.trace_clock: ClockId = trace.trace_clock
        self.infos: dict[ClockId, ClockInfo] = {info.clock: info for info in self.graph.clocks()}
        self.spans = ReadingSpans(self.graph)
        self.order_unexamined = False
        self._paths: dict[ClockId, list[ClockId] | None] = {}
        self._numbers = ClockNumbers(self.infos, trace.machines)
        self.clocks: list[ClockId] = self._numbers.clocks
        home = self.spans.get(self.equated or self.trace_clock)
        self.strays = None
        # That a clock counts from 0 says nothing of when it is read.
        if home is not None and (home.low or home.high):
            self.strays = Strays(self.spans, home, self.clocks, trace.vocabulary.kinds)
        self.clusters = TimeClusters()
        self.at_zero: dict[ClockId, tuple[int, int]] = {}
        self._payloads = np.zeros(len(trace.vocabulary.payload_index), dtype=bool)
        self.file_order = FileOrder(self.graph, self.trace_clock, trace.snapshot_packets)
        self._counts = Counts(self.spans.marks, self.spans.starts)
        lost = [fault.packet for fault in trace.faults]
        moves = [move.packet for move in trace.trace_clock_moves]
        self._placed = Between(np.array(lost + moves, dtype=np.int64))
        self.late: dict[ClockId, tuple[int, int]] = {}
        self._has_late_snapshots = trace.late_snapshots is not None
        self._floor_cost = FloorCost(reordered=0)
        self._orders = self._order_check()
        self.bars: EventBars | None = None
        self._placer: ErrorBars | None = None
        if place and len(self.infos) <= self.most_examined:
            cost = FloorCost(reordered=0)
            self._placer = ErrorBars(
                self.graph, self.trace_clock, trace.machines, "estimated", {}, cost
            )
            self.bars = cost.bars
        self._read(watch)

    def _read(self, watch: Callable[[Columns], None] | None) -> None:
        """Read the events, and count them in every way that findings need."""
        groups = GroupCounter()
        reading = self.trace.columns(written=MOST_KEPT)
        for columns in reading:
            numbers = self._numbers.of_rows(columns)
            groups.add(columns, numbers)
            self._count(columns, numbers)
            self.file_order.add(columns, numbers)
            if self.trace.perfetto_reads == "json":
                self.clusters.add(columns)
            self._payloads[columns["payload"]] = True
            if self.strays is not None:
                self.strays.add(columns, numbers)
            if self._orders is not None:
                self._orders.add(columns, numbers)
            if self._placer is not None:
                self._placer.place(columns)
            if watch is not None:
                watch(columns)
        self._floor_cost.finish()
        self._as_written = reading.written
        self.late_wakings = reading.late_wakings
        steps = [np.empty((4, 0), dtype=np.int64), *reading.flows]
        self.backward = list(backward_flows(self.trace_clock, np.concatenate(steps, axis=1), 0))
        self.counted = groups.take()

    def _count(self, columns: Columns, numbers: Values) -> None:
        resolved = columns["status"] == RESOLVED
        home = self.trace_clock.machine
        at_home = columns["machine"] == self.trace.machines[home]
        if home == 0:
            # Rows that name no machine are of the first.
            at_home |= columns["machine"] == 0
        placed = resolved & ~((columns["clock"] == self.trace_clock.clock) & at_home)
        self._placed.add(columns["packet"][placed].astype(np.int64))
        known = numbers < len(self.infos)
        known &= numbers != self.spans.numbers.get(self.trace_clock)
        source = columns["source_ns"]
        self._counts.add(numbers[known], source[known])
        if not source.all():
            self._count_zeros(columns, numbers)
        if self._has_late_snapshots:
            rows = np.flatnonzero(resolved & known)
            for number, places in places_of(numbers[rows]).items():
                clock, ours = self.clocks[number], rows[places]
                if clock in self.straying_ns:
                    self._compare(clock, source[ours], columns["trace_time"][ours])

    def _count_zeros(self, columns: Columns, numbers: Values) -> None:
        """Count events at a reading of 0; a descriptor of counters has that, and means nothing."""
        vocabulary = self.trace.vocabulary
        payload = vocabulary.payloads.index("gpu_counter_event").as_py()
        rows = np.flatnonzero(
            (columns["source_ns"] == 0)
            & (columns["status"] == RESOLVED)
            & (vocabulary.payload_index[columns["payload"]] != payload)
        )
        for number, places in places_of(numbers[rows]).items():
            clock, first = self.clocks[number], int(columns["packet"][rows[places[0]]])
            events, packet = self.at_zero.get(clock, (0, first))
            self.at_zero[clock] = events + len(places), packet

    def _compare(self, clock: ClockId, source: Values, placed: Values) -> None:
        """Note the places of events if floor had known all snapshots."""
        readings = source // self.infos[clock].unit_ns
        there = self.trace.clocks.convert(readings, clock, self.trace_clock, errors="mask")
        better, known = known_of(there)
        off = distances(placed[known], better[known])
        beyond = off[off > self.straying_ns[clock]]
        if len(beyond):
            events, worst = self.late.get(clock, (0, 0))
            self.late[clock] = events + len(beyond), max(worst, int(beyond.max()))

    @property
    def payloads(self) -> set[str]:
        """The names of what its records carry."""
        vocabulary = self.trace.vocabulary
        index = vocabulary.payload_index[np.flatnonzero(self._payloads)]
        return {vocabulary.payloads[k].as_py() for k in {*index[index >= 0].tolist()}}

    @cached_property
    def moved_at(self) -> int:
        """The last packet that moved trace time after conversions had begun; -1 where none did."""
        late = (move.packet for move in self.trace.trace_clock_moves if move.is_late)
        return max(late, default=-1)

    def _order_check(self) -> OrderCheck | None:
        """The check of the order of events; None where no clock moves enough for another.

        Very many clocks are not examined.
        """
        moving = self.ways.change_ns > self.tolerance_ns
        if not moving.any():
            return None
        self.order_unexamined = len(self.infos) > self.most_examined
        if self.order_unexamined:
            return None
        machines, cost = self.trace.machines, self._floor_cost
        bars = ErrorBars(self.graph, self.trace_clock, machines, "estimated", {}, cost)
        return OrderCheck(bars, np.flatnonzero(moving))

    def of(self, reason: str) -> list[Group]:
        """The groups with one status."""
        rows = np.flatnonzero(self.counted.status == REASONS.index(reason))
        return self.counted.each(rows, self.clocks)

    def of_machines_not_in(self, machines: set[int]) -> Values:
        """The rows of `counted` whose clock belongs to none of some machines."""
        of = np.array([clock.machine not in machines for clock in self.clocks], dtype=bool)
        return np.flatnonzero(of[self.counted.clock])

    def groups_of(self, clock: ClockId) -> list[Group]:
        """The groups of a clock."""
        rows = self._groups_by_clock.get(clock, _NO_ROWS)
        return self.counted.each(rows, self.clocks)

    @cached_property
    def _groups_by_clock(self) -> dict[ClockId, Values]:
        """The groups' rows of `counted` by clock."""
        return {self.clocks[k]: rows for k, rows in places_of(self.counted.clock).items()}

    @cached_property
    def ways(self) -> Ways:
        """The paths of clocks of snapshots to trace time, by number."""
        return self.graph.floor.variations(list(self.infos), self.trace_clock)

    @cached_property
    def written(self) -> Written:
        """The snapshots as they are written, those not taken whole included."""
        return Written(self._as_written)

    def was_written(self, clocks: Iterable[ClockId]) -> bool:
        """Whether any snapshot names one of some clocks, taken or not."""
        known = self._written_clocks
        return any((clock.clock, clock.sequence, clock.machine) in known for clock in clocks)

    @cached_property
    def _written_clocks(self) -> set[tuple[int, int, int]]:
        return {(clock.clock, clock.sequence, clock.machine) for clock in self.written.clocks}

    @cached_property
    def used(self) -> dict[ClockId, int]:
        """The number of events of each clock, by clock."""
        return self._by_clock(np.ones(len(self.counted.key), dtype=bool))

    @cached_property
    def lost(self) -> dict[ClockId, int]:
        """The number of events of each clock without a trace time."""
        return self._by_clock(~is_any_of(self.counted.status, PLACED))

    def _by_clock(self, rows: npt.NDArray[np.bool_]) -> dict[ClockId, int]:
        """The events of some groups by clock, in order of the groups."""
        found = defaultdict[ClockId, int](int)
        numbers, events = self.counted.clock[rows].tolist(), self.counted.events[rows].tolist()
        for number, n in zip(numbers, events, strict=True):
            found[self.clocks[number]] += n
        return dict(found)

    @cached_property
    def discontinuities(self) -> PairDiscontinuities:
        """The discontinuities of pairs of clocks, by their snapshots; those by orders are apart."""
        found = self.graph.tubes.discontinuities(self._examined[0])
        contradicted = self.contradictions
        parts = [part for pair, part in found.by_pair().items() if pair not in contradicted]
        every = PairDiscontinuities.joined(parts)
        return every.take(every.orders.counts == 0)

    @cached_property
    def contradictions(self) -> dict[tuple[ClockId, ClockId], Contradiction]:
        """The messages that contradict snapshots, by pair of clocks, the steadier first."""
        found = {}
        for one, other in self.graph.state.orders.pairs()[:MOST_ORDERED]:
            with suppress(TracetimeError):
                pair = self.graph.tubes.pair(one, other)
                contradicting = contradiction(pair)
                if contradicting is not None:
                    found[pair.a, pair.b] = contradicting
        return found

    @property
    def pairs(self) -> list[Pair]:
        """The pairs of clocks whose offset changes, by their snapshots, with their tubes."""
        return self.graph.tubes.built(self._examined[0])

    @property
    def most_examined(self) -> int:
        """The number of pairs of clocks whose discontinuities are looked for."""
        return min(MOST_EXAMINED, self.graph.most_tubes or MOST_EXAMINED)

    @property
    def unexamined(self) -> tuple[ClockId, ...]:
        """The clocks that may have jumped, but were too many to be examined."""
        return tuple(sorted(clock for _, clock in self._examined[1]))

    @cached_property
    def _examined(self) -> tuple[list[tuple[ClockId, ClockId]], list[tuple[ClockId, ClockId]]]:
        """The pairs of clocks that may have a discontinuity: those examined, and those left out."""
        pairs = eventful(self.graph)
        most_used = sorted(pairs, key=lambda pair: -self.used.get(pair[1], 0))
        chosen = {pair for pair in most_used[: self.most_examined] if self._has_room(*pair)}
        return (
            [pair for pair in pairs if pair in chosen],
            [pair for pair in pairs if pair not in chosen],
        )

    def _has_room(self, one: ClockId, other: ClockId) -> bool:
        """Whether the limit of tubes, which others may have used up, leaves room for two clocks."""
        try:
            self.graph.tubes.pair(one, other)
        except TraceError:
            return False
        except ConversionError:
            pass
        return True

    @property
    def reordered(self) -> int:
        """The number of events that floor puts in another order than they had by their bars."""
        return self._floor_cost.events_reordered or 0

    def widest_bars(self) -> EventBars:
        """The widest bars on trace time that readings of each clock's events have."""
        spans: dict[ClockId, tuple[int, int]] = {}
        for group in (one for status in BARRED for one in self.of(REASONS[status])):
            low, high = spans.get(group.clock, (group.low_ns, group.high_ns))
            spans[group.clock] = min(low, group.low_ns), max(high, group.high_ns)
        return widest_in_trace(self.graph, self.trace_clock, spans)

    @cached_property
    def straying_ns(self) -> dict[ClockId, int]:
        """The largest healthy distance, ns, of clocks that snapshots place further apart."""
        drift_ns = self.ways.drift_ns
        far = np.flatnonzero(drift_ns > self.tolerance_ns).tolist()
        healthy_ns = {k: self._healthy_ns(self.clocks[k]) for k in far}
        return {self.clocks[k]: most for k, most in healthy_ns.items() if drift_ns[k] > most}

    def _healthy_ns(self, clock: ClockId) -> int:
        """The tolerance, plus the ticks of the clocks on the path to trace time."""
        ticks = map(self.tick_ns, self.graph.path(clock, self.trace_clock))
        return self.tolerance_ns + sum(tick for tick in ticks if tick > 1)

    @property
    def has_snapshots(self) -> bool:
        """Whether the trace has any: that BOOTTIME is TRACE_FILE, at 0, Perfetto adds itself."""
        return bool(self.trace.faults) or any(
            clock.clock not in _EQUATED or info.first_ns or info.last_ns
            for clock, info in self.infos.items()
        )

    @property
    def has_evidence(self) -> bool:
        """Whether anything relates its clocks: without, nothing about them can be checked."""
        return self.has_snapshots or bool(self.graph.state.orders.pairs())

    @property
    def equated(self) -> ClockId | None:
        """The BOOTTIME that equals the trace clock by Perfetto's rule alone; None without."""
        info = self.infos.get(self.trace_clock)
        if self.trace_clock.clock != _TRACE_FILE or info is None or info.first_ns or info.last_ns:
            return None
        return replace(self.trace_clock, clock=_BOOTTIME)

    def _tick_ns(self, clock: ClockId) -> int:
        """The resolution of a clock: its unit at least, and what its readings show."""
        recorded = self.trace.recorded_domains.get(clock)
        # The graph's own is 1 where half-widths were measured: they hold the tick.
        known = [self.graph.domain(clock).tick_ns, None if recorded is None else recorded.tick_ns]
        unit_ns = self.infos[clock].unit_ns if clock in self.infos else 1
        known.append(self.visible_tick_ns(clock))
        return max(unit_ns, *(int(tick) for tick in known if tick is not None))

    def may_show_tick(self, clock: ClockId) -> bool:
        """Whether snapshots and events together hold as many readings as a tick takes."""
        info = self.infos.get(clock)
        readings = 0 if info is None else info.snapshots + self.used.get(clock, 0)
        return readings >= LEAST_READINGS

    def visible_tick_ns(self, clock: ClockId) -> float | None:
        """The resolution of a clock by its readings, where coarser than declared; else None."""
        tick = self.graph.tubes.pairs.observed_tick(clock) if clock in self.infos else None
        return None if tick is None else tick.period_ns

    @cached_property
    def _inconsistencies(self) -> tuple[list[Inconsistency], bool]:
        try:
            return inconsistencies(self.graph)
        except TraceError:
            # There may be no more tubes.
            return [], True

    @property
    def inconsistencies(self) -> list[Inconsistency]:
        return self._inconsistencies[0]

    @property
    def loops_unexamined(self) -> bool:
        """Whether there are so many loops of clocks that not all were compared."""
        return self._inconsistencies[1]

    @cached_property
    def declared(self) -> dict[ClockId, ClockDomain]:
        """The domain of a clock, as declared."""
        return dict(self.graph.state.domains)

    @cached_property
    def rates(self) -> dict[ClockId, Rate]:
        """The rates of the clocks, where their readings show them."""
        return rates_of(
            {
                clock: SharedReadings(reference, *self.unfolded(clock, reference))
                for clock, shared in zip(
                    self.infos, self.reference_readings[0].tolist(), strict=True
                )
                if shared >= LEAST_SNAPSHOTS
                and (reference := self.reference(clock)) is not None
                and not is_cpu_time(reference)
                and clock not in self.open_wraps
            }
        )

    @cached_property
    def snapshot_packets(self) -> npt.NDArray[np.uint64]:
        return self.trace.snapshot_packets

    def packets_of(self, snapshots: Iterable[int]) -> list[int]:
        """The packets of some snapshots."""
        numbers = np.fromiter(snapshots, dtype=np.int64)
        packets: list[int] = self.snapshot_packets[numbers].tolist()
        return packets

    def count_placed(self, spans: list[tuple[int, int | None]]) -> int:
        """The number of events in some spans of packets that snapshots placed; None: to the end.

        Spans begin and end at packets whose snapshots were not taken whole or moved trace time, or
        at the packet before or after one. Readings of the trace clock need no snapshot.
        """
        return self._placed.within(
            (first, INT64_MAX if last is None else last) for first, last in spans
        )

    def count_within(
        self, spans: Mapping[ClockId, Values | list[tuple[int, int]]]
    ) -> dict[ClockId, int]:
        """The number of events of each clock with a reading (ns) within one of some spans.

        The ends are included; each is a reading of the clock's snapshots, 1 ns before or after one,
        or beyond all events on its side. Events of the trace clock are not counted.
        """
        numbers = self.spans.numbers
        return {
            clock: self._counts.within(numbers[clock], within) if clock in numbers else 0
            for clock, within in spans.items()
        }

    def nearest(self, one: ClockId, other: ClockId, reading_ns: int) -> list[int]:
        """The snapshot that two clocks share in which `one` was nearest to a reading.

        None of a clock that counts ticks: its readings are no ns; or where they share none.
        """
        snapshots, readings, _ = self.together(one, other)
        if not len(snapshots) or self.graph.domain(one).ns_per_tick != 1:
            return []
        away = distances(readings, np.full_like(readings, reading_ns))
        return [int(snapshots[np.argmin(away)])]

    def together(self, one: ClockId, other: ClockId) -> tuple[Values, Values, Values]:
        """(snapshots, one_ns, other_ns) of two clocks, in file order."""
        return self._shared(one, other)

    def unfolded(self, one: ClockId, other: ClockId) -> tuple[Values, Values, Values]:
        """The readings of `together`; where `one` is declared to wrap, as if it never had."""
        snapshots, readings, others = self.together(one, other)
        counter = self.counters.get(one)
        if counter is None:
            return snapshots, readings, others
        readings, known = counter.at(snapshots)
        return snapshots[known], readings[known], others[known]

    @cached_property
    def counters(self) -> dict[ClockId, Counter]:
        """The clocks declared to wrap, unfolded; without those whose wraps are open."""
        return self._counters[0]

    @cached_property
    def open_wraps(self) -> dict[ClockId, ConversionError]:
        """The clocks declared to wrap whose snapshots do not say how often they did."""
        return self._counters[1]

    @cached_property
    def _counters(self) -> tuple[dict[ClockId, Counter], dict[ClockId, ConversionError]]:
        known, is_open = {}, {}
        for clock, domain in self.declared.items():
            if domain.valid_bits == 64 or clock not in self.infos:
                continue
            try:
                counter = self.graph.tubes.pairs.counter(clock)
            except ConversionError as error:
                if error.reason == REASONS[AMBIGUOUS_SOURCE]:
                    is_open[clock] = error
            else:
                if counter is not None:
                    known[clock] = counter
        return known, is_open

    def path(self, clock: ClockId) -> list[ClockId] | None:
        """The clocks over which floor brings one to trace time; None where nothing leads there."""
        if clock not in self._paths:
            try:
                self._paths[clock] = self.graph.path(clock, self.trace_clock)
            except TracetimeError:
                self._paths[clock] = None
        return self._paths[clock]

    def reference(self, clock: ClockId) -> ClockId | None:
        """The reference of a clock: the trace clock, else the steadiest clock of its lists."""
        return self._references.get(clock)

    @cached_property
    def reference_readings(self) -> tuple[Values, Values, Values]:
        """The readings of each clock, by number, in the snapshots with its reference.

        How many, the least and the greatest, ns.
        """
        place = {clock: k for k, clock in enumerate(self.graph.contents.lists().clocks)}
        places = np.array([place[clock] for clock in self.infos], dtype=np.int64)
        n, least, greatest = shared_with_references(self.graph)
        return n[places], least[places], greatest[places]

    @cached_property
    def _references(self) -> dict[ClockId, ClockId]:
        listed = self.graph.contents.lists()
        found = zip(listed.clocks, listed.references().tolist(), strict=True)
        return {clock: listed.clocks[reference] for clock, reference in found if reference >= 0}

    def neighbours(self, clock: ClockId) -> list[ClockId]:
        """The neighbours of a clock, which it shares snapshots with, in order."""
        return sorted({other for clocks in self.series_of(clock) for other in clocks} - {clock})

    def series_of(self, clock: ClockId) -> list[tuple[ClockId, ...]]:
        """The lists of clocks with a clock in them."""
        return self._series_of.get(clock, [])

    @cached_property
    def series(self) -> list[tuple[ClockId, ...]]:
        """The lists of clocks that snapshots have had; see `ClockGraph.series`."""
        return [clocks for clocks, _ in self.graph.contents.series()]

    @cached_property
    def _series_of(self) -> dict[ClockId, list[tuple[ClockId, ...]]]:
        found = defaultdict[ClockId, list[tuple[ClockId, ...]]](list)
        for clocks in self.series:
            for clock in clocks:
                found[clock].append(clocks)
        return found

    @cached_property
    def by_number(self) -> dict[tuple[int, int], list[ClockId]]:
        """The clocks of snapshots by (number, machine): alike on many sequences."""
        found = defaultdict[tuple[int, int], list[ClockId]](list)
        for clock in self.infos:
            found[clock.clock, clock.machine].append(clock)
        return found
