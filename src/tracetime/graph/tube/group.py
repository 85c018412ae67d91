"""What all pairs of some clocks say together, and the bars of all that evidence at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from tracetime.clocks.domain import ClockDomain
from tracetime.clocks.families import NEVER_SET, STEADY, WALL
from tracetime.clocks.ids import ClockId
from tracetime.errors import ONE_SIDED, RESOLVED
from tracetime.graph.epochs.bars import Bars, Paths, hull
from tracetime.graph.epochs.breaks import Findings, explanations
from tracetime.graph.epochs.nodes import Nodes, System
from tracetime.graph.epochs.rows import OPEN, Clock, Rows
from tracetime.graph.epochs.tables import Table
from tracetime.graph.tube.evidence import FARTHEST, HIGH_KNOWN, LOW_KNOWN, OPEN_HIGH, OPEN_LOW
from tracetime.graph.tube.pair import Pair
from tracetime.graph.tube.results import Reached
from tracetime.graph.values import Mask, Values

Domain = Callable[[ClockId], ClockDomain]


class Group:
    """Clocks, and what all of their pairs say.

    Args:
        pairs: the pairs, all of whose clocks count ns.
        domain: the limits of a clock.
    """

    def __init__(self, pairs: Sequence[Pair], domain: Domain) -> None:
        self._pairs = pairs
        ids, clocks, rows = rows_of(pairs, domain)
        self._number = {clock: number for number, clock in enumerate(ids)}
        self._explanations = self._explained(clocks, rows)
        self._tables: dict[tuple[ClockId, ClockId], list[Table]] = {}

    @property
    def hides(self) -> bool:
        """Whether a pair's tube does not show all that its clocks did."""
        return bool(self._hiding)

    @staticmethod
    def _explained(clocks: list[Clock], rows: Rows) -> list[Findings]:
        """What explains the rows, each in another order of readings."""
        every = explanations(clocks, rows)
        blamed = {c for found in every for tied in found.breaks for one in tied for c in one.clocks}
        if all(clocks[clock].jumps for clock in blamed):
            return every
        # One that is not what it says may have been set back as well.
        either = [replace(c, back=c.back or k in blamed) for k, c in enumerate(clocks)]
        return explanations(either, rows)

    def held(self, path: Sequence[ClockId], reached: Sequence[Reached], *, closed: bool) -> Reached:
        """As `Together.held`."""
        here = reached[-1]
        if not self._number.keys() >= {path[0], path[-1]}:
            return here
        unsure = np.full(len(here.status), closed)
        for _, where in self._hidden(path, reached):
            unsure |= where
        if not unsure.any():
            return here
        tables = self._table(path[0], path[-1])
        bars = hull([table.bars(reached[0].estimate) for table in tables])
        also = any(pair.assumed for pair in self._pairs)
        there = _with_bars(here, bars, also=also)
        return Reached(
            np.where(unsure, there.estimate, here.estimate),
            np.where(unsure, there.earliest, here.earliest),
            np.where(unsure, there.latest, here.latest),
            np.where(unsure, there.status, here.status),
        )

    def jumped(self, path: Sequence[ClockId], reached: Sequence[Reached]) -> list[ClockId]:
        """The clocks that may have jumped where a conversion of one value does not show it."""
        ends = {
            clock
            for hiding, where in self._hidden(path, reached)
            if where.any()
            for clock in hiding.ends
        }
        numbers = {
            k
            for found in self._explanations
            for tied in found.breaks
            for one in tied
            for k in one.clocks
        }
        jumped = [clock for clock, number in self._number.items() if number in numbers]
        return [clock for clock in jumped if clock in ends] or jumped

    def _hidden(
        self, path: Sequence[ClockId], reached: Sequence[Reached]
    ) -> Iterator[tuple[_Hiding, Mask]]:
        """The pairs of a path whose tubes do not show all, and for which values."""
        for hop, before, after in zip(pairwise(path), reached[:-1], reached[1:], strict=True):
            hiding = self._hiding.get(frozenset(hop))
            if hiding is not None:
                yield hiding, hiding.holds(before if hop[0] == hiding.ends[0] else after)

    def _table(self, source: ClockId, target: ClockId) -> list[Table]:
        if (source, target) not in self._tables:
            ends = self._number[source], self._number[target]
            self._tables[source, target] = [Table(found, *ends) for found in self._explanations]
        return self._tables[source, target]

    @cached_property
    def _hiding(self) -> dict[frozenset[ClockId], _Hiding]:
        """By its clocks, the pairs whose tubes do not show all that their clocks did."""
        systems = [system for found in self._explanations for system in found.systems()]
        hiding, first = {}, 0
        for pair in self._pairs:
            rows = slice(first, first := first + len(pair.tube.evidence.a))
            unsure = np.logical_or.reduce([self._unsure(pair, rows, one) for one in systems])
            if unsure.any():
                hiding[frozenset((pair.a, pair.b))] = _Hiding(
                    (pair.a, pair.b), pair.tube.evidence.a, unsure
                )
        return hiding

    def _unsure(self, pair: Pair, rows: slice, system: System) -> Mask:
        """Between which of its evidence a tube does not show what a clock did, by one explanation.

        Where it shows no break, it takes all of a segment together. It does not know of an epoch
        that reaches a value beside rows of other ones: the clock was set back.
        """
        nodes, a = system.nodes, pair.tube.evidence.a
        shown = np.zeros(len(a) - 1, dtype=bool)
        for first, last in pair.tube.breaks.tolist():
            shown |= (a[:-1] <= last) & (a[1:] >= first)
        number: Values = np.cumsum(~system.epoch_within, dtype=np.int64)
        epoch = np.searchsorted(system.epoch_first, system.place_of, side="right") - 1
        breaks, missing = np.zeros(len(a) - 1, dtype=np.int64), [False, False]
        unknown, fell = np.zeros(len(a) + 1, dtype=bool), True
        for clock, ends in ((pair.a, nodes.one), (pair.b, nodes.other)):
            own, here = number[epoch[ends[rows]]], self._number[clock]
            every = number[(system.epoch_clock == here) & ~system.epoch_within]
            breaks += np.abs(np.diff(own))
            missing = [missing[0] or own[0] != every[0], missing[1] or own[-1] != every[-1]]
            beside = _Beside.of(nodes.readings[ends[rows]], own)
            reaches = list(zip(every.tolist(), Paths(system, here, here).reaches, strict=True))
            fell &= any(after[0] < before[1] for (_, before), (_, after) in pairwise(reaches))
            if clock == pair.a:
                for k, reach in reaches:
                    unknown |= beside.reached(k, reach)
            elif any(
                (beside.reached(k, reach) & ~beside.apart).any()
                for k, reach in reaches
                if k not in own
            ):
                # Its readings of an epoch that the pair lacks may be anywhere along the other.
                return np.ones(len(a) + 1, dtype=bool)
        if fell:
            # A tube runs along one of the two, as if that was never set back.
            return np.ones(len(a) + 1, dtype=bool)
        segment = np.append(0, np.cumsum(shown))
        hidden = (breaks > 0) & ~shown
        wrong = np.isin(segment, segment[1:][hidden])
        between = wrong[:-1] | wrong[1:] | (breaks > 1)
        known = np.concatenate([wrong[:1] | missing[0], between, wrong[-1:] | missing[1]])
        return known | unknown


