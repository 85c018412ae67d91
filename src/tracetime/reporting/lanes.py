"""Where on trace time each clock is wrong: a lane for each, with findings, jumps and lost events.

`strip.py` draws them across the top of the page. Places are shares of the trace's length, 0 to 1.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import numpy as np

from tracetime.clocks.ids import ClockId
from tracetime.doctor import SEVERITIES, Finding
from tracetime.graph.tube.curves import since
from tracetime.reporting.facts import MOST_FINDINGS, Facts

_MOST_LANES: Final = 10
"""Clocks with a lane: as many as leave room on a screen for what follows."""

_MOST_IN_ORDER: Final = 8
"""Lanes of a trace without errors and warnings: there is nothing to find on them."""

_MOST_ALIKE: Final = 64
"""Clocks of a lane whose snapshots are looked at: they are alike."""

_BESIDE: Final = 0.02
"""Marks this close are one: a number takes so much of the width."""

_APART: Final = 3
"""Bins without a lost event that end a stretch of them."""


class Mark(NamedTuple):
    """Findings at one place: their numbers, the worst first."""

    at: float
    severity: str
    numbers: tuple[int, ...]


class Zone(NamedTuple):
    """A stretch of a lane; `size_ns` is that of a jump within it."""

    start: float
    end: float
    size_ns: int | None = None


@dataclass(slots=True)
class Lane:
    """What is known of one clock, or of clocks that share a name, over the trace's time.

    Attributes:
        clocks: none in the lane of the trace itself.
        severity: of its worst finding; None without findings.
        covered: from the first to the last snapshot; None without snapshots.
        marks: the findings that have a place, by place.
        everywhere: numbers of the findings that have none.
        jumps, lost: zones of jumps, and stretches with events that have no trace time.
    """

    name: str
    clocks: list[ClockId]
    severity: str | None = None
    covered: Zone | None = None
    marks: list[Mark] = field(default_factory=list)
    everywhere: list[int] = field(default_factory=list)
    jumps: list[Zone] = field(default_factory=list)
    lost: list[Zone] = field(default_factory=list)


class Lanes(NamedTuple):
    """The lanes of a trace, the worst first; and of the others how many, and how many are wrong."""

    shown: list[Lane]
    others: int
    others_wrong: int


_Found = tuple[int, Finding]


def lanes(facts: Facts) -> Lanes:
    """Return the lanes of a trace."""
    survey, names = facts.survey, facts.names
    clocks_of: dict[str, list[ClockId]] = defaultdict(list)
    for clock in dict.fromkeys((survey.trace_clock, *survey.infos, *survey.used)):
        if clock.clock and (clock in survey.infos or clock in survey.used):
            clocks_of[names.get(clock) or survey.graph.name(clock)].append(clock)
    name_of = {clock: name for name, clocks in clocks_of.items() for clock in clocks}
    found: dict[str, list[_Found]] = defaultdict(list)
    sharing: dict[str, int] = {}
    for number, finding in enumerate(facts.findings[:MOST_FINDINGS], 1):
        for part in _with_consequences(finding):
            concerned = _named(part, survey.trace_clock, name_of)
            for name in concerned:
                found[name].append((number, part))
                if part.severity != "info":
                    sharing[name] = min(sharing.get(name, len(concerned)), len(concerned))
    # What few clocks have says more of a clock than what all have.
    every = [Lane("", []), *(Lane(name, clocks) for name, clocks in clocks_of.items())]
    jumps = _jumps(facts)
    for lane in every:
        lane.jumps = [zone for clock in lane.clocks for zone in jumps.get(clock, ())]
        severities = [SEVERITIES.index(part.severity) for _, part in found[lane.name]]
        lane.severity = SEVERITIES[min(severities)] if severities else None
    every.sort(key=lambda lane: (_severity(lane), sharing.get(lane.name, 0), *_rank(lane, facts)))
    most = _MOST_IN_ORDER if facts.is_healthy else _MOST_LANES
    shown = [lane for lane in every if lane.clocks or found[lane.name]][:most]
    _cover(facts, shown)
    for lane in shown:
        lane.marks, lane.everywhere = _marks(facts, found[lane.name])
        lane.lost = _lost(facts, lane.clocks)
    others = [lane for lane in every[len(shown) :] if lane.clocks]
    return Lanes(shown, len(others), sum(_is_wrong(lane) for lane in others))


def _is_wrong(lane: Lane) -> bool:
    return lane.severity in ("error", "warning")


def _severity(lane: Lane) -> int:
    return SEVERITIES.index(lane.severity) if _is_wrong(lane) else len(SEVERITIES)


def _rank(lane: Lane, facts: Facts) -> tuple[int, bool, bool, bool, int, str]:
    """Return the sort key of a lane among those that are as wrong."""
    survey = facts.survey
    return (
        -sum(survey.lost.get(clock, 0) for clock in lane.clocks),
        not lane.jumps,
        not lane.clocks,
        survey.trace_clock not in lane.clocks,
        -sum(survey.used.get(clock, 0) for clock in lane.clocks),
        lane.name,
    )


def _with_consequences(finding: Finding) -> Iterator[Finding]:
    yield finding
    for consequence in finding.consequences:
        yield from _with_consequences(consequence)


def _named(finding: Finding, trace_clock: ClockId, name_of: dict[ClockId, str]) -> set[str]:
    """Return the lanes of a finding; the trace clock's only where it names no other clock."""
    clocks = [clock for clock in finding.clocks if clock in name_of]
    return {name_of[c] for c in clocks if c != trace_clock or len(clocks) == 1} or {""}


