"""Findings about the messages that relate the clocks of several machines."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Final

import numpy as np

from tracetime.analysis.survey import Survey
from tracetime.clocks.ids import BUILTIN_IDS, ClockId
from tracetime.clocks.snapshot import INT64_MIN
from tracetime.columns.arrays import known_of, median
from tracetime.doctor.catalogue import finding
from tracetime.doctor.finding import EventSelection, Finding, all_of
from tracetime.errors import ConversionError
from tracetime.graph.tube.messages import equated
from tracetime.graph.tube.pair import Pair
from tracetime.graph.values import difference, distances
from tracetime.text import count


def tied_machines(survey: Survey) -> set[int]:
    """Return the trace clock's machine, and those that snapshots lead to from it."""
    linked: dict[int, set[int]] = defaultdict(set)
    ever_0 = _ever_0(survey)
    for one, *others in survey.graph.contents.mixed_series():
        for other in others:
            known = other.machine == one.machine or other.machine in linked[one.machine]
            if not known and not ({one, other} <= ever_0 and _equated(survey, one, other)):
                linked[one.machine].add(other.machine)
                linked[other.machine].add(one.machine)
    tied, ends = {survey.trace_clock.machine}, [survey.trace_clock.machine]
    while ends:
        further = linked[ends.pop()] - tied
        tied |= further
        ends += further
    return tied


def _equated(survey: Survey, ours: ClockId, theirs: ClockId) -> bool:
    """Return whether only the rule that equates them, at 0, relates clocks of two machines."""
    _, one, other = survey.graph.shared(ours, theirs)
    return bool(equated(ours, theirs, one, other).all())


def _ever_0(survey: Survey) -> set[ClockId]:
    """Return the clocks that read 0 in any snapshot."""
    which, values = survey.graph.contents.every_reading()
    clocks = survey.graph.contents.lists().clocks
    return {clocks[k] for k in set(which[values == 0].tolist()) if k >= 0}


_SAMPLES: Final = 512
"""A median needs no more."""
_MACHINES: Final = 64
"""Each machine takes a tube, so their number is limited."""


def machines(survey: Survey) -> Iterator[Finding]:
    """Yield findings about contradictory messages, and about machines that round trips limit."""
    yield from _unusable(survey)
    yield from _round_trips(survey)


def _unusable(survey: Survey) -> Iterator[Finding]:
    by_machine = defaultdict(list)
    for found in survey.trace.unused_bounds:
        by_machine[found.clock.machine].append(found)
    events = _events(survey) if by_machine else {}
    bounded = {clock.machine for pair in _bounded(survey) for clock in pair}
    for machine, those in by_machine.items():
        clocks = tuple(one.clock for one in those)
        unused, used = sum(one.unused for one in those), sum(one.used for one in those)
        lost = machine not in bounded
        used_by = events[machine]
        yield finding(
            "machine-sync-unusable",
            "error" if lost and used_by else "warning",
            clocks=clocks,
            packets=(one.packet for one in those),
            events=used_by,
            selections=_all_of(survey, machine),
            parts=("no_others",) if lost else (),
            machine=machine,
            unused=unused,
            bounds=count(unused + used, "bound"),
        )


def _round_trips(survey: Survey) -> Iterator[Finding]:
    """Yield a finding for each machine that messages bound, about its best reference clock.

    If there are very many, for those with the most events.
    """
    events = _events(survey)
    bounded = {clock.machine for pair in _bounded(survey) for clock in pair if clock.machine}
    looked_at = set(sorted(bounded, key=lambda machine: (-events[machine], machine))[:_MACHINES])
    best: dict[int, tuple[bool, int, Pair, ClockId]] = {}
    for ours, theirs in _bounded(survey):
        if theirs.machine not in looked_at:
            continue
        try:
            pair = survey.graph.tubes.pair(ours, theirs)
        except ConversionError:
            continue
        rank = ours != survey.trace_clock, _usual_bar(survey, pair, theirs), pair, ours
        if theirs.machine not in best or rank[:2] < best[theirs.machine][:2]:
            best[theirs.machine] = rank
    for machine, (_, bar_ns, pair, ours) in best.items():
        # Where bars are wider than that, drift between messages is the larger part.
        if pair.half_width_ns is None or bar_ns > 2 * pair.half_width_ns:
            continue
        theirs = pair.b if pair.a == ours else pair.a
        yield finding(
            "round-trip-limits",
            "warning" if events[machine] and bar_ns > survey.tolerance_ns else "info",
            clocks=(ours, theirs),
            events=events[machine],
            selections=_all_of(survey, machine),
            worst_ns=bar_ns,
            machine=machine,
            theirs=theirs,
        )


