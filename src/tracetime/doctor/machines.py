"""Findings about the messages that relate the clocks of several machines."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Final

import numpy as np

from tracetime.analysis.survey import Survey
from tracetime.clocks.ids import ClockId
from tracetime.clocks.snapshot import INT64_MIN
from tracetime.columns.arrays import median
from tracetime.doctor.catalogue import finding
from tracetime.doctor.finding import EventSelection, Finding, all_of
from tracetime.errors import ConversionError
from tracetime.graph.tube.pair import Pair
from tracetime.graph.values import difference
from tracetime.text import count

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