def _at(facts: Facts, time_ns: float) -> float:
    """Return the place of a time after the start, ns; one outside is at the nearer end."""
    return min(max(time_ns / max(facts.end_ns - facts.start_ns, 1), 0.0), 1.0)


def _places(facts: Facts, packets: Iterable[int]) -> list[float]:
    numbers = np.fromiter(packets, dtype=np.int64)
    times = facts.places.times_ns(numbers, facts.start_ns)
    return [_at(facts, time) for time in since(times, facts.start_ns).tolist()]


def _cover(facts: Facts, shown: list[Lane]) -> None:
    """Find from where to where the clocks of some lanes have snapshots."""
    survey, start_ns = facts.survey, facts.start_ns
    wanted = {clock for lane in shown for clock in lane.clocks[:_MOST_ALIKE]}
    beside: dict[ClockId, ClockId] = {}
    for one, other in facts.compared:
        for clock, neighbour in ((other, one), (one, other)):
            if clock in wanted:
                beside.setdefault(clock, neighbour)
    for lane in shown:
        ends: list[int] = []
        for clock in wanted.intersection(lane.clocks) & beside.keys():
            snapshots, _, _ = survey.together(clock, beside[clock])
            packets = survey.snapshot_packets[snapshots].astype(np.int64)
            times = facts.places.times_ns(packets, start_ns)
            ends += (int(times.min()), int(times.max())) if len(times) else ()
        info = survey.infos.get(survey.trace_clock)
        if survey.trace_clock in lane.clocks and info is not None:
            ends += (ns for ns in (info.first_ns, info.last_ns) if ns is not None)
        if ends:
            limits = since(np.array([min(ends), max(ends)]), start_ns).tolist()
            lane.covered = Zone(_at(facts, limits[0]), _at(facts, limits[1]))


def _marks(facts: Facts, found: list[_Found]) -> tuple[list[Mark], list[int]]:
    placed: list[tuple[float, str, int]] = []
    everywhere: list[int] = []
    for number, finding in found:
        if finding.packets:
            placed += ((at, finding.severity, number) for at in _places(facts, finding.packets))
        elif number not in everywhere:
            everywhere.append(number)
    placed.sort()
    marks: list[Mark] = []
    for at, severity, number in placed:
        if marks and at - marks[-1].at < _BESIDE:
            last = marks[-1]
            worst = min(last.severity, severity, key=SEVERITIES.index)
            marks[-1] = Mark(last.at, worst, tuple(sorted({*last.numbers, number})))
        else:
            marks.append(Mark(at, severity, (number,)))
    seen = {number for mark in marks for number in mark.numbers}
    return marks, [number for number in everywhere if number not in seen]


def _jumps(facts: Facts) -> dict[ClockId, list[Zone]]:
    """Return the jumps of the pictures against the trace clock: their zones are exact."""
    return {
        pair.clock: [
            Zone(_at(facts, b.start), _at(facts, b.end), sum(b.size_ns) // 2)
            for b in pair.curves.breaks
            if b.size_ns is not None
        ]
        for pair in facts.pictured
        if pair.curves is not None and pair.reference == facts.survey.trace_clock
    }


def _lost(facts: Facts, clocks: list[ClockId]) -> list[Zone]:
    """Return the stretches with lost events, where those of the clock's number are all its own."""
    edges, zones = facts.histogram.edges, []
    lost = facts.survey.lost
    for row in facts.histogram.rows:
        key = row.clock.clock, row.clock.machine
        ours = {c for c in lost if (c.clock, c.machine) == key}
        if not ours or not ours <= set(clocks):
            continue
        bins = np.flatnonzero(row.unresolved)
        for part in np.split(bins, np.flatnonzero(np.diff(bins) > _APART) + 1) if len(bins) else ():
            start, end = since(edges[[part[0], part[-1] + 1]], facts.start_ns).tolist()
            zones.append(Zone(_at(facts, start), _at(facts, end)))
    return zones
