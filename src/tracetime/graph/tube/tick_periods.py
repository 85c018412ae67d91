"""The ticks of clocks that declare none, from the lattice of their readings.

A clock that gives whole milliseconds as ns, or counts frames of a display, determines an instant
only to a tick. `lattice.py` defines and finds lattices.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Final, NamedTuple

import numpy as np

from tracetime.clocks.ids import ClockId
from tracetime.columns.arrays import median, quantile
from tracetime.graph.tube.graph_data import GraphData
from tracetime.graph.tube.lattice import BLOCK, LEAST_READINGS, Lattice, are_uneven, find_lattices
from tracetime.graph.values import Floats, Mask, Values, ascending

LEAST_TICK_NS: Final = 1_000
"""A shorter tick is within the half-width that is assumed of every reading."""

# Drift adds up over longer strides, a tick does not.
_STRIDES: Final = (1, 2, 4, 8)
# More readings show no other period.
_MOST_READINGS: Final = 1_024
# So many clocks are compared with, among so many neighbours: each takes a pass over its readings.
_MOST_COMPARED: Final = 4
_MOST_TRIED: Final = 64
# A tick leaves a median of a quarter of a period, and nine tenths of the rest within one.
_LEAST_SCATTER: Final = 0.1
_MOST_SCATTER: Final = 1.5
# Where a clock was set or repeats readings so often, its residuals are no sign of a tick.
_LEAST_RISING: Final = 0.75
# So many steps of one period are from reading at even times, but for some that are left out.
_EVEN: Final = 0.95
# No two clocks differ so much in rate: they count in different units.
_MOST_OFF_RATE: Final = 0.1


class Tick(NamedTuple):
    """The tick of a clock.

    Attributes:
        period_ns: from one tick to the next.
        width_ns: how far apart two instants of one reading may be, whole ns: the period, and the
            rounding of readings.
    """

    period_ns: float
    width_ns: int

    @staticmethod
    def of(lattice: Lattice, rate: Fraction) -> Tick:
        """The tick of a clock whose readings, each of `rate` ns, lie on a lattice."""
        period_ns = lattice.period * float(rate)
        return Tick(period_ns, math.ceil(period_ns + lattice.rounding * float(rate)))


class Ticks:
    """The ticks of a graph's clocks, each learnt when it is needed.

    Args:
        graph: the readings of its clocks, in snapshots and in events.
    """

    def __init__(self, graph: GraphData) -> None:
        self._graph = graph
        self._lattices: dict[ClockId, list[Lattice]] = {}
        self._found: dict[ClockId, Lattice | None] = {}
        self._certain: dict[ClockId, float] = {}

    def of(self, clock: ClockId) -> Lattice | None:
        """The lattice of a clock's ticks, in the unit of its readings; None where they show none.

        Snapshots may merely be taken on a grid: a tick must also show in events at uneven times, or
        the residuals against another clock must scatter over it. Else it may show in orders.
        """
        if clock not in self._found:
            found = self._first(clock, self._certain_period)
            self._found[clock] = self._of_orders(clock) if found is None else found
        return self._found[clock]

    def _of_orders(self, clock: ClockId) -> Lattice | None:
        """The lattice of its readings in orders.

        Messages may be sent at even times, which are on a lattice whatever the clock. Who receives
        them reads no lattice but that of its clock, unless the sender reads one, too.
        """
        own, others, is_later = self._graph.orders.some_readings(clock)
        if len(own) < LEAST_READINGS:
            return None
        unit_ns = self._graph.unit_ns(clock)
        readings = ascending(own) * unit_ns
        for lattice in find_lattices(readings, unit_ns):
            if lattice.period < max(LEAST_TICK_NS, 2 * unit_ns):
                break
            times = lattice.steps(readings)
            if are_uneven(times, np.ones(len(times) - 1, dtype=bool)):
                return lattice
            sent = ascending(others[is_later])
            if len(sent) >= LEAST_READINGS and not find_lattices(sent):
                return lattice
        return None

    def _first(self, clock: ClockId, period_of: Callable[[ClockId], float]) -> Lattice | None:
        """The longest lattice that comes from the clock itself, not from when it was read."""
        return next(
            (
                lattice
                for lattice in self._possible(clock)
                if self._events_show(clock, lattice)
                or (
                    not self._was_read_evenly(clock, lattice)
                    and self._scatters(clock, lattice.period, period_of)
                )
            ),
            None,
        )

    def _possible(self, clock: ClockId) -> list[Lattice]:
        """The lattices of all its readings, whatever their cause."""
        if clock not in self._lattices:
            readings = _some(self._graph.readings(clock))
            events = self._graph.events.get(clock)
            if events is not None:
                readings = np.concatenate([readings, events.some_ns])
            unit_ns = self._graph.unit_ns(clock)
            least_ns = max(LEAST_TICK_NS, 2 * unit_ns)
            enough = len(readings) >= LEAST_READINGS
            found = find_lattices(ascending(readings), unit_ns) if enough else []
            self._lattices[clock] = [one for one in found if one.period >= least_ns]
        return self._lattices[clock]

    def _certain_period(self, clock: ClockId) -> float:
        """The period that a clock has even if no other clock ticks; 0 where that is unknown."""
        if clock not in self._certain:
            lattice = self._first(clock, lambda _: 0.0)
            self._certain[clock] = 0.0 if lattice is None else lattice.period
        return self._certain[clock]

    def _events_show(self, clock: ClockId, lattice: Lattice) -> bool:
        """Whether the events alone, without those of snapshots, are on the same lattice."""
        events = self._graph.events.get(clock)
        if events is None or not events.are_uneven(lattice):
            return False
        own, readings = ascending(events.some_ns), ascending(self._graph.readings(clock))
        times = lattice.steps(np.setdiff1d(own, readings, assume_unique=True))
        on_it = times[times > 0].astype(np.int64)
        return len(on_it) >= LEAST_READINGS - 1 and int(np.gcd.reduce(on_it)) == 1

    def _was_read_evenly(self, clock: ClockId, lattice: Lattice) -> bool:
        """Whether nearly all its snapshots are one period from the next: a table's rows, as a rule.

        Whatever scatters then may be the other clock's jitter.
        """
        one = lattice.steps(_some(self._graph.readings(clock))) == 1
        return len(one) > 0 and bool(one.mean() >= _EVEN)

    def _scatters(
        self, clock: ClockId, period: float, period_of: Callable[[ClockId], float]
    ) -> bool:
        """Whether its residuals against another clock scatter over a period.

        A clock that ticks leaves such residuals in every other one: it is a witness only where no
        other clock contradicts it.

        period_of: the known period of another clock.
        """
        residuals = self._residuals(clock)
        if any(one.scatters(period, period) for _, one in residuals):
            return True
        return not any(one.is_steady(period) for _, one in residuals) and any(
            one.scatters(period, period + period_of(other)) for other, one in residuals
        )

    def _residuals(self, clock: ClockId) -> list[tuple[ClockId, Residuals]]:
        """Its residuals against some of its neighbours."""
        found: list[tuple[ClockId, Residuals]] = []
        for other in self._graph.neighbours[clock][:_MOST_TRIED]:
            _, readings, others = self._graph.shared(clock, other)
            if len(readings) >= LEAST_READINGS:
                found.append((other, Residuals.of(readings, others)))
                if len(found) == _MOST_COMPARED:
                    break
        return found


class Residuals(NamedTuple):
    """How far a clock's readings against another's are from straight lines between neighbours.

    Attributes:
        median, most: the median and the 90th percentile, ns, for neighbours that are 1, 2, 4, ...
            snapshots away.
    """

    median: list[float]
    most: list[float]

    @staticmethod
    def of(readings: Values, others: Values) -> Residuals:
        """Of readings that two clocks took together, in this order."""
        residuals = Residuals([], [])
        one, other = _since_first(readings), _since_first(others)
        gained = np.diff(other - one)
        usual = np.abs(gained - median(gained)) <= quantile(np.abs(gained), 0.9)
        if not abs(gained[usual].sum()) <= _MOST_OFF_RATE * abs(np.diff(one)[usual].sum()):
            # Jumps at most snapshots, or different units: not the effect of a tick.
            return residuals
        for stride in _STRIDES:
            # One jump is in twice as many windows as the stride is long.
            if len(one) < max(10 * stride, LEAST_READINGS):
                break
            first, middle = slice(-2 * stride), slice(stride, -stride)
            last = slice(2 * stride, None)
            span, other_span = one[last] - one[first], other[last] - other[first]
            past, other_past = one[middle] - one[first], other[middle] - other[first]
            rising = _rises(past, span) & _rises(other_past, other_span)
            if np.mean(rising) < _LEAST_RISING:
                continue
            past, span, other_past, other_span = (
                column[rising] for column in (past, span, other_past, other_span)
            )
            size = np.abs((past / span - other_past / other_span) * span)
            residuals.median.append(median(size))
            residuals.most.append(quantile(size, 0.9))
        return residuals

    def scatters(self, period: float, most: float) -> bool:
        """Whether they scatter over a period, as those of a tick do, at some distance.

        Drift leaves little; a tick about a quarter of a period, and hardly more than `most`.
        """
        return any(
            median >= _LEAST_SCATTER * period and far <= _MOST_SCATTER * most
            for median, far in zip(*self, strict=True)
        )

    def is_steady(self, period: float) -> bool:
        """Whether the other clock shows that there is no such tick."""
        return bool(self.median) and max(self.median) < _LEAST_SCATTER * period


def _rises(past: Floats, span: Floats) -> Mask:
    """Whether a clock advanced over three readings."""
    rises: Mask = (past >= 0) & (past <= span) & (span > 0)
    return rises


def _since_first(values: Values) -> Floats:
    """How far values are from the first; what is beyond int64 is wrong, and no sign of a tick."""
    wrapped = values.view(np.uint64) - values.view(np.uint64)[0]
    past: Floats = wrapped.view(np.int64).astype(np.float64)
    return past


def _some(readings: Values) -> Values:
    """Blocks of neighbours from all over the readings, where there are many."""
    if len(readings) <= _MOST_READINGS:
        return readings
    blocks = _MOST_READINGS // BLOCK
    first = np.linspace(0, len(readings) - BLOCK, blocks).astype(np.int64)
    return np.concatenate([readings[k : k + BLOCK] for k in first.tolist()])
