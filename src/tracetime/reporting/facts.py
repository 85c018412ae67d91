"""The facts of a report: the survey of the trace, the measured pairs, and those with a picture.

`page.py` writes them as HTML.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import numpy.typing as npt

from tracetime.analysis.survey import Survey
from tracetime.analysis.trace_instants import limits_near
from tracetime.analysis.undecided_overlaps import UndecidedOverlaps, undecided_overlaps
from tracetime.clocks.ids import ClockId
from tracetime.clocks.int_arrays import is_any_of
from tracetime.doctor import Finding, findings_of
from tracetime.doctor.finding import NOTHING_TO_CHECK, faults, verdict
from tracetime.errors import PLACED, TraceError
from tracetime.graph.clock_names import fold
from tracetime.graph.values import Values
from tracetime.reporting.measure import ClockPair, HalfWidths, Measured, PairFacts, measure
from tracetime.reporting.timeline import Histogram, Timeline
from tracetime.text import printable
from tracetime.trace.events_table import Columns
from tracetime.trace.trace import Trace

# The facts on slices under error bars; `spans.py` writes them as HTML.

_MOST_PLACES: Final = 6
"""Places that are drawn: two screens."""


_LONGEST: Final = 60
"""Characters of a name: that of a process may be its whole command."""


@dataclass(frozen=True, slots=True)
class SpanFacts:
    """The comparison of a trace's slices.

    Attributes:
        found: None where there are too many clocks.
        names: of the slices of its places, by row: what each is, and whose.
    """

    found: UndecidedOverlaps | None
    names: dict[int, tuple[str, str]]


def measure_spans(survey: Survey) -> SpanFacts | None:
    """Compare the slices of a trace; None where no two are of different clocks.

    Raises:
        TraceError: the trace cannot be read.
    """
    placed = [clock for clock in survey.used if survey.used[clock] > survey.lost.get(clock, 0)]
    if len(placed) < 2:
        return None
    if len(placed) > survey.most_examined:
        return SpanFacts(None, {})
    ends = survey.trace.slice_ends()
    if ends is None:
        return None
    try:
        found = undecided_overlaps(ends, survey.trace_clock, _MOST_PLACES)
    except TraceError:
        # There may be no more tubes.
        return SpanFacts(None, {})
    if len(found.by_clock) < 2 and not found.left_out:
        return None
    rows = [side.row for place in found.places for side in (place.one, place.other)]
    listed = ends.table(np.array(rows, dtype=np.intp)).to_pylist()
    names = {}
    for row, one in zip(rows, listed, strict=True):
        name = one["name"] or "(no name)"
        owners = dict.fromkeys(one[of] for of in ("track_name", "thread_name", "process_name"))
        others = [printable(owner, _LONGEST) for owner in owners if owner and owner != name]
        names[row] = printable(name, _LONGEST), ", ".join(others)
    return SpanFacts(found, names)


_PER_BATCH: Final = 256
"""Events of a batch that are noted: closer ones fall on one pixel of the page."""


class FilePlaces:
    """Packets with a known trace time; another packet has the time of the last one before it."""

    def __init__(self) -> None:
        self._columns: list[tuple[Values, Values]] = []
        self._points: tuple[Values, Values] | None = None

    def add(self, columns: Columns) -> None:
        """Note the packets and times of some events of a batch."""
        status = columns["status"]
        rows = np.flatnonzero(is_any_of(status, PLACED))
        rows = rows[:: -(-len(rows) // _PER_BATCH) or 1]
        self._note(columns["packet"][rows].astype(np.int64), columns["trace_time"][rows])

    def add_snapshots(self, packets: npt.NDArray[np.uint64], times_ns: Values) -> None:
        """Note the packets of snapshots, and the readings of the trace clock in them."""
        self._note(packets.astype(np.int64), times_ns)

    def _note(self, packets: Values, times_ns: Values) -> None:
        self._columns.append((packets, times_ns))
        self._points = None

    def times_ns(self, packets: Values, otherwise_ns: int) -> Values:
        """Return the trace time (ns) of each packet; `otherwise_ns` where nothing is known."""
        if self._points is None:
            columns = [np.concatenate(column) for column in zip(*self._columns, strict=True)]
            noted, times = columns or (np.zeros(0, np.int64), np.zeros(0, np.int64))
            # Of one packet the last that was added counts: its snapshot, not an event.
            order = np.argsort(noted, kind="stable")
            self._points = noted[order], times[order]
        noted, times = self._points
        if not len(noted):
            return np.full(len(packets), otherwise_ns, dtype=np.int64)
        before: Values = times[np.maximum(np.searchsorted(noted, packets, side="right") - 1, 0)]
        return before


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
    """The facts of a trace that its report shows.

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
    def is_checked(self) -> bool:
        """Whether anything was found, or could have been: nothing can without snapshots, orders."""
        wrong = not self.is_healthy or bool(faults(self.findings))
        return wrong or self.survey.has_evidence

    @property
    def verdict(self) -> str:
        """The findings in a sentence, without its full stop."""
        return verdict(self.findings) if self.is_checked else NOTHING_TO_CHECK

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
    timeline, places = Timeline(), FilePlaces()

    def watch(columns: Columns) -> None:
        timeline.add(columns)
        places.add(columns)

    survey = Survey(trace, tolerance_ns, watch, place=True)
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
        # Time 0 is the start that `at` and `convert --from` take, unless that is left out.
        begun = _begun(survey, least)
        if begun is not None and histogram.edges[0] <= begun < histogram.edges[1]:
            histogram.edges[0] = begun
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


def _begun(survey: Survey, read: tuple[int, int] | None) -> int | None:
    """The start of the trace, as of `bounds_of`; read: the trace clock's first and last reading."""
    times = survey.counted.least_ns[is_any_of(survey.counted.status, PLACED)]
    if read is not None:
        first, last = limits_near(*read)
        times = np.append(times[(times >= first) & (times <= last)], read[0])
    return int(times.min()) if len(times) else None


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
            pair.reference, pair.clock, span, span[0] if span else None, _MOST_POINTS // len(chosen)
        )
        pair.bars = _bars_of(facts.survey, pair)
    facts.left_out = [
        f"{n} of {name}" if "@seq*" in name else name for name, n in sorted(left_out.items())
    ]


def _bars_of(survey: Survey, pair: PairFacts) -> HalfWidths:
    """The bars of a pair: those of its events on trace time; without any, of its picture."""
    curves = pair.curves
    assert curves is not None
    if survey.bars is not None:
        found = survey.bars.of([pair.clock])
        if found is not None:
            return HalfWidths(
                in_floats(found.median_ns), in_floats(found.at_most_ns), survey.trace_clock
            )
    return HalfWidths(curves.median_bar_ns, curves.drawn_bar_ns, None)


def in_floats(ns: int | None) -> float:
    """Half a bar's width as a float; NaN of one that is open."""
    return np.nan if ns is None else float(ns)


def _span(facts: Facts, pair: PairFacts) -> tuple[int, int] | None:
    """The span of a picture over trace time; None for the span of the pair's evidence.

    Floor knows nothing of clocks that messages alone tie, and may place their events anywhere.
    """
    if pair.snapshots:
        return facts.start_ns, facts.end_ns
    groups = facts.survey.groups_of(pair.reference)
    if not groups:
        return None
    return min(group.low_ns for group in groups), max(group.high_ns for group in groups)
