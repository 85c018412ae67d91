"""What is wrong with the clocks of a trace, how much it matters, and what to do about it.

`diagnose` reads a trace twice, for its snapshots and then for its events, and returns findings,
worst first. Each kind of finding has a stable code and a page in docs/findings.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain
from typing import Final

from tracetime.analysis.survey import MOST_EXAMINED, Survey
from tracetime.doctor.catalogue import CATALOGUE, Row, finding, told
from tracetime.doctor.clusters import clusters
from tracetime.doctor.contradictions import late_wakings
from tracetime.doctor.drift import apart, floor_cost, rate_changes, rates, unproven
from tracetime.doctor.exchanges import exchanged
from tracetime.doctor.far_events import far_events
from tracetime.doctor.finding import (
    SEVERITIES,
    EventSelection,
    Finding,
    Severity,
    all_of,
    faults,
    first_packets,
    names,
    rank,
)
from tracetime.doctor.jumps import jumps
from tracetime.doctor.lost_events import lost_events
from tracetime.doctor.machines import machines, moved
from tracetime.doctor.nesting import nested
from tracetime.doctor.off_cpu import off_cpu
from tracetime.doctor.orders import messages
from tracetime.doctor.other_clock import other_clocks, reused_sequences
from tracetime.doctor.placement import placement
from tracetime.doctor.recordings import recordings
from tracetime.doctor.structure import structure
from tracetime.text import count, printable
from tracetime.trace.notes import Note
from tracetime.trace.trace import Trace, check_trace

__all__ = ["SEVERITIES", "TOLERANCE_NS", "Finding", "Severity", "diagnose"]

TOLERANCE_NS: Final = 1_000_000

MOST_ALIKE: Final = 50
"""So many findings of one code and severity are listed one by one: nobody reads more."""


def diagnose(trace: Trace, tolerance_ns: int = TOLERANCE_NS) -> list[Finding]:
    """Find what is wrong with the clocks of a trace.

    Args:
        trace: as `open_trace` returns it; with `partial`, a truncated trace is a finding.
        tolerance_ns: by how much events may be misplaced before that is an error.

    Returns:
        Findings, worst first, with consequences nested under their cause. More than 50 of one code
        and severity are merged into one.

    Raises:
        UsageError: the tolerance is negative, or the trace is not open.
        TraceError: nothing of the trace can be read.
    """
    check_trace(trace)
    return findings_of(Survey(trace, tolerance_ns))


def findings_of(survey: Survey) -> list[Finding]:
    """Return what `diagnose` finds, from an existing survey of the trace.

    Raises:
        TraceError: nothing of the trace could be read.
    """
    truncated = survey.trace.truncated
    nothing = not len(survey.counted.key) and not survey.infos
    # A file that ends within its first packet is still a trace.
    if truncated is not None and truncated.packet is None and nothing:
        raise truncated
    found = merged(nested(list(_every(survey)), survey), survey)
    return sorted(chain(found, within(survey.trace.inputs(), survey.tolerance_ns)), key=rank)


def within(inputs: Iterable[tuple[str, Trace]], tolerance_ns: int) -> Iterator[Finding]:
    """Yield what is wrong within each file of several, which has its clocks and packets alone."""
    for name, trace in inputs:
        found = findings_of(Survey(trace, tolerance_ns))
        names = trace.clocks.names
        for one in found:
            if one.severity != "info" or faults([one]):
                yield _in_file(one.with_names(names), f"{printable(name)}: ")


def _in_file(found: Finding, name: str) -> Finding:
    return replace(
        found,
        title=f"{name}{found.title}",
        clocks=(),
        packets=(),
        selections=(),
        consequences=tuple(_in_file(one, "") for one in found.consequences),
    )


def _every(survey: Survey) -> Iterator[Finding]:
    checks = (
        recordings,
        lost_events,
        moved,
        structure,
        exchanged,
        jumps,
        noted,
        rates,
        rate_changes,
        apart,
        unproven,
        floor_cost,
        far_events,
        clusters,
        other_clocks,
        reused_sequences,
        off_cpu,
        placement,
        machines,
        late_wakings,
        messages,
        unexamined,
    )
    return chain.from_iterable(check(survey) for check in checks)


def noted(survey: Survey) -> Iterator[Finding]:
    """Yield a finding for each note whose row of the catalogue has kinds."""
    for row in CATALOGUE.values():
        if row.kinds:
            trace = survey.trace
            counted = (note for note in survey.backward if note.code == row.code)
            for note in chain(trace.notes(row.code), trace.read_notes(row.code), counted):
                yield _noted(survey, row, note)


def _noted(survey: Survey, row: Row, note: Note) -> Finding:
    kind = row.kinds[note.kind]
    is_beyond = (note.size_ns or 0) > survey.tolerance_ns
    events = note.events
    selections: tuple[EventSelection, ...] = ()
    if events is None:
        events = sum(survey.used.get(clock, 0) for clock in note.clocks)
        selections = all_of(note.clocks)
    elif note.places is not None:
        readings, packets = note.places
        selections = (EventSelection(note.clocks[0], readings=readings, packets=packets),)
    return finding(
        row.code,
        (kind.beyond if is_beyond else None) or kind.severity,
        clocks=note.clocks,
        packets=note.packets,
        events=events,
        worst_ns=note.size_ns,
        parts=kind.parts,
        selections=selections,
        kind=note.kind,
        kind_why=kind.why,
        kind_fix=kind.fix,
        **note.values,
    )


def unexamined(survey: Survey) -> Iterator[Finding]:
    """Yield a finding about jumps, orders and loops not examined, for too many clocks."""
    left, allowed = survey.unexamined, survey.most_examined
    parts = ["unseen"] if left else ["order"] if survey.order_unexamined else []
    if survey.loops_unexamined:
        parts += ["also", "loops"] if parts else ["loops"]
    if not parts:
        return
    if allowed < MOST_EXAMINED:
        parts.append("allow_more")
    yield finding(
        "clocks-not-examined",
        clocks=left,
        events=sum(survey.used.get(clock, 0) for clock in left),
        selections=all_of(left),
        parts=parts,
        left=count(len(left), "clock"),
        allowed=allowed,
        most=MOST_EXAMINED,
    )


def merged(findings: Iterable[Finding], survey: Survey) -> list[Finding]:
    """Return findings and consequences, told, with more than `MOST_ALIKE` that are alike as one."""
    alike: dict[tuple[str, str], list[Finding]] = defaultdict(list)
    for one in findings:
        alike[one.code, one.severity].append(one)
    result = []
    words = survey.trace.format
    for those in alike.values():
        if len(those) > MOST_ALIKE:
            result.append(_one(those, survey))
        else:
            result += [
                told(replace(one, consequences=tuple(merged(one.consequences, survey))), words)
                if len(one.consequences) > MOST_ALIKE
                else told(one, words)
                for one in those
            ]
    return result


def _one(those: list[Finding], survey: Survey) -> Finding:
    """Return the worst of some findings, with the clocks and events of all of them."""
    those = sorted(those, key=rank)
    below = merged(chain.from_iterable(one.consequences for one in those), survey)
    worst = told(replace(those[0], consequences=tuple(below)), survey.trace.format)
    shared = set(worst.clocks).intersection(*(one.clocks for one in those))
    every = dict.fromkeys(clock for one in those for clock in one.clocks)
    own = [clock for clock in every if clock not in shared] or list(every)
    of = f"{names(own)}: " if own else ""
    # Findings about one clock may concern the same events.
    affected = sum(survey.used.get(clock, 0) for clock in every)
    return replace(
        worst,
        title=f"{of}{len(those):,} findings alike, the worst: {worst.title}",
        clocks=tuple(sorted(every, key=lambda clock: clock.order())),
        packets=first_packets(chain.from_iterable(one.packets for one in those)),
        events=min(sum(one.events for one in those), affected) if every else worst.events,
        worst_ns=max((one.worst_ns for one in those if one.worst_ns is not None), default=None),
        why=f"Of the worst of them: {worst.why}",
        selections=tuple(chain.from_iterable(one.selections for one in those)),
    )
