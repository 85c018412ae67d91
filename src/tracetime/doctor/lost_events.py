"""Findings about events that have no trace time, but for clocks that ran backwards."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Final

from tracetime.analysis.rows import Group
from tracetime.analysis.survey import Survey
from tracetime.clocks.ids import FIRST_GLOBAL_CLOCK, FIRST_SEQUENCE_CLOCK, ClockId
from tracetime.doctor.finding import Finding, count, first_packets, names
from tracetime.doctor.machine_ties import tied_machines
from tracetime.doctor.trace_clock import FIX
from tracetime.errors import RESOLVED

_SEQUENCES: Final = range(FIRST_SEQUENCE_CLOCK, FIRST_GLOBAL_CLOCK)


def lost_events(survey: Survey) -> Iterator[Finding]:
    """Clocks that no snapshot has, or that are tied to nothing; values that do not fit."""
    tied = tied_machines(survey)
    yield from _unsnapshotted(survey, tied)
    yield from _without_trace_clock(survey)
    apart = [g for g in survey.of("no_path") if g.clock.machine in tied]
    fix = (
        f"Take a ClockSnapshot that holds both it and {survey.trace_clock}, or a clock that "
        "each is tied to. `tracetime clocks` shows what is tied to what."
    )
    for number, groups in _by_number(apart).items():
        clocks = _clocks(groups)
        yield Finding(
            "clock-not-tied",
            "error",
            f"{names(clocks)}: snapshots have it, but none lead to {survey.trace_clock}",
            clocks, first_packets(g.first_packet for g in groups), _events(groups), None,
            "A conversion goes from snapshot to snapshot, over clocks that they share, in at most "
            f"4 hops. No such path leads from clock {number} to the trace clock.",
            fix,
        )  # fmt: skip
    overflowed = survey.of("overflow")
    if overflowed:
        yield Finding(
            "timestamp-overflow",
            "error",
            f"{count(_events(overflowed), 'event')} at times that do not fit in int64 ns",
            _clocks(overflowed), first_packets(g.first_packet for g in overflowed),
            _events(overflowed), None,
            "Brought to the trace clock, these timestamps leave the range of 292 years that int64 "
            "nanoseconds have: they are corrupt, or the unit of their clock is wrong.",
            "Look at the raw timestamps (`tracetime convert`, status overflow) and at the clock's "
            "unit_multiplier_ns.",
        )  # fmt: skip


# long: three findings, and what each says
def _unsnapshotted(survey: Survey, tied: set[int]) -> Iterator[Finding]:
    groups = survey.of("unknown_source_clock")
    elsewhere, plain = [], []
    for group in groups:
        clock = group.clock
        if clock.clock in _SEQUENCES and (clock.clock, clock.machine) in survey.by_number:
            elsewhere.append(group)
        elif clock.machine not in tied:
            continue
        else:
            plain.append(group)
    for number, found in _by_number(elsewhere).items():
        others = _others(survey, found[0].clock)
        yield Finding(
            "sequence-clock-of-another-sequence",
            "error",
            f"{names(_clocks(found))}: snapshots have clock {number} on other sequences only "
            f"({names(others)})",
            _clocks(found), first_packets(g.first_packet for g in found), _events(found), None,
            "Clocks 64 to 127 are private to a packet sequence: the same number on two sequences "
            "is two clocks, and a snapshot on one says nothing of the other.",
            "Emit the clock's snapshot on each sequence that uses it, before its first event, or "
            "use a clock of 128 or above for all.",
        )  # fmt: skip
    # What was placed before trace time moved is another matter: see `trace_clock.py`.
    begin = survey.moved_at
    told = survey.counted
    rows = survey.of_machines_not_in(tied)
    rows = rows[(told.status[rows] != RESOLVED) | (told.last_packet[rows] >= begin)]
    apart = told.each(rows, survey.clocks)
    for found in _by_machine(apart).values():
        lost = any(survey.lost.get(g.clock) for g in found)
        yield Finding(
            "machine-not-synchronised",
            "error" if lost else "warning",
            f"machine {found[0].clock.machine}: nothing ties its clocks to {survey.trace_clock}",
            _clocks(found), first_packets(g.first_packet for g in found), _events(found), None,
            "The clocks of another machine are other clocks, whatever they are called. They are "
            "tied to those of the trace clock's machine by RemoteClockSync packets, and there are "
            "none: Perfetto takes the REALTIME of both to be one, or else their BOOTTIME, and "
            "drops what leads to neither. Nobody read that, so --policy tube gives these events no "
            "time." if not survey.trace_clock.machine else
            f"The trace clock is machine {survey.trace_clock.machine}'s: a snapshot of that machine"
            " made it so. RemoteClockSync ties the machine that it comes from to the trace "
            "clock's, so one from there ties nothing, and what led to the trace clock before does "
            "no more.",
            "Record with a relay (traced_relay) that sends RemoteClockSync, or convert each "
            "machine's trace alone." if not survey.trace_clock.machine else
            FIX,
        )  # fmt: skip
    for found in _by_number(plain).values():
        clocks = _clocks(found)
        fix = f"Let a ClockSnapshot hold {names(clocks)} together with {survey.trace_clock}"
        if clocks[0].clock in _SEQUENCES:
            fix += ", on the packet sequence of the events"
        yield Finding(
            "clock-without-snapshot",
            "error",
            f"{names(clocks)}: used by {count(_events(found), 'event')}, and in no snapshot",
            clocks, first_packets(g.first_packet for g in found), _events(found), None,
            "Only a snapshot says what a clock read when another one read something. Without one "
            "nothing is known of it, and Perfetto drops these events (clock_sync_failure).",
            fix + ".",
        )  # fmt: skip


def _without_trace_clock(survey: Survey) -> Iterator[Finding]:
    groups = survey.of("unknown_target_clock")
    if groups:
        yield Finding(
            "trace-clock-without-snapshot",
            "error",
            f"{survey.trace_clock} is the trace clock, and no snapshot has it",
            (survey.trace_clock, *_clocks(groups)),
            first_packets(g.first_packet for g in groups), _events(groups), None,
            "Every event is brought to the trace clock. Snapshots tie other clocks together, but "
            "none of them to that one.",
            "Let the snapshots hold the trace clock, or name one they hold as their "
            "primary_trace_clock.",
        )  # fmt: skip


def _others(survey: Survey, clock: ClockId) -> list[ClockId]:
    """The same number on other sequences, in snapshots."""
    alike = survey.by_number.get((clock.clock, clock.machine), [])
    return [other for other in alike if other != clock]


def _by_number(groups: list[Group]) -> dict[int, list[Group]]:
    """One finding a clock number: what goes wrong on one sequence mostly does on all."""
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
    return tuple(sorted({group.clock for group in groups}))


def _events(groups: list[Group]) -> int:
    return sum(group.events for group in groups)
