"""The summary of an import: events by kind and status, each clock, and reasons without a time.

`groups.py` counts; `commands/` prints.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Annotated, Final, NamedTuple

import numpy as np

from tracetime.analysis.event_bars import Shift, growth_ns, note_sample, note_widest, to_measure
from tracetime.analysis.floor_cost import (
    CLOCKS_SAMPLED,
    FloorCost,
    floor_cost_at_snapshots,
    floor_cost_of_events,
)
from tracetime.analysis.groups import EventCounts, Group
from tracetime.clocks.ids import ClockId
from tracetime.clocks.json_facts import ClockFacts, Document, as_json
from tracetime.errors import (
    ADVICE,
    PLACED,
    READ_LATER,
    REASONS,
    RESOLVED,
    UNKNOWN_SOURCE_CLOCK,
    TraceError,
)
from tracetime.graph.arguments import PolicyName
from tracetime.graph.clock_graph import inner
from tracetime.graph.tube.results import Bars

if TYPE_CHECKING:
    from msgspec import Meta

    from tracetime.clocks.json_types import Count, Status
    from tracetime.graph.info import ClockInfo
    from tracetime.trace.facts import TraceWarning
    from tracetime.trace.trace import Trace, TraceReading

_COUNTED_ROWS: Final = 1_000_000
"""Up to so many events are placed again, by the tube, to count those that floor reorders."""

_COMPARED_ROWS: Final = 10_000_000
"""Up to so many are placed again where a reader of the summary needs the exact cost."""

_COMPARED_CLOCKS: Final = 1000
"""With more clocks, events are not placed again: each clock takes a tube, or several."""

_FEW_ROWS: Final = 200_000
"""Up to so many are placed again wherever floor may have used another snapshot, or path."""

_BARRED_CLOCKS: Final = 4
_ROWS_PER_CLOCK: Final = 250_000
"""The bars of so many more clocks than floor is compared for are looked for, and of one more for so
many rows: a tube takes 1 to 2 % of the time that these do."""

_WAYS: Final = 4
_FEW_EVENTS: Final = 100
"""A path from a clock with so many neighbours takes ten tubes: no bars are looked for where only
one event of so many is of it, if not all events are placed again."""

_FAULTS_QUOTED: Final = 3
"""Of so many clocks, those with the most events, advice quotes what the tube says."""


@dataclass(frozen=True, slots=True)
class KindCount:
    """The events of one kind: their number, and the numbers with each status.

    Attributes:
        kind: the kind.
        events: how many there are.
        statuses: how many there are with each status.
    """

    kind: str
    events: Count
    statuses: dict[Status, Count]


@as_json("clock scope unit_ns incremental monotonic snapshots first_ns last_ns events unresolved")
@dataclass(frozen=True, slots=True)
class ClockUse(ClockFacts):
    """One clock of a trace: its snapshots (readings in ns), and the events read in it.

    Attributes:
        clock: the clock; 0 stands for events that name none.
        events: how many events were read in it.
        unresolved: how many of these have no trace time.
    """

    events: Count
    unresolved: Count


class ClockEvents(NamedTuple):
    """Events of one clock.

    Attributes:
        clock: the clock.
        events: how many there are.
    """

    clock: ClockId
    events: Count


class BarredClock(NamedTuple):
    """The error bars of the events of one clock on trace time, as half-widths.

    Attributes:
        clock: the clock.
        events: how many events it has.
        at_most_ns: the widest bar, ns; null: a side of it is open.
        at: the reading of the clock that has it, in its own unit.
        median_ns: the median of at most 10,000 bars, ns; null: open.
        late_ns: by how much later floor puts the events than the tube's estimate; null where floor
            places none.
    """

    clock: ClockId
    events: Count
    at_most_ns: Count | None
    at: int
    median_ns: Count | None
    late_ns: Shift | None


class ToFloorCost(NamedTuple):
    """The distance of floor's to_time from the tube's place for that trace time.

    Attributes:
        at_most_ns: how far, ns.
        is_limit: whether no event is farther off than at_most_ns.
    """

    at_most_ns: Count
    is_limit: bool


@dataclass(frozen=True, slots=True)
class Unresolved:
    """One reason why events have no trace time: how many, in which clocks, and what to do.

    Attributes:
        reason: the status of these events.
        events: how many there are.
        clocks: the clocks that they were read in.
        advice: what to do.
    """

    reason: Annotated[str, Meta(extra_json_schema={"enum": list(REASONS[2:])})]
    events: Count
    clocks: tuple[ClockEvents, ...]
    advice: str


@as_json(
    "trace out trace_clock policy bars floor_cost error_bars rows unresolved kinds clocks reasons "
    "to to_unresolved to_floor_cost warnings n_warnings events_dropped names_left_out truncated "
    "rate_unproven"
)
@dataclass(frozen=True, slots=True)
class Summary(Document):
    """The summary of an import.

    Attributes:
        trace: the trace, as it was named.
        out: the file that was written.
        trace_clock: the clock that trace time counts in.
        policy: how events came to trace time.
        rows: how many events there are.
        kinds: events by kind, the most frequent first.
        clocks: the clocks of the trace.
        reasons: why events have no trace time.
        to: the clock of --to; null without it.
        to_unresolved: how many events have a trace time, and no time on that clock.
        to_cost_ns: with floor, how far to_time is at most from where the tube puts that trace_time;
            floor_cost is how far off that is. None where nothing was compared.
        to_cost_is_limit: whether every to_time was.
        warnings: what is wrong in the trace and did not end its reading: the first of them.
        n_warnings: how many warnings there are in all.
        events_dropped: events that the recorder says it dropped: they are not in the trace.
        truncated: with --partial, the error after which the rest was not read; null if all was
            read.
        bars: the error bars of the tube policy; null with floor, which has none.
        floor_cost: how far the trace time of the floor policy is from the tube's.
        names_left_out: how many names there was no room for; null without --with-names.
        rate_unproven: clocks of events whose estimated bars may take a rate that two snapshots
            show, which prove none.
    """

    trace: str
    out: str
    trace_clock: ClockId
    policy: PolicyName
    rows: Count
    kinds: tuple[KindCount, ...]
    clocks: tuple[ClockUse, ...]
    reasons: tuple[Unresolved, ...]
    to: ClockId | None = None
    to_unresolved: Count = 0
    to_cost_ns: int | None = None
    to_cost_is_limit: bool = True
    warnings: tuple[TraceWarning, ...] = ()
    n_warnings: Count = 0
    events_dropped: Count = 0
    truncated: TraceError | None = None
    bars: Bars | None = None
    floor_cost: FloorCost = field(default_factory=FloorCost)
    names_left_out: Count | None = None
    rate_unproven: tuple[ClockId, ...] = ()

    @property
    def unresolved(self) -> Count:
        """The number of events without a trace time."""
        return sum(reason.events for reason in self.reasons)

    @property
    def error_bars(self) -> list[BarredClock]:
        """The error bars of events by clock; without clocks whose bars were not looked for."""
        found = ((use, self.floor_cost.bars.of([use.clock])) for use in self.clocks if use.events)
        return [
            BarredClock(
                use.clock,
                use.events,
                bars.at_most_ns,
                bars.at_ns // use.unit_ns,
                bars.median_ns,
                bars.late_ns,
            )
            for use, bars in found
            if bars is not None
        ]

    @property
    def to_floor_cost(self) -> ToFloorCost | None:
        """How far to_time of the floor policy is from where the tube puts that trace time; null:
        not compared."""
        if self.to_cost_ns is None:
            return None
        return ToFloorCost(self.to_cost_ns, self.to_cost_is_limit)


@dataclass(frozen=True, slots=True)
class ConvertOptions:
    """The options of a conversion of events: policy and bars, another clock, names."""

    policy: PolicyName = "floor"
    bars: Bars = "estimated"
    to: ClockId | None = None
    names: bool = False

    def bars_are(self, bars: Bars) -> bool:
        """Whether the result has error bars, and of this kind."""
        return self.policy == "tube" and self.bars == bars


def summarise(
    trace: Trace,
    reading: TraceReading,
    counts: EventCounts,
    out: str,
    options: ConvertOptions,
    cost: FloorCost | None = None,
) -> Summary:
    """Return the summary of counts and of the trace's own facts about its clocks.

    Args:
        reading: of the trace, at its end.
        counts: of its events.
        out: the file they were written to.
        options: how they were converted.
        cost: by the tube, what floor costs of those events.
    """
    infos = trace.clocks.clocks()
    groups = counts.groups([info.clock for info in infos], trace.machines)
    clocks, reasons = _by_clock(groups, infos, reading.faults, options.policy)
    if options.policy == "floor":
        # A baked trace is so that floor places its events there.
        is_baked = trace.baked_by is not None
        cost = FloorCost(0) if is_baked else _floor_cost(trace, counts.rows, groups, infos)
        if not cost.is_of_events:
            _note_bars(trace, counts, groups, cost, options.bars)
    return Summary(
        trace=trace.path,
        out=out,
        trace_clock=trace.trace_clock,
        policy=options.policy,
        rows=counts.rows,
        kinds=_kinds(counts.kinds, [kind.name for kind in trace.vocabulary.kinds]),
        clocks=clocks,
        reasons=reasons,
        to=options.to,
        to_unresolved=counts.to_time.unresolved,
        to_cost_ns=counts.to_time.cost_ns,
        to_cost_is_limit=not counts.to_time.uncompared,
        warnings=tuple(trace.warnings),
        n_warnings=trace.n_warnings,
        events_dropped=trace.events_dropped,
        truncated=reading.truncated,
        bars=options.bars if options.policy == "tube" else None,
        floor_cost=cost or FloorCost(),
        names_left_out=reading.names_left_out if options.names else None,
        rate_unproven=_unproven(trace, groups) if options.bars_are("estimated") else (),
    )


def _unproven(trace: Trace, groups: Sequence[Group]) -> tuple[ClockId, ...]:
    """The clocks of events on their way to trace time over a rate that two snapshots show."""
    tubes, home = inner(trace.clocks).tubes, trace.trace_clock
    placed = {group.clock for group in groups if group.reason == REASONS[RESOLVED]}
    away = sorted(clock for clock in placed - {home} if tubes.paths.leads(clock, home))
    return tuple(clock for clock in away if tubes.rate_unproven(clock, home))


def _floor_cost(
    trace: Trace, rows: int, groups: Sequence[Group], infos: Sequence[ClockInfo]
) -> FloorCost:
    """The cost of floor, from the snapshots; from every event where those leave it open."""
    there = {info.clock for info in infos if info.snapshots}
    spans = {
        group.clock: (group.least_ns, group.most_ns)
        for group in groups
        if group.reason == REASONS[RESOLVED] and group.clock in there
    }
    # A tube takes as long as some 100,000 events: this is to stay a tenth of the whole.
    most = min(CLOCKS_SAMPLED, 3 + rows // 1_000_000)
    late = trace.late_snapshots is not None
    graph, home = inner(trace.clocks), trace.trace_clock
    cost = floor_cost_at_snapshots(graph, home, spans, most, spans, late)
    few = cost.drifts_on or rows <= _FEW_ROWS
    matters = cost.ended_early or (cost.other_ways and few)
    if rows <= _COUNTED_ROWS and len(infos) <= _COMPARED_CLOCKS and (cost.leaves_bars or matters):
        cost.join(floor_cost_of_events(trace))
    elif cost.settled and not cost.leaves_bars:
        # No event can be reordered: all floor times are within their bars.
        cost.events_reordered = 0
    return cost


def _note_bars(
    trace: Trace, counts: EventCounts, groups: Sequence[Group], cost: FloorCost, bars: Bars
) -> None:
    """Note bars without placing all events, of as many clocks as take little time."""
    if counts.sample.is_cut_off and not counts.sample.is_whole:
        # Each event has a bar of its own.
        return
    graph, home = inner(trace.clocks), trace.trace_clock
    infos = {info.clock: info for info in graph.clocks() if info.snapshots}
    few = 0 if counts.sample.is_whole else counts.rows // _FEW_EVENTS
    neighbours = graph.tubes.neighbours
    ready = {home, *cost.compared}
    placed = [
        group
        for group in groups
        if group.reason == REASONS[RESOLVED]
        and group.clock in infos
        and (counts.sample.is_whole or graph.domain(group.clock).valid_bits == 64)
        and (group.events > few or group.clock in ready or len(neighbours[group.clock]) < _WAYS)
    ]
    clocks = [group.clock for group in placed]
    spans = np.array([(group.least_ns, group.most_ns) for group in placed], dtype=np.int64)
    _, changes, _ = graph.floor.variations(clocks, home, spans.reshape(-1, 2))
    likely = [
        change + growth_ns(infos[group.clock], (group.low_ns, group.high_ns))
        for change, group in zip(changes.tolist(), placed, strict=True)
    ]
    order = to_measure(clocks, likely, [group.events for group in placed])
    # Those that were compared have their tubes.
    most = _BARRED_CLOCKS + counts.rows // _ROWS_PER_CLOCK
    chosen = {*ready, *[clock for clock in order if clock not in ready][:most]}
    note_sample(trace, counts.sample, cost, chosen, bars)
    if not counts.sample.is_whole:
        readings = {one.clock: (one.low_ns, one.high_ns) for one in placed if one.clock in chosen}
        note_widest(graph, home, cost.bars, readings, bars)


def settle_cost(trace: Trace, summary: Summary) -> None:
    """Place every event again, by the tube, where a summary does not settle the cost of floor.

    Not in the largest traces: it takes about as long as it took to write them.
    """
    cost = summary.floor_cost
    if cost is None or summary.rows > _COMPARED_ROWS or len(summary.clocks) > _COMPARED_CLOCKS:
        return
    if cost.events_reordered is None or not cost.settled:
        cost.join(floor_cost_of_events(trace))


def _kinds(counted: Counter[tuple[int, int]], names: list[str]) -> tuple[KindCount, ...]:
    """The counts by kind, the most frequent first; names: of the kinds, by code."""
    by_kind: dict[str, dict[str, int]] = defaultdict(dict)
    for (kind, status), events in counted.most_common():
        by_kind[names[kind]][REASONS[status]] = events
    counts = [KindCount(kind, sum(n.values()), n) for kind, n in by_kind.items()]
    return tuple(sorted(counts, key=lambda count: -count.events))


def _by_clock(
    groups: Sequence[Group],
    infos: list[ClockInfo],
    faults: Mapping[tuple[ClockId, int], str],
    policy: PolicyName,
) -> tuple[tuple[ClockUse, ...], tuple[Unresolved, ...]]:
    events: Counter[ClockId] = Counter()
    unresolved: Counter[ClockId] = Counter()
    by_reason: dict[str, Counter[ClockId]] = defaultdict(Counter)
    for group in groups:
        events[group.clock] += group.events
        if REASONS.index(group.reason) not in PLACED:
            unresolved[group.clock] += group.events
            by_reason[group.reason][group.clock] += group.events
    uses = [ClockUse(*info, events[info.clock], unresolved[info.clock]) for info in infos]
    in_snapshots = {info.clock for info in infos}
    for clock in events.keys() - in_snapshots:
        bare = ClockUse(clock, 1, False, True, 0, None, None, events[clock], unresolved[clock])
        uses.append(bare)
    reasons = [
        Unresolved(
            reason,
            clocks.total(),
            tuple(ClockEvents(*most) for most in clocks.most_common()),
            _advice(reason, clocks, faults, in_snapshots if policy == "floor" else set()),
        )
        for reason, clocks in by_reason.items()
    ]
    return tuple(sorted(uses, key=lambda use: use.clock)), tuple(reasons)


def _advice(
    reason: str,
    clocks: Counter[ClockId],
    faults: Mapping[tuple[ClockId, int], str],
    in_snapshots: set[ClockId],
) -> str:
    """The tube's advice on these clocks, and general advice on the others.

    in_snapshots: by floor, the clocks that snapshots hold.
    """
    status = REASONS.index(reason)
    # The tube knows no files, as the table.
    found = [faults.get((replace(clock, file=0), status)) for clock, _ in clocks.most_common()]
    own = list(dict.fromkeys(fault for fault in found if fault is not None))
    advice = [f"{fault}." for fault in own[:_FAULTS_QUOTED]]
    if len(own) > _FAULTS_QUOTED:
        advice.append(f"So it is with {len(own) - _FAULTS_QUOTED} more clocks.")
    if reason == REASONS[UNKNOWN_SOURCE_CLOCK] and clocks.keys() & in_snapshots:
        advice += READ_LATER
    if None in found and not (READ_LATER.why in advice and clocks.keys() <= in_snapshots):
        advice += ADVICE[reason]
    return " ".join(advice)
