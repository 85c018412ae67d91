"""What a report tells: the trace surveyed once, its pairs measured, and the ones worth a picture.

No HTML and no figures here; `page.py` writes it down.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import Final

from tracetime.analysis.survey import Survey
from tracetime.clocks.ids import ClockId
from tracetime.doctor import Finding, findings_of
from tracetime.graph.clock_names import fold
from tracetime.reporting.measure import ClockPair, Measured, PairFacts, measure
from tracetime.reporting.timeline import Drawn, Timeline
from tracetime.trace import Trace

MOST_PAIRS: Final = 10
"""Pairs that get a picture, at most: those that have findings or events, or that broke."""

LEAST_PAIRS: Final = 5
"""Pairs about which there is nothing to tell only get one until there are so many.

Nor do others where there are more pairs than are measured: the first ones stand for those alike."""

MOST_ALIKE: Final = 2
"""Of one clock on many sequences."""

_MOST_POINTS: Final = 6000
"""Of all curves together: each takes some 100 bytes of the file."""

MOST_FINDINGS: Final = 100
"""That the page tells, at most; the worst."""

MOST_BINS: Final = 400
MOST_ROWS: Final = 12
"""Clocks in the picture of events over time."""


@dataclass(slots=True)
class Facts:
    """A trace as its report shows it.

    Attributes:
        findings: the doctor's, worst first; they are numbered from 1.
        compared: (hub, clock) of all pairs.
        measured: those in numbers; what has curves gets a picture, in this order.
        drawn: events over time.
        names: of every clock.
        start_ns, end_ns: what the timeline spans, on the trace clock.
    """

    trace: Trace
    survey: Survey
    findings: list[Finding]
    compared: list[ClockPair]
    measured: Measured
    drawn: Drawn
    names: dict[ClockId, str]
    start_ns: int
    end_ns: int
    left_out: list[str] = field(default_factory=list)

    @property
    def pictured(self) -> list[PairFacts]:
        """The pairs that get a picture."""
        return [pair for pair in self.measured.pairs if pair.curves is not None]

    @property
    def events(self) -> int:
        """How many events there are."""
        return int(self.survey.counted.events.sum())


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
    drawn = timeline.drawn(trace.machines, MOST_BINS, least, MOST_ROWS)
    if len(drawn.edges):
        start, end = int(drawn.edges[0]), int(drawn.edges[-1])
    else:
        start, end = least or (0, 1)
    names = fold(survey.infos, graph.name)
    compared = graph.compared()
    measured = measure(survey, findings, names, compared)
    facts = Facts(trace, survey, findings, compared, measured, drawn, names, start, end)
    _draw(facts)
    return facts


def _draw(facts: Facts) -> None:
    """Work out the curves of the pairs that matter, and say which were left out."""
    alike: dict[tuple[ClockId, str], int] = defaultdict(int)
    graph, home = facts.survey.graph, facts.survey.trace_clock
    chosen: list[PairFacts] = []
    at_most = LEAST_PAIRS if facts.measured.beyond else MOST_PAIRS
    folded: dict[str, int] = defaultdict(int)
    for clock in facts.measured.beyond:
        folded[facts.names[clock]] += 1
    for pair in facts.measured.pairs:
        most = MOST_ALIKE if pair.name != graph.name(pair.clock) else MOST_PAIRS
        dull = not (pair.findings or pair.events or pair.breaks)
        if len(chosen) >= (LEAST_PAIRS if dull else at_most) or alike[pair.hub, pair.name] >= most:
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
