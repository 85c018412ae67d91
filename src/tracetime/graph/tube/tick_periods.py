"""What clocks tick by where nobody says: the lattice that their readings lie on.

A clock that shows whole milliseconds as ns, or counts frames of a display, says of an instant only
between which two ticks it was. What a lattice is, and how it is found, stands in lattice.py.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from tracetime.clocks.ids import ClockId
from tracetime.graph.tube.event_readings import BLOCK
from tracetime.graph.tube.graph_data import GraphData
from tracetime.graph.tube.lattice import LEAST_READINGS, Lattice, find_lattices
from tracetime.graph.values import ascending
from tracetime.quantiles import median, quantile

Values = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

LEAST_TICK_NS: Final = 1_000
"""A shorter tick is within what is assumed of every reading."""

_STRIDES: Final = (1, 2, 4, 8)
_MOST_READINGS: Final = 1_024
_MOST_BESIDE: Final = 4
_MOST_TRIED: Final = 64
_LEAST_SCATTER: Final = 0.1
_MOST_SCATTER: Final = 1.5
_LEAST_RISING: Final = 0.75
_MOST_OFF_RATE: Final = 0.1


class Tick(NamedTuple):
    """What a clock steps by.

    Attributes:
        period_ns: from one tick to the next.
        width_ns: how far two instants that it reads alike may be apart, whole ns: that, and what
            readings are rounded by.
    """

    period_ns: float
    width_ns: int

    @staticmethod
    def of(lattice: Lattice, rate: Fraction) -> Tick:
        """The tick of a clock whose readings, each of `rate` ns, lie on a lattice."""
        period_ns = lattice.period * float(rate)
        return Tick(period_ns, math.ceil(period_ns + lattice.rounding * float(rate)))


class Ticks:
    """The ticks of a graph's clocks, each learnt when it is asked for.

    Args:
        graph: the readings of its clocks, in snapshots and in events.
    """

    def __init__(self, graph: GraphData) -> None:
        self._graph = graph
        self._lattices: dict[ClockId, list[Lattice]] = {}
        self._shown: dict[ClockId, Lattice | None] = {}
        self._sure: dict[ClockId, float] = {}

    def of(self, clock: ClockId) -> Lattice | None:
        """What a clock ticks on, in what its readings are in; None where they show no tick.

        Snapshots may merely be taken on a grid: events have to show it by themselves, at times that
        are not evenly spaced, or what is left against another clock has to scatter over it.
        """
        if clock not in self._shown:
            self._shown[clock] = self._first(clock, self._surely)
        return self._shown[clock]

    def _first(self, clock: ClockId, beside: Callable[[ClockId], float]) -> Lattice | None:
        """The longest lattice that the clock itself makes, not how it was read."""
        return next(
            (
                lattice
                for lattice in self._possible(clock)
                if self._events_show(clock, lattice)
                or self._scatters(clock, lattice.period, beside)
            ),
            None,
        )

    def _possible(self, clock: ClockId) -> list[Lattice]:
        """What all its readings are on, be it by how they were taken."""
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

    def _surely(self, clock: ClockId) -> float:
        """The period of a clock even if no clock beside it ticks; 0 where that is not known."""
        if clock not in self._sure:
            lattice = self._first(clock, lambda _: 0.0)
            self._sure[clock] = 0.0 if lattice is None else lattice.period
        return self._sure[clock]

    def _events_show(self, clock: ClockId, lattice: Lattice) -> bool:
        """Whether the events alone, where no snapshot was taken, are on the same lattice."""
        events = self._graph.events.get(clock)
        if events is None or not events.are_uneven(lattice):
            return False
        own, readings = ascending(events.some_ns), ascending(self._graph.readings(clock))
        times = lattice.steps(np.setdiff1d(own, readings, assume_unique=True))
        on_it = times[times > 0].astype(np.int64)
        return len(on_it) >= LEAST_READINGS - 1 and int(np.gcd.reduce(on_it)) == 1

    def _scatters(self, clock: ClockId, period: float, beside: Callable[[ClockId], float]) -> bool:
        """Whether what is left of its readings against a clock beside it scatters over a period.

        A clock that ticks itself leaves as much of any other, and so says something only where no
        other contradicts it.

        beside: what is known of how such a clock ticks.
        """
        left = self._left(clock)
        if any(one.scatters(period, period) for _, one in left):
            return True
        return not any(one.is_steady(period) for _, one in left) and any(
            one.scatters(period, period + beside(other)) for other, one in left
        )

    def _left(self, clock: ClockId) -> list[tuple[ClockId, Left]]:
        """What is left of its readings against some clocks beside it."""
        found: list[tuple[ClockId, Left]] = []
        for other in self._graph.neighbours[clock][:_MOST_TRIED]:
            _, readings, others = self._graph.shared(clock, other)
            if len(readings) >= LEAST_READINGS:
                found.append((other, Left.of(readings, others)))
                if len(found) == _MOST_BESIDE:
                    break
        return found


class Left(NamedTuple):
    """What is left of a clock's readings against another's, beside lines between neighbours.

    Attributes:
        median, most: of its size, ns, where neighbours are 1, 2, 4, ... snapshots off; all but a
            tenth of it.
    """

    median: list[float]
    most: list[float]

    @staticmethod
    def of(readings: Values, others: Values) -> Left:
        """Of readings that two clocks took together, in this order."""
        left = Left([], [])
        one, other = _since_first(readings), _since_first(others)
        gained = np.diff(other - one)
        usual = np.abs(gained - median(gained)) <= quantile(np.abs(gained), 0.9)
        if not abs(gained[usual].sum()) <= _MOST_OFF_RATE * abs(np.diff(one)[usual].sum()):
            # Jumps at most snapshots, or units that are not the same: no tick's doing.
            return left
        for stride in _STRIDES:
            # One jump is in twice as many windows as the stride is long.
            if len(one) < max(10 * stride, LEAST_READINGS):
                break
            first, middle, last = (
                slice(-2 * stride), slice(stride, -stride), slice(2 * stride, None)
            )  # fmt: skip
            span, other_span = one[last] - one[first], other[last] - other[first]
            past, other_past = one[middle] - one[first], other[middle] - other[first]
            rising = _rises(past, span) & _rises(other_past, other_span)
            if np.mean(rising) < _LEAST_RISING:
                continue
            past, span, other_past, other_span = (
                column[rising] for column in (past, span, other_past, other_span)
            )
            size = np.abs((past / span - other_past / other_span) * span)
            left.median.append(median(size))
            left.most.append(quantile(size, 0.9))
        return left

    def scatters(self, period: float, most: float) -> bool:
        """Whether it scatters over a period, as a tick does, at some distance or other.

        Drift leaves little; a tick a quarter of it, about, and no more than `most`, a little apart.
        """
        return any(
            median >= _LEAST_SCATTER * period and far <= _MOST_SCATTER * most
            for median, far in zip(*self, strict=True)
        )

    def is_steady(self, period: float) -> bool:
        """Whether the other clock shows that there is no such tick."""
        return bool(self.median) and max(self.median) < _LEAST_SCATTER * period


def _rises(past: Floats, span: Floats) -> npt.NDArray[np.bool_]:
    """Whether a clock went on from the first to the last of three, the middle one between."""
    rises: npt.NDArray[np.bool_] = (past >= 0) & (past <= span) & (span > 0)
    return rises


def _since_first(values: Values) -> Floats:
    """How far values are from the first; what is beyond int64 is wrong, and no tick's doing."""
    wrapped = values.view(np.uint64) - values.view(np.uint64)[0]
    past: Floats = wrapped.view(np.int64).astype(np.float64)
    return past


def _some(readings: Values) -> Values:
    """Blocks of neighbours all over the readings, where there are many."""
    if len(readings) <= _MOST_READINGS:
        return readings
    blocks = _MOST_READINGS // BLOCK
    first = np.linspace(0, len(readings) - BLOCK, blocks).astype(np.int64)
    return np.concatenate([readings[k : k + BLOCK] for k in first.tolist()])
