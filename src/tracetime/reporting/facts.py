"""The facts of a report: the survey of the trace, the measured pairs, and those with a picture.

`page.py` writes them as HTML.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import Final

from tracetime.analysis.survey import Survey
from tracetime.clocks.ids import ClockId
from tracetime.doctor import Finding, findings_of
from tracetime.graph.clock_names import fold
from tracetime.reporting.file_places import FilePlaces
from tracetime.reporting.measure import ClockPair, Measured, PairFacts, measure
from tracetime.reporting.span_facts import SpanFacts, measure_spans
from tracetime.reporting.timeline import Histogram, Timeline
from tracetime.trace.events_table import Columns
from tracetime.trace.trace import Trace

MOST_PAIRS: Final = 10
"""Pairs with a picture: those with findings, events or discontinuities."""

LEAST_PAIRS: Final = 5
"""Pairs with a picture, if there are no more with findings, events or discontinuities.

So many also where pairs are left unmeasured: these are mostly alike."""

MOST_ALIKE: Final = 2
"""Pairs with a picture of one clock number on many sequences: they look alike."""

_MOST_POINTS: Final = 6000
"""Points of all curves together: each takes some 100 bytes of the file."""

MOST_FINDINGS: Final = 100
"""Findings on the page, the worst ones: nobody reads more."""

MOST_BINS: Final = 400
"""Bins of the picture of events over time: 2 pixels are the least that can be seen."""

MOST_ROWS: Final = 12
"""Clocks in the picture of events over time: as many as a screen is high."""


@dataclass(slots=True)
class Facts:
    """What the report says of a trace.

    Attributes:
        findings: the doctor's, worst first; they are numbered from 1.
        compared: (reference, clock) of all pairs.
        measured: the measured pairs; those with curves have a picture, in this order.
        histogram: events over time.
        names: of every clock.
        start_ns, end_ns: the span of the histogram, on the trace clock.
        places: when on trace time each packet is.
        spans: what is open about slices; None where all are of one clock.
        left_out: the clocks of pairs without a picture.
    """

    trace: Trace
    survey: Survey
    findings: list[Finding]
    compared: list[ClockPair]
    measured: Measured
    histogram: Histogram
    names: dict[ClockId, str]
    start_ns: int
    end_ns: int
    places: FilePlaces
    spans: SpanFacts | None
    left_out: list[str] = field(default_factory=list)

    @property
    def pictured(self) -> list[PairFacts]:
        """The pairs with a picture."""
        return [pair for pair in self.measured.pairs if pair.curves is not None]

    @property
    def events(self) -> int:
        """The number of events."""
        return int(self.survey.counted.events.sum())

    @property
    def has_length(self) -> bool:
        """Whether anything in the trace has a trace time."""
        return self.end_ns - self.start_ns > 1

    @property
    def is_healthy(self) -> bool:
        """Whether no finding is an error or a warning."""
        return all(finding.severity == "info" for finding in self.findings)


def gather(trace: Trace, tolerance_ns: int) -> Facts:
    """Read a trace, and return the facts of its report.

    Raises:
        TraceError: the trace cannot be read.
    """
    trace = trace.source
    timeline, places = Timeline(), FilePlaces()

    def watch(columns: Columns) -> None:
        timeline.add(columns)
        places.add(columns)

    survey = Survey(trace, tolerance_ns, watch)
    graph = survey.graph
    findings = [finding.with_names(graph.state.names) for finding in findings_of(survey)]
    info = survey.infos.get(survey.trace_clock)
    least = None
    if info is not None and info.first_ns is not None and info.last_ns is not None:
        least = info.first_ns, info.last_ns
    snapshots, times_ns = graph.contents.readings_of(survey.trace_clock)
    places.add_snapshots(survey.snapshot_packets[snapshots], times_ns)
    histogram = timeline.histogram(trace.machines, MOST_BINS, least, MOST_ROWS)
    if len(histogram.edges):
        start, end = int(histogram.edges[0]), int(histogram.edges[-1])
    else:
        start, end = least or (0, 1)
    names = fold(survey.infos, graph.name)
    compared = graph.contents.compared()
    measured = measure(survey, findings, names, compared)
    facts = Facts(
        trace,
        survey,
        findings,
        compared,
        measured,
        histogram,
        names,
        start,
        end,
        places,
        measure_spans(survey),
    )
    _choose_pictures(facts)
    return facts


def _choose_pictures(facts: Facts) -> None:
    """Compute the curves of the pairs that matter most, and name the clocks left out."""
    alike: dict[tuple[ClockId, str], int] = defaultdict(int)
    graph, trace_clock = facts.survey.graph, facts.survey.trace_clock
    chosen: list[PairFacts] = []
    at_most = LEAST_PAIRS if facts.measured.beyond else MOST_PAIRS
    left_out: dict[str, int] = defaultdict(int)
    for clock in facts.measured.beyond:
        left_out[facts.names[clock]] += 1
    for pair in facts.measured.pairs:
        most = MOST_ALIKE if pair.name != graph.name(pair.clock) else MOST_PAIRS
        matters = pair.findings or pair.events or pair.breaks
        full = len(chosen) >= (at_most if matters else LEAST_PAIRS)
        if full or alike[pair.reference, pair.name] >= most:
            left_out[pair.name] += 1
            continue
        alike[pair.reference, pair.name] += 1
        chosen.append(pair)
    for pair in chosen:
        span = _span(facts, pair) if pair.reference == trace_clock else None
        pair.curves = facts.survey.trace.clocks.curves(
            pair.reference,
            pair.clock,
            span,
            span[0] if span else None,
            _MOST_POINTS // len(chosen),
        )
    facts.left_out = [
        f"{n} of {name}" if "@seq*" in name else name for name, n in sorted(left_out.items())
    ]


def _span(facts: Facts, pair: PairFacts) -> tuple[int, int] | None:
    """The part of the trace that a picture over trace time shows; None for that of its evidence.

    Floor knows nothing of clocks that messages alone tie, and may place their events anywhere.
    """
    if pair.snapshots:
        return facts.start_ns, facts.end_ns
    groups = facts.survey.groups_of(pair.reference)
    if not groups:
        return None
    return min(group.low_ns for group in groups), max(group.high_ns for group in groups)