class _Beside(NamedTuple):
    """Between which readings a clock was in which epochs, by the rows of a pair.

    Attributes:
        readings: before each and after all of which, int64, ascending: -OPEN .. OPEN.
        left, right: the epochs of the rows there; -1 for none.
    """

    readings: Values
    left: Values
    right: Values

    @classmethod
    def of(cls, readings: Values, epochs: Values) -> _Beside:
        order = np.argsort(readings, kind="stable")
        return cls(
            np.concatenate([[-OPEN], readings[order], [OPEN]]),
            np.append(-1, epochs[order]),
            np.append(epochs[order], -1),
        )

    def reached(self, epoch: int, reach: tuple[int, int]) -> Mask:
        """Where an epoch may have been, too, that no row beside there is of."""
        here: Mask = (self.readings[:-1] < reach[1]) & (reach[0] < self.readings[1:])
        here &= (self.left != epoch) & (self.right != epoch)
        return here

    @property
    def apart(self) -> Mask:
        """Where another epoch is known to have been: between others, or beyond all, in order."""
        ordered = bool((np.diff(self.right[:-1]) >= 0).all())
        inner = self.right[1:-1] - self.left[1:-1] > 1
        return np.concatenate([[ordered], inner, [ordered]])


class _Hiding(NamedTuple):
    """A pair whose tube does not show all that its clocks did.

    Attributes:
        ends: its clocks a and b.
        at: what a read at the evidence, int64, ascending.
        unsure: before which of the evidence, and after all, the tube does not show it; bool.
    """

    ends: tuple[ClockId, ClockId]
    at: Values
    unsure: Mask

    def holds(self, on_a: Reached) -> Mask:
        """At which of some values it does not."""
        first = np.searchsorted(self.at, on_a.earliest, side="right")
        last = np.searchsorted(self.at, on_a.latest)
        before = np.append(0, np.cumsum(self.unsure))
        exact = first > last
        some = np.where(
            exact, self.unsure[first] & self.unsure[last], before[last + 1] > before[first]
        )
        usual = (on_a.status == RESOLVED) | (on_a.status == ONE_SIDED)
        doubtful: Mask = some | ~usual
        return doubtful


