"""Findings about events without trace time, except those of clocks that ran backwards."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Final

from tracetime.analysis.groups import Group
from tracetime.analysis.survey import Survey
from tracetime.clocks.ids import FIRST_GLOBAL_CLOCK, FIRST_SEQUENCE_CLOCK, ClockId
from tracetime.doctor.catalogue import finding
from tracetime.doctor.finding import EventSelection, Finding, Severity, names
from tracetime.doctor.machines import tied_machines
from tracetime.errors import RESOLVED, TraceError

_SEQUENCES: Final = range(FIRST_SEQUENCE_CLOCK, FIRST_GLOBAL_CLOCK)


def lost_events(survey: Survey) -> Iterator[Finding]:
    """Yield findings about clocks without snapshots or path, and about values that do not fit."""
    tied = tied_machines(survey)
    yield from _unsnapshotted(survey, tied)
    yield from _without_trace_clock(survey)
    apart = [g for g in survey.of("no_path") if g.clock.machine in tied]
    for groups in _by_number(apart).values():
        yield _finding(
            "clock-not-tied",
            groups,
            None,
            _by_orders(survey, groups),
            trace_clock=survey.trace_clock,
        )
    overflowed = survey.of("overflow")
    if overflowed:
        yield _finding("timestamp-overflow", overflowed)


def _unsnapshotted(survey: Survey, tied: set[int]) -> Iterator[Finding]:
    groups = survey.of("unknown_source_clock")
    elsewhere: list[Group] = []
    plain: list[Group] = []
    early: list[Group] = []
    for group in groups:
        clock = group.clock
        is_read = clock in survey.infos
        if not is_read and clock.clock in _SEQUENCES and _others(survey, clock):
            elsewhere.append(group)
        elif clock.machine in tied:
            (early if is_read else plain).append(group)
    for number, found in _by_number(elsewhere).items():
        others = _others(survey, found[0].clock)
        yield _finding(
            "sequence-clock-of-another-sequence", found, number=number, others=names(others)
        )
    yield from _machines_apart(survey, tied)
    for some, parts in ((plain, ("never",)), (early, ("before", "later", "write_before"))):
        for found in _by_number(some).values():
            yield _finding(
                "clock-without-snapshot",
                found,
                None,
                (*parts, *_by_orders(survey, found)),
                trace_clock=survey.trace_clock,
            )


def _machines_apart(survey: Survey, tied: set[int]) -> Iterator[Finding]:
    """Findings of the machines whose clocks no snapshot ties to the trace clock."""
    # Events placed before the trace clock changed have another finding: see `machines.py`.
    begin = survey.moved_at
    counted = survey.counted
    rows = survey.of_machines_not_in(tied)
    rows = rows[(counted.status[rows] != RESOLVED) | (counted.last_packet[rows] >= begin)]
    apart = counted.each(rows, survey.clocks)
    machines = list(_by_machine(apart).values())
    # One clock beyond the limits, and the tube refuses the whole trace.
    too_far = _beyond_limits(survey, apart)
    for found in machines:
        lost = any(survey.lost.get(g.clock) for g in found)
        if (survey.graph.state.baked or survey.trace.baked_by) and not lost:
            # Perfetto's rule puts them where `bake` or `merge` has computed that they go.
            continue
        tie: tuple[str, ...] = ("messages_only", "by_messages", "use_messages", "by_tube")
        if too_far and _linked_by_orders(survey, found):
            tie = ("messages_only", "beyond_limits", "by_more_tubes")
        elif not too_far and _led_by_orders(survey, found):
            # Perfetto, which knows no other policy, drops them.
            lost = lost and survey.trace.has_remote_syncs
        else:
            tried = survey.trace.flows is not None or not survey.trace.has_remote_syncs
            tie = ("nothing", "no_time", "by_matching", *(() if tried else ("try_messages",)))
        yield _finding(
            "machine-not-synchronised",
            found,
            "error" if lost else "warning",
            (*tie, *_advice(survey)),
            machine=found[0].clock.machine,
            trace_clock=survey.trace_clock,
            trace_machine=survey.trace_clock.machine,
        )


def _advice(survey: Survey) -> tuple[str, str]:
    """The parts that say why machines are apart, and what helps."""
    if not survey.trace.has_remote_syncs:
        return "apart_why", "apart_fix"
    if survey.trace_clock.machine:
        return "other_why", "other_fix"
    return "host_why", "host_fix"


def _by_orders(survey: Survey, groups: list[Group]) -> tuple[str, ...]:
    placed = _has_orders(survey) and not _beyond_limits(survey, groups)
    return ("by_orders",) if placed and _led_by_orders(survey, groups) else ()


def _beyond_limits(survey: Survey, groups: list[Group]) -> bool:
    """Whether the ways to the trace clock, by orders, take more than the tube may."""
    if not _has_orders(survey):
        return False
    try:
        clocks = (group.clock for group in groups)
        survey.graph.tubes.expect(clocks, survey.trace_clock)
    except TraceError:
        return True
    return False


def _linked_by_orders(survey: Survey, groups: list[Group]) -> bool:
    """Whether orders link every group's clock to the trace clock, be it over many hops."""
    tubes, target = survey.graph.tubes, survey.trace_clock
    return all(tubes.are_linked(group.clock, target) for group in groups)


def _led_by_orders(survey: Survey, groups: list[Group]) -> bool:
    """Whether tubes lead from every group's clock to the trace clock, by orders."""
    tubes, target = survey.graph.tubes, survey.trace_clock
    return _has_orders(survey) and all(tubes.paths.leads(group.clock, target) for group in groups)


def _has_orders(survey: Survey) -> bool:
    return len(survey.graph.state.orders) > 0


def _without_trace_clock(survey: Survey) -> Iterator[Finding]:
    groups = survey.of("unknown_target_clock")
    if groups:
        yield finding(
            "trace-clock-without-snapshot",
            clocks=(survey.trace_clock, *_clocks(groups)),
            packets=(g.first_packet for g in groups),
            events=_events(groups),
            selections=of_groups(groups),
        )


def _finding(
    code: str,
    groups: list[Group],
    severity: Severity | None = None,
    parts: tuple[str, ...] = (),
    **values: object,
) -> Finding:
    """Return a finding about the events of some groups."""
    return finding(
        code,
        severity,
        clocks=_clocks(groups),
        packets=(group.first_packet for group in groups),
        events=_events(groups),
        worst_ns=None,
        selections=of_groups(groups),
        parts=parts,
        **values,
    )


def of_groups(groups: list[Group]) -> list[EventSelection]:
    """Select the events of some groups."""
    return [EventSelection(group.clock, group.reason) for group in groups]


def _others(survey: Survey, clock: ClockId) -> list[ClockId]:
    """Return the clocks of the same number on other sequences, in snapshots."""
    alike = survey.by_number.get((clock.clock, clock.machine), [])
    return [other for other in alike if other != clock]


def _by_number(groups: list[Group]) -> dict[int, list[Group]]:
    """Return groups by clock number: a fault on one sequence mostly is on all of them."""
    found: dict[int, list[Group]] = defaultdict(list)
    for group in groups:
        found[group.clock.clock].append(group)
    return found


def _by_machine(groups: list[Group]) -> dict[int, list[Group]]:
    found: dict[int, list[Group]] = defaultdict(list)
    for group in groups:
        found[group.clock.machine].append(group)
    return found


def _clocks(groups: list[Group]) -> tuple[ClockId, ...]:
    return tuple(sorted({group.clock for group in groups}, key=ClockId.order))


def _events(groups: list[Group]) -> int:
    return sum(group.events for group in groups)
