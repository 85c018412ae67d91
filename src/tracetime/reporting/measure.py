"""Measures of pairs of clocks; of very many pairs, only of those that matter most."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np

from tracetime.analysis.survey import Survey
from tracetime.clocks.families import COARSE
from tracetime.clocks.ids import ClockId
from tracetime.doctor import SEVERITIES, Finding
from tracetime.errors import ConversionError
from tracetime.graph.curves import Curves, ppm_of
from tracetime.graph.values import difference

MOST_MEASURED: Final = 300
"""Pairs that are measured: each takes a tube."""

_FIRST_OF_A_NAME: Final = 20
"""Clocks of one name that come before all others of it, so that other names are measured, too."""

ClockPair = tuple[ClockId, ClockId]


class HalfWidths(NamedTuple):
    """The bars that the page tells of a pair, ns; NaN of open ones.

    Attributes:
        median, most: half of the median bar, and of the widest.
        on: the clock on which they are those of events; None: they are those of the picture.
    """

    median: float
    most: float
    on: ClockId | None


@dataclass(slots=True)
class PairFacts:
    """The measures of one pair.

    Attributes:
        reference, clock: the two clocks; the second is measured against the first.
        name: of the clock; clocks with one number on many sequences share it.
        snapshots: how many have both clocks.
        drift_ppm: of the clock against the reference, over its longest run; None if unknown.
        bar_ns: median half-width of the estimated bars; NaN where one side of them is open.
        floor_ns: the largest change of the offset from one snapshot to the next.
        events, lost: events of the clock, and those of them without a trace time.
        findings: numbers, from 1, of the findings that name the clock.
        breaks: how many discontinuities there are.
        curves: what its picture draws; None if it has none.
        bars: what is told of its bars; None where it has no picture.
    """

    reference: ClockId
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
    bars: HalfWidths | None = None


class Measured(NamedTuple):
    """Pairs of clocks, measured or not.

    Attributes:
        pairs: those that are measured, those that matter most first.
        without: clocks whose tube cannot be built, with the reason.
        beyond: clocks of the pairs that are not measured, because there are too many.
    """

    pairs: list[PairFacts]
    without: list[tuple[ClockId, str]]
    beyond: list[ClockId]


def measure(
    survey: Survey, findings: list[Finding], names: dict[ClockId, str], compared: list[ClockPair]
) -> Measured:
    """Measure pairs: at most `MOST_MEASURED`, and no more than the limit of tubes allows.

    Args:
        findings: the doctor's, worst first.
        names: of every clock, in the page.
        compared: (reference, clock) of all pairs.
    """
    tubes = survey.graph.tubes
    ranks = _Ranks(survey, findings)
    measured, without = [], []
    first = _first(compared, names, ranks)
    beyond = [clock for _, clock in first[MOST_MEASURED:]]
    for reference, clock in first[:MOST_MEASURED]:
        if not tubes.pairs.has_room(reference, clock):
            beyond.append(clock)
            continue
        try:
            pair = tubes.pair(reference, clock)
        except ConversionError as error:
            without.append((clock, str(error)))
            continue
        runs, r = pair.tube.runs, pair.tube.evidence.r
        drift = None
        # Messages of one direction leave every rate open.
        if not pair.is_one_sided and int((runs.last - runs.first).max()) > 0:
            longest = int(np.argmax(runs.last - runs.first))
            drift = ppm_of(int(runs.slope[longest]), reference == pair.a)
        moved = np.abs(difference(r[1:], r[:-1]))
        measured.append(
            PairFacts(
                reference,
                clock,
                names[clock],
                len(pair.snapshots),
                drift,
                pair.known_bar_ns,
                float(moved.max()) if len(moved) else 0.0,
                survey.used.get(clock, 0),
                survey.lost.get(clock, 0),
                ranks.findings[clock],
                ranks.broken[frozenset((reference, clock))],
            )
        )
    measured.sort(key=lambda pair: ranks.of_measured(pair, survey))
    return Measured(measured, without, beyond)


def _first(compared: list[ClockPair], names: dict[ClockId, str], ranks: _Ranks) -> list[ClockPair]:
    """Order the pairs by when to measure them; a few of each name come before more of any."""
    if len(compared) <= MOST_MEASURED:
        return compared
    alike = Counter[str]()
    first: list[ClockPair] = []
    late: list[ClockPair] = []
    for pair in sorted(compared, key=ranks.of):
        name = names[pair[1]]
        alike[name] += 1
        (first if alike[name] <= _FIRST_OF_A_NAME else late).append(pair)
    return first + late


class _Ranks:
    """The order of pairs by how much they matter, as far as is known before they are measured.

    Attributes:
        findings: numbers of the findings that name a clock.
        broken: how many discontinuities two clocks have.
    """

    def __init__(self, survey: Survey, findings: list[Finding]) -> None:
        self.findings: dict[ClockId, list[int]] = defaultdict(list)
        for number, finding in enumerate(findings, 1):
            for clock in _clocks(finding):
                self.findings[clock].append(number)
        by_pair = survey.discontinuities.by_pair().items()
        self.broken = Counter({frozenset(pair): len(found) for pair, found in by_pair})
        self._used = survey.used
        self._severities = [SEVERITIES.index(finding.severity) for finding in findings]

    def of(self, pair: ClockPair) -> tuple[Any, ...]:
        """Return the sort key of a pair that is not measured yet."""
        events = self._used.get(pair[1], 0)
        breaks = self.broken[frozenset(pair)] if self.broken else 0
        return (*self._of(pair[1], events, breaks), -events)

    def of_measured(self, pair: PairFacts, survey: Survey) -> tuple[Any, ...]:
        """Return the sort key of a measured pair."""
        one, other = (
            survey.graph.domain(clock).oscillator for clock in (pair.reference, pair.clock)
        )
        return (
            *self._of(pair.clock, pair.events, pair.breaks),
            # Clocks of one oscillator do not drift against each other.
            one is not None and one == other,
            -pair.floor_ns,
            -pair.events,
            pair.clock,
        )

    def _of(self, clock: ClockId, events: int, breaks: int) -> tuple[Any, ...]:
        findings = self.findings.get(clock)
        return (
            # The first finding is the worst.
            self._severities[findings[0] - 1] if findings else len(SEVERITIES),
            not events,
            not breaks,
            clock.is_sequence_scoped,
            # Of clocks without events, those with steps of 4 ms matter least.
            clock.clock in COARSE,
        )


def _clocks(finding: Finding) -> set[ClockId]:
    return set(finding.clocks).union(*map(_clocks, finding.consequences))
