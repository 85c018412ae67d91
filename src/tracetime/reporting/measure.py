"""The pairs of clocks in numbers: those that matter most, where there are very many."""

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
from tracetime.graph.tube.curves import Curves, ppm_of
from tracetime.graph.values import difference

MOST_MEASURED: Final = 300
"""For so many pairs a tube is made, at most."""

_FIRST_ALIKE: Final = 20
"""So many clocks of one name, alike on many sequences, go before other names' clocks."""

ClockPair = tuple[ClockId, ClockId]


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


class Measured(NamedTuple):
    """Pairs of clocks, measured or not.

    Attributes:
        pairs: in numbers, those that matter most first.
        without: clocks whose tube cannot be built, with the reason.
        beyond: clocks of pairs that nobody measured: there were too many.
    """

    pairs: list[PairFacts]
    without: list[tuple[ClockId, str]]
    beyond: list[ClockId]


def measure(
    survey: Survey, findings: list[Finding], names: dict[ClockId, str], compared: list[ClockPair]
) -> Measured:
    """Measure pairs, `MOST_MEASURED` of them at most, and no more than tubes may be made.

    Args:
        findings: the doctor's, worst first.
        names: of every clock, as it is shown.
        compared: (hub, clock) of all pairs.
    """
    tubes = survey.graph._parts.tubes
    ranks = _Ranks(survey, findings)
    found, without = [], []
    first = _first(compared, names, ranks)
    beyond = [clock for _, clock in first[MOST_MEASURED:]]
    for hub, clock in first[:MOST_MEASURED]:
        if not tubes.has_room(hub, clock):
            beyond.append(clock)
            continue
        try:
            pair = tubes.pair(hub, clock)
        except ConversionError as error:
            without.append((clock, str(error)))
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
                survey.used.get(clock, 0), survey.lost.get(clock, 0), ranks.told[clock],
                ranks.broken[frozenset((hub, clock))],
            )
        )  # fmt: skip
    found.sort(key=lambda pair: ranks.of_measured(pair, survey))
    return Measured(found, without, beyond)


def _first(compared: list[ClockPair], names: dict[ClockId, str], ranks: _Ranks) -> list[ClockPair]:
    """The pairs, those to be measured first; a few of each name before more of any."""
    if len(compared) <= MOST_MEASURED:
        return compared
    alike = Counter[str]()
    first: list[ClockPair] = []
    late: list[ClockPair] = []
    for pair in sorted(compared, key=ranks.of):
        name = names[pair[1]]
        alike[name] += 1
        (first if alike[name] <= _FIRST_ALIKE else late).append(pair)
    return first + late


class _Ranks:
    """What is known of pairs before they are measured, and which of them matters more.

    Attributes:
        told: numbers of the findings that name a clock.
        broken: how many discontinuities two clocks have.
    """

    def __init__(self, survey: Survey, findings: list[Finding]) -> None:
        self.told: dict[ClockId, list[int]] = defaultdict(list)
        for number, finding in enumerate(findings, 1):
            for clock in _clocks(finding):
                self.told[clock].append(number)
        self.broken = Counter(frozenset((d.src, d.dst)) for d in survey.discontinuities)
        self._used = survey.used
        self._severities = [SEVERITIES.index(finding.severity) for finding in findings]

    def of(self, pair: ClockPair) -> tuple[Any, ...]:
        """Sorts pairs that are not measured yet."""
        events = self._used.get(pair[1], 0)
        breaks = self.broken[frozenset(pair)] if self.broken else 0
        return (*self._of(pair[1], events, breaks), -events)

    def of_measured(self, pair: PairFacts, survey: Survey) -> tuple[Any, ...]:
        """Sorts those that are."""
        one, other = (survey.graph.domain(clock).oscillator for clock in (pair.hub, pair.clock))
        return (
            *self._of(pair.clock, pair.events, pair.breaks),
            # Clocks of one oscillator say less than those that drift.
            one is not None and one == other,
            -pair.floor_ns,
            -pair.events,
            pair.clock,
        )

    def _of(self, clock: ClockId, events: int, breaks: int) -> tuple[Any, ...]:
        told = self.told.get(clock)
        return (
            # The worst comes first.
            self._severities[told[0] - 1] if told else len(SEVERITIES),
            not events,
            not breaks,
            clock.is_sequence_scoped,
            # Of what nobody uses, clocks of 4 ms steps say least.
            clock.clock in COARSE,
        )


def _clocks(finding: Finding) -> set[ClockId]:
    return set(finding.clocks).union(*map(_clocks, finding.consequences))
