"""What a report tells: the trace surveyed once, its pairs measured, and the ones worth a picture.

No HTML and no figures here; `page.py` writes it down.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from tracetime.clocks import BUILTIN_IDS, ClockId
from tracetime.doctor import SEVERITIES, Finding, findings_of
from tracetime.doctor.survey import Survey
from tracetime.errors import ConversionError
from tracetime.graph.bounds import PairDiscontinuity
from tracetime.graph.curves import Curves, ppm_of
from tracetime.graph.shown import fold
from tracetime.graph.values import difference
from tracetime.perfetto.reader import Trace
from tracetime.report.timeline import Row, Timeline, Values

MOST_PAIRS: Final = 10
"""Pairs that get a picture, at most: those that have findings or events, or that broke."""

LEAST_PAIRS: Final = 5
"""Pairs about which there is nothing to tell only get one until there are so many."""

MOST_ALIKE: Final = 2
"""Of one clock on many sequences."""

_MOST_POINTS: Final = 6000
"""Of all curves together: each takes some 100 bytes of the file."""

_COARSE: Final = (BUILTIN_IDS["REALTIME_COARSE"], BUILTIN_IDS["MONOTONIC_COARSE"])

MOST_BINS: Final = 400


@dataclass(slots=True)
class PairFacts:
    """One pair in numbers.

    Attributes:
        hub, clock: what is compared with what.
        name: of the clock, shared by those that many sequences have alike.
        snapshots: how many both stand in.
        drift_ppm: of the clock against the hub, over its longest run; None where nothing is known.
        bar_ns: median half-width of the estimated bars.
        floor_ns: how far the offset moves from one snapshot to the next at most.
        events, lost: of the clock; how many of them have no trace time.
        findings: numbers of those that name the clock, from 1.
        breaks: how many discontinuities there are.
        curves: where it gets a picture.
    """

    hub: ClockId
    clock: ClockId
    name: str
    snapshots: int
    drift_ppm: float | None
    bar_ns: float
    floor_ns: float
    events: int
    lost: int
    findings: list[int]
    breaks: int
    curves: Curves | None = None


@dataclass(slots=True)
class Facts:
    """A trace as its report shows it.

    Attributes:
        findings: the doctor's, worst first; they are numbered from 1.
        pairs: measured; those with curves get a picture, in this order.
        unmeasured: clocks whose tube cannot be built, with the reason.
        edges, rows: of the timeline.
        names: of every clock.
        start_ns, end_ns: what the timeline spans, on the trace clock.
    """

    trace: Trace
    survey: Survey
    findings: list[Finding]
    pairs: list[PairFacts]
    unmeasured: list[tuple[ClockId, str]]
    edges: Values
    rows: list[Row]
    names: dict[ClockId, str]
    start_ns: int
    end_ns: int
    left_out: list[str] = field(default_factory=list)

    @property
    def pictured(self) -> list[PairFacts]:
        """The pairs that get a picture."""
        return [pair for pair in self.pairs if pair.curves is not None]

    @property
    def events(self) -> int:
        """How many events there are."""
        return sum(group.events for group in self.survey.groups)


def gather(trace: Trace, tolerance_ns: int) -> Facts:
    """Read a trace, and work out what its report tells.

    Raises:
        TraceError: the trace cannot be read.
    """
    timeline = Timeline()
    survey = Survey(trace, tolerance_ns, timeline.add)
    findings = findings_of(survey)
    graph = survey.graph
    home = survey.infos.get(survey.trace_clock)
    least = None
    if home is not None and home.first_ns is not None and home.last_ns is not None:
        least = home.first_ns, home.last_ns
    edges, rows = timeline.rows(trace.machines, MOST_BINS, least)
    if len(edges):
        start, end = int(edges[0]), int(edges[-1])
    else:
        start, end = least or (0, 1)
    names = fold(survey.infos, graph.name)
    pairs, unmeasured = _pairs(survey, findings, names)
    facts = Facts(trace, survey, findings, pairs, unmeasured, edges, rows, names, start, end)
    _draw(facts)
    return facts


def _pairs(
    survey: Survey, findings: list[Finding], names: dict[ClockId, str]
) -> tuple[list[PairFacts], list[tuple[ClockId, str]]]:
    tubes = survey.graph._tubes()
    told: dict[ClockId, list[int]] = defaultdict(list)
    for number, finding in enumerate(findings, 1):
        for clock in sorted(_clocks(finding)):
            told[clock].append(number)
    broken: dict[frozenset[ClockId], list[PairDiscontinuity]] = defaultdict(list)
    for d in survey.discontinuities:
        broken[frozenset((d.src, d.dst))].append(d)
    found, unmeasured = [], []
    for hub, clock in survey.graph.compared():
        try:
            pair = tubes.pair(hub, clock)
        except ConversionError as error:
            unmeasured.append((clock, str(error)))
            continue
        runs, r = pair.tube.runs, pair.tube.evidence.r
        drift = None
        if len(runs.slope) and int((runs.last - runs.first).max()) > 0:
            longest = int(np.argmax(runs.last - runs.first))
            drift = ppm_of(int(runs.slope[longest]), hub == pair.a)
        moved = np.abs(difference(r[1:], r[:-1]))
        found.append(
            PairFacts(
                hub, clock, names[clock], len(pair.snapshots), drift, pair.bar_ns,
                float(moved.max()) if len(moved) else 0.0,
                survey.used.get(clock, 0), survey.lost.get(clock, 0), told[clock],
                len(broken[frozenset((hub, clock))]),
            )
        )  # fmt: skip
    worst = {n: SEVERITIES.index(finding.severity) for n, finding in enumerate(findings, 1)}
    found.sort(
        key=lambda p: (
            min((worst[n] for n in p.findings), default=len(SEVERITIES)),
            not p.events,
            not p.breaks,
            p.clock.is_sequence_scoped,
            # Of what nobody uses, clocks of 4 ms steps say least, and those of one oscillator
            # less than those that drift.
            p.clock.clock in _COARSE,
            _driven_alike(survey, p),
            -p.floor_ns,
            -p.events,
            p.clock,
        )
    )
    return found, unmeasured


def _driven_alike(survey: Survey, pair: PairFacts) -> bool:
    """Whether one oscillator drives both clocks of a pair."""
    one, other = (survey.graph.domain(clock).oscillator for clock in (pair.hub, pair.clock))
    return one is not None and one == other


def _clocks(finding: Finding) -> set[ClockId]:
    return set(finding.clocks).union(*map(_clocks, finding.consequences))


def _draw(facts: Facts) -> None:
    """Work out the curves of the pairs that matter, and say which were left out."""
    alike: dict[tuple[ClockId, str], int] = defaultdict(int)
    graph, home = facts.survey.graph, facts.survey.trace_clock
    chosen: list[PairFacts] = []
    folded: dict[str, int] = defaultdict(int)
    for pair in facts.pairs:
        most = MOST_ALIKE if pair.name != graph.name(pair.clock) else MOST_PAIRS
        dull = not (pair.findings or pair.events or pair.breaks)
        if (
            len(chosen) >= (LEAST_PAIRS if dull else MOST_PAIRS)
            or alike[pair.hub, pair.name] >= most
        ):
            folded[pair.name] += 1
            continue
        alike[pair.hub, pair.name] += 1
        chosen.append(pair)
    for pair in chosen:
        at_home = pair.hub == home
        pair.curves = graph.curves(
            pair.hub,
            pair.clock,
            (facts.start_ns, facts.end_ns) if at_home else None,
            facts.start_ns if at_home else None,
            _MOST_POINTS // len(chosen),
        )
    facts.left_out = [
        f"{n} of {name}" if "@seq*" in name else name for name, n in sorted(folded.items())
    ]
