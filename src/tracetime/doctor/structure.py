"""Findings about what the snapshots of a trace hold, and how they are written."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import compress
from typing import Final

import numpy as np

from tracetime.analysis.file_order import float_step_ns
from tracetime.analysis.survey import Survey
from tracetime.clocks.families import COARSE, NEVER_SET
from tracetime.clocks.ids import BUILTIN_IDS, FIRST_GLOBAL_CLOCK, FIRST_HASHED_CLOCK, ClockId
from tracetime.clocks.int_arrays import is_any_of
from tracetime.clocks.wall_time import format_wall_time
from tracetime.doctor.catalogue import finding
from tracetime.doctor.finding import EventSelection, Finding, all_of, names
from tracetime.errors import AS_IS, PLACED, REASONS, RESOLVED
from tracetime.graph.tube.lattice import LEAST_READINGS
from tracetime.graph.tube.results import Inconsistency
from tracetime.graph.tube.tick_periods import LEAST_TICK_NS
from tracetime.text import count, duration
from tracetime.trace.facts import SnapshotFault

_REALTIME: Final = BUILTIN_IDS["REALTIME"]
_LONG_PATH: Final = 3
"""Hops: Perfetto follows 4 at most, and common traces need one or two."""
_LEAST_UNEVEN: Final = 6
"""Fewer different steps between events are those of a few timers."""
_CUT_OFF: Final = "is cut off"

# A RemoteClockSync that relates a clock to itself has another finding: see `machines.py`.
_FAULTS: Final = {
    1: "incremental-clock-not-of-a-sequence",
    2: "clock-properties-changed",
    3: "trace-clock-unit",
    4: "clock-twice-in-snapshot",
    5: "trace-clock-ran-backwards",
    6: "reading-overflow",
}


def structure(survey: Survey) -> Iterator[Finding]:
    """Yield findings about rejected snapshots, ids, paths, and what is missing."""
    yield from _faults(survey)
    yield from _ad_hoc(survey)
    yield from _late_trace_clock(survey)
    yield from _disagreements(survey)
    yield from _long_paths(survey)
    yield from _missing(survey)
    yield from _unset(survey)
    yield from _coarse(survey)
    yield from _rounded(survey)
    yield from _truncated(survey)


def _faults(survey: Survey) -> Iterator[Finding]:
    by_kind: dict[tuple[int, int, int], list[SnapshotFault]] = defaultdict(list)
    faults = [one for one in survey.trace.faults if one.fault in _FAULTS]
    for one in faults:
        by_kind[one.fault, one.clock.clock, one.clock.machine].append(one)
    not_kept = survey.trace.n_warnings - survey.trace.n_own_syncs - len(faults)
    for (fault, *_), found in by_kind.items():
        clocks = tuple(sorted({one.clock for one in found}))
        # With several kinds of faults, those beyond the kept warnings have an unknown kind.
        more = not_kept if len(by_kind) == 1 else 0
        least = "at least " if not_kept > more else ""
        rejected = f"{least}{count(len(found) + more, 'snapshot')} rejected"
        packets = [one.packet for one in found]
        fell_by_ns = max(one.fell_by_ns for one in found)
        placed, spans = 0, []
        if fell_by_ns > survey.tolerance_ns:
            spans = _falls_on(survey, clocks[0], packets, more=bool(not_kept))
            placed = survey.count_placed(spans)
        by = f" by {'up to ' if len(found) > 1 else ''}{duration(fell_by_ns)}" if fell_by_ns else ""
        steady = clocks[0].clock in NEVER_SET
        yield finding(
            _FAULTS[fault],
            "error" if placed else "warning",
            clocks=clocks,
            packets=packets,
            events=placed or sum(survey.lost.get(clock, 0) for clock in clocks),
            worst_ns=fell_by_ns or None,
            selections=[EventSelection(placed_in=spans)] if placed else _lost(survey, clocks),
            parts=("steady",) if steady else ("settable",),
            which=names(clocks, 1),
            by=by,
            rejected=rejected,
        )


def _falls_on(
    survey: Survey, clock: ClockId, packets: list[int], *, more: bool
) -> list[tuple[int, int | None]]:
    """Return spans of packets from one rejected snapshot to the next, with no good one between.

    Events there are placed by a snapshot from before the fall. An end of None means the end of the
    file: several were rejected, and no good one follows.
    """
    reference = survey.reference(clock)
    numbers = () if reference is None else survey.together(clock, reference)[0]
    taken = np.setdiff1d(survey.packets_of(numbers), packets)
    before = np.searchsorted(taken, packets)
    spans: list[tuple[int, int | None]] = [
        (packets[k], packets[k + 1]) for k in np.flatnonzero(before[:-1] == before[1:]).tolist()
    ]
    if len(packets) > 1 and (more or before[-1] == len(taken)):
        spans.append((packets[-1], None))
    return spans


def _lost(survey: Survey, clocks: Iterable[ClockId]) -> list[EventSelection]:
    """Select the events of some clocks that have no trace time."""
    return [
        EventSelection(clock, group.reason)
        for clock in clocks
        for group in survey.groups_of(clock)
        if group.reason not in (REASONS[RESOLVED], REASONS[AS_IS])
    ]


def _ad_hoc(survey: Survey) -> Iterator[Finding]:
    is_one = [FIRST_GLOBAL_CLOCK <= clock.clock < FIRST_HASHED_CLOCK for clock in survey.clocks]
    clocks = sorted(compress(survey.clocks, is_one), key=ClockId.order)
    if clocks:
        counted = survey.counted
        ours = np.array(is_one)[counted.clock]
        events = int(counted.events[ours].sum())
        yield finding(
            "ad-hoc-clock-id",
            clocks=tuple(clocks),
            packets=counted.first_packet[ours],
            events=events,
            selections=all_of(clocks),
        )


def _late_trace_clock(survey: Survey) -> Iterator[Finding]:
    for note in survey.trace.notes("trace-clock-changed-late"):
        counted, (packet,) = survey.counted, note.packets
        is_lost = ~is_any_of(counted.status, PLACED) & (counted.first_packet < packet)
        is_none = survey.trace_clock.clock == BUILTIN_IDS["TRACE_FILE"]
        after_all = is_none and counted.last_packet.max(initial=-1) < packet
        yield finding(
            "trace-clock-changed-late",
            "warning" if is_lost.any() else "info",
            parts=("snapshots_last",) if after_all else ("named_late",),
            clocks=note.clocks,
            packets=note.packets,
            trace_clock=survey.trace_clock,
        )


def _disagreements(survey: Survey) -> Iterator[Finding]:
    loops: dict[frozenset[ClockId], Inconsistency] = {}
    for found in survey.inconsistencies:
        loop = frozenset((found.src, found.dst, *found.via))
        if loop not in loops or loops[loop].gap_ns < found.gap_ns:
            loops[loop] = found
    for found in loops.values():
        worst = found.gap_ns > survey.tolerance_ns
        # Events of the trace clock are not converted.
        ends = {found.src, found.dst} - {survey.trace_clock}
        events = sum(survey.used.get(clock, 0) for clock in ends)
        packets = survey.packets_of(survey.nearest(found.src, found.dst, found.at_ns))
        shared, *_ = survey.together(found.src, found.dst)
        by = ("snapshots", "find_snapshot") if len(shared) else ("messages", "find_message")
        yield finding(
            "paths-disagree",
            "warning" if worst and events else "info",
            clocks=tuple(sorted((found.src, found.dst, *found.via))),
            packets=packets,
            events=events,
            worst_ns=found.gap_ns,
            selections=all_of(sorted(ends)),
            parts=by,
            src=found.src,
            dst=found.dst,
            over=", ".join(map(str, found.via)),
            half=found.gap_ns,
        )


def _long_paths(survey: Survey) -> Iterator[Finding]:
    far = survey.ways.hops >= _LONG_PATH
    for clock in compress(survey.infos, far.tolist()):
        path = survey.path(clock) if clock in survey.used else None
        if path is not None:
            yield finding(
                "long-path",
                clocks=tuple(path),
                packets=(group.first_packet for group in survey.groups_of(clock)),
                events=survey.used[clock],
                selections=all_of([clock]),
                trace_clock=survey.trace_clock,
                hops=len(path) - 1,
                path=" -> ".join(map(str, path)),
                end=path[-1],
            )


def _missing(survey: Survey) -> Iterator[Finding]:
    if not survey.has_snapshots:
        if len(survey.graph.state.orders) or survey.trace.placed_by is not None:
            return
        named = [clock for clock in survey.used if clock.clock]
        events = sum(survey.used.values())
        if not events and survey.trace.truncated is None:
            yield finding("no-events")
            return
        yield finding(
            "no-snapshots",
            events=events,
            selections=[EventSelection()],
            parts=("clock_named",) if named else ("no_clock_named",),
        )
    elif not any(clock.clock == _REALTIME for clock in survey.infos):
        yield finding("no-realtime")


def _unset(survey: Survey) -> Iterator[Finding]:
    """Yield a finding about wall clocks that read an instant before there were such recorders.

    A trace that says nothing of a machine may be a simulator's.
    """
    machine = survey.trace.machine_facts().identity
    if not machine:
        return
    from tracetime.clocks.unset_walls import earliest_ns

    earliest = earliest_ns(machine)
    for clock in (one for one in survey.infos if one.clock == _REALTIME):
        span = survey.spans.get(clock)
        if span is not None and span.high < earliest:
            yield finding(
                "wall-clock-unset",
                clocks=(clock,),
                packets=survey.packets_of(survey.nearest(clock, survey.trace_clock, span.low)),
                events=survey.used.get(clock, 0),
                selections=all_of([clock]),
                reads=format_wall_time(span.low)[:19],
            )


def _coarse(survey: Survey) -> Iterator[Finding]:
    kernel_ns: dict[ClockId, float] = {
        clock: survey.tick_ns(clock)
        for clock in sorted(survey.used)
        if clock.clock in COARSE and survey.used[clock]
    }
    yield from _of_ticks(survey, kernel_ns, "the kernel's tick", ("kernel_why", "kernel_fix"))
    measured_ns = {
        clock: tick_ns
        for clock in sorted(filter(survey.may_show_tick, survey.used), key=ClockId.order)
        if survey.used[clock] and clock.clock not in COARSE
        if (tick_ns := survey.visible_tick_ns(clock)) is not None
    }
    yield from _of_ticks(survey, measured_ns, "a tick", ("measured_why", "measured_fix"))


def _rounded(survey: Survey) -> Iterator[Finding]:
    """Yield a finding for each writer whose readings are coarser than its clock's are elsewhere."""
    for group in survey.file_order.groups():
        clock, events = survey.clocks[group.clock], int(group.events.sum())
        info = survey.infos.get(clock)
        if info is None or clock.clock in COARSE or events < LEAST_READINGS:
            continue
        if group.steps < _LEAST_UNEVEN or 2 * group.even > events:
            # Work at even times is on a lattice by itself.
            continue
        latest = int(group.most.max()) + group.offset_ns
        step_ns, tick = _decimal(group.step) * info.unit_ns, "whole steps"
        if (float_ns := float_step_ns(latest, group.float_ns)) >= step_ns:
            step_ns, tick = float_ns, "32-bit floats"
        if step_ns <= max(2 * LEAST_TICK_NS, info.unit_ns):
            continue
        _, readings = survey.graph.contents.readings_of(clock)
        if np.gcd.reduce(readings * info.unit_ns) % step_ns:
            yield finding(
                "coarse-clock",
                "warning",
                clocks=(clock,),
                packets=[int(group.packet.min())],
                events=events,
                worst_ns=step_ns,
                selections=[EventSelection(clock, sequence=group.sequence)],
                parts=("on", "rounded_why", "rounded_fix"),
                sequence=group.sequence,
                tick=tick,
            )


def _decimal(step: int) -> int:
    """The largest power of ten that readings are multiples of: work at even times has others."""
    power = 1
    while step and step % (10 * power) == 0:
        power *= 10
    return power


def _of_ticks(
    survey: Survey, ticks_ns: dict[ClockId, float], tick: str, parts: tuple[str, ...]
) -> Iterator[Finding]:
    """Yield a finding about clocks with coarse ticks."""
    if ticks_ns:
        yield finding(
            "coarse-clock",
            clocks=tuple(ticks_ns),
            events=sum(survey.used[clock] for clock in ticks_ns),
            worst_ns=round(max(ticks_ns.values())),
            selections=all_of(ticks_ns),
            parts=parts,
            tick=tick,
        )


def _truncated(survey: Survey) -> Iterator[Finding]:
    error = survey.trace.truncated
    if error is None:
        return
    without_sequence = "sequence-scoped clock" in error.message
    yield finding(
        "sequence-clock-without-sequence" if without_sequence else "trace-truncated",
        packets=() if error.packet is None else (error.packet,),
        parts=() if _CUT_OFF in error.message else ("corrupt",),
        error=error,
    )