def _with_bars(here: Reached, bars: Bars, *, also: bool) -> Reached:
    """Values whose bars are others, or hold others as well; an estimate is moved within them."""
    earliest = np.where(bars.earliest == -OPEN, OPEN_LOW, bars.earliest)
    latest = np.where(bars.latest == OPEN, OPEN_HIGH, bars.latest)
    if also:
        earliest, latest = np.minimum(earliest, here.earliest), np.maximum(latest, here.latest)
    open_ended = (earliest == OPEN_LOW) | (latest == OPEN_HIGH)
    usual = (here.status == RESOLVED) | (here.status == ONE_SIDED)
    status = np.where(open_ended, np.uint8(ONE_SIDED), np.uint8(RESOLVED))
    return Reached(
        np.where(usual, np.clip(here.estimate, earliest, latest), here.estimate),
        earliest,
        latest,
        np.where(usual, status, here.status),
    )


# The evidence of pairs of clocks as rows between readings, for `graph/epochs/`.


def rows_of(
    pairs: Sequence[Pair], domain: Callable[[ClockId], ClockDomain], *, live: bool = False
) -> tuple[list[ClockId], list[Clock], Rows]:
    """The clocks of some pairs, what is known of each, and the rows of all.

    With `live`, of a pair that does not contradict itself those that its bars rest on: as long as
    no clock jumped, they imply the others.

    Half-widths are those of the pairs; ticks are in them. A pair that learnt a clock's rate is left
    out: each such pair has another rate, so that the clock's ns are not one.
    """
    pairs = [pair for pair in pairs if not pair.learnt]
    ids = sorted({clock for pair in pairs for clock in (pair.a, pair.b)}, key=ClockId.order)
    number = {clock: k for k, clock in enumerate(ids)}
    clocks = [_clock(clock, domain(clock)) for clock in ids]
    rows = []
    for pair in pairs:
        evidence = pair.tube.kept if live and not pair.tube.n_faults else pair.tube.evidence
        sides = evidence.sides & LOW_KNOWN != 0, evidence.sides & HIGH_KNOWN != 0
        ends = number[pair.a], number[pair.b]
        rows.append(Rows.offsets(clocks, ends, evidence.a, (evidence.low, evidence.high), sides))
    return ids, clocks, Rows.all(*rows)


def contradict(pairs: Sequence[Pair], domain: Callable[[ClockId], ClockDomain]) -> bool:
    """Whether the bars of some pairs that are near cannot all be true while no clock jumps."""
    _, clocks, rows = rows_of(pairs, domain, live=True)
    # Each reading is then one instant.
    still = [replace(clock, back=False) for clock in clocks]
    when = np.zeros(len(rows.one), dtype=np.int64)
    return len(System(Nodes(still, rows, when)).contradictions()) > 0


def are_near(pairs: Sequence[Pair]) -> bool:
    """Whether all that the clocks of some pairs read, and how far they are apart, fits in int64."""
    ends = list[float]()
    for pair in pairs:
        evidence = pair.tube.evidence
        for offset in (np.zeros(1), *evidence.said()):
            read = evidence.a.astype(np.float64) + offset
            ends += read.min(), read.max()
    return max(ends, default=0) - min(ends, default=0) < FARTHEST


def _clock(clock: ClockId, domain: ClockDomain) -> Clock:
    """What is known of how a clock runs."""
    drift = domain.drift_ppm * 1e-6
    if clock.clock in WALL:
        return Clock(drift, 0)
    if clock.clock in STEADY:
        return Clock(drift, 0, jumps=False, back=False)
    return Clock(drift, 0, back=clock.clock not in NEVER_SET, machine=clock.machine)