def _usual_bar(survey: Survey, pair: Pair, clock: ClockId) -> int:
    """Return the median half-width of bars over a clock's events and the messages, ns."""
    a = pair.tube.evidence.a
    first, last = int(a[0]), int(a[-1])
    backwards = clock == pair.b
    groups = survey.groups_of(clock)
    if groups:
        ends = [min(g.low_ns for g in groups), max(g.high_ns for g in groups)]
        if backwards:
            there = pair.tube.convert(np.array(ends), inverse=True)
            known = there.earliest != INT64_MIN
            ends = np.where(known, there.earliest, there.estimate).tolist()
        first, last = min(first, ends[0]), max(last, ends[1])
    steps = np.arange(_SAMPLES, dtype=np.int64)
    bars = pair.tube.convert(first + (last - first) // (_SAMPLES - 1) * steps)
    # A bar with an open side is wider than any other.
    return int(median(np.floor(difference(bars.latest, bars.earliest) / 2)))


def _bounded(survey: Survey) -> list[tuple[ClockId, ClockId]]:
    """Return the pairs of clocks, a host's and a client's, that messages bound."""
    return survey.graph.state.between.pairs()


def _all_of(survey: Survey, machine: int) -> tuple[EventSelection, ...]:
    """Select the events of a machine."""
    return all_of(clock for clock in survey.used if clock.machine == machine)


def _events(survey: Survey) -> dict[int, int]:
    """Return how many events each machine has."""
    found: dict[int, int] = defaultdict(int)
    for clock, events in survey.used.items():
        found[clock.machine] += events
    return found


# Findings about a trace clock that changed to another machine's clock.

MOVED: Final = "trace-clock-moved"
_TRACE_FILE: Final = BUILTIN_IDS["TRACE_FILE"]


def moved(survey: Survey) -> Iterator[Finding]:
    """Yield a finding about events converted before the trace clock changed, and stray messages."""
    moves = survey.trace.trace_clock_moves
    late = [move for move in moves if move.is_late]
    now = survey.trace_clock
    before_last: list[tuple[int, int | None]] = [(0, late[-1].packet - 1)] if late else []
    events = survey.count_placed(before_last) if late else 0
    stray = survey.trace.n_stray_syncs
    if not events and not stray:
        return
    tied = tied_machines(survey)
    # Messages of the trace clock's own machine do no harm if all else is related without them.
    if not events and stray == survey.trace.n_own_syncs and not _any_beyond(survey, tied):
        return
    before = list(dict.fromkeys(move.before for move in late if move.before != now))
    worst_ns = _apart(survey, [clock for clock in before if clock.machine in tied])
    applying = {
        "often": len(moves) > 1,
        "in_the_end": len(moves) > 1,
        "unknown": events and worst_ns is None,
        "known": events and worst_ns is not None,
        "stray": stray,
    }
    yield finding(
        MOVED,
        "error" if events and (worst_ns or 0) > survey.tolerance_ns else "warning",
        clocks=tuple(dict.fromkeys((*before, now))),
        packets=(move.packet for move in moves),
        events=events,
        selections=[EventSelection(placed_in=before_last)],
        worst_ns=worst_ns,
        parts=(part for part, applies in applying.items() if applies),
        first=moves[0].before,
        now=now,
        times=len(moves),
        readings=count(stray, "RemoteClockSync reading"),
        machine=now.machine,
    )


def _any_beyond(survey: Survey, tied: set[int]) -> bool:
    """Return whether any machine outside of `tied` has events."""
    return len(survey.of_machines_not_in(tied)) > 0


def _apart(survey: Survey, clocks: Iterable[ClockId]) -> int | None:
    """Return how far some clocks are from the trace clock at most, ns; None if unknown."""
    found = []
    for clock in clocks:
        info = survey.infos.get(clock)
        # A rule equates TRACE_FILE with BOOTTIME: it says nothing about two machines.
        if info is None or clock.clock == _TRACE_FILE:
            continue
        ends = np.array([info.first_ns, info.last_ns], dtype=np.int64)
        try:
            there = survey.trace.clocks.convert(ends, clock, survey.trace_clock, errors="mask")
        except ConversionError:
            continue
        times, known = known_of(there)
        found += distances(ends[known], times[known]).tolist()
    return max(found, default=None)
