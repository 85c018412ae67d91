"""Bars of times that were cut off or rounded: they hold what all readings in between convert to.

While one clock moves from a reading to the next, another moves as far, give or take its drift,
unless it is set. So the bar at one end, moved by the distance, bounds the rest; and where a clock
on the way was set, the bars there do the same for what lies before and after.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from tracetime.clocks.ids import ClockId
from tracetime.clocks.int_arrays import is_any_of
from tracetime.clocks.snapshot import INT64_MAX, INT64_MIN
from tracetime.errors import BARRED, ONE_SIDED, RESOLVED, ConversionError
from tracetime.graph.conversion import with_reasons
from tracetime.graph.graph import Graph
from tracetime.graph.tube.bars import Bars
from tracetime.graph.tube.results import Reached

Values = npt.NDArray[np.int64]

_JUMPS: Final = ("suspend", "step", "reset", "possible_step")
_MOST_TICKS: Final = 16
"""No clock counts more ticks in a nanosecond."""


class CoarseTimes:
    """Readings of a clock, each of which may have been a later or an earlier one, on another clock.

    Args:
        graph, source, target, bars: of the conversion, by the tube.
    """

    def __init__(self, graph: Graph, source: ClockId, target: ClockId, bars: Bars) -> None:
        self._graph = graph
        self._source = source
        self._target = target
        self._bars = bars
        self._speed = self._greatest_speed()
        self._jumps = self._converted_jumps()

    def widened(self, reached: Reached, low: Values, high: Values) -> Reached:
        """The results with bars of all readings between a lower and a higher one.

        Args:
            reached: what the readings themselves convert to.
            low, high: the readings that they may have been, within int64.
        """
        if self._source == self._target:
            # What it reads is the time itself.
            return reached._replace(earliest=low.copy(), latest=high.copy())
        away = np.ceil((high - low) * self._speed).astype(np.int64) + 1
        first, last, jumps = self._at(low), self._at(high), self._jumps
        earliest = np.minimum(reached.earliest, first.earliest)
        earliest = np.minimum(earliest, _less(last.earliest, away))
        latest = np.maximum(reached.latest, last.latest)
        latest = np.maximum(latest, _more(first.latest, away))
        begin = np.searchsorted(jumps.at, low)
        end = np.searchsorted(jumps.at, high, side="right")
        within = np.flatnonzero(end > begin)
        if len(within):
            rows = np.stack([begin[within], end[within]], axis=1).ravel()
            least = np.minimum.reduceat(np.append(jumps.earliest, INT64_MAX), rows)[::2]
            most = np.maximum.reduceat(np.append(jumps.latest, INT64_MIN), rows)[::2]
            earliest[within] = np.minimum(earliest[within], _less(least, away[within]))
            latest[within] = np.maximum(latest[within], _more(most, away[within]))
        return _opened(reached, earliest, latest, (first, last))

    def _at(self, readings: Values) -> Reached:
        return with_reasons(self._graph, readings, self._source, self._target, "tube", self._bars)

    def _hops(self) -> list[tuple[ClockId, ClockId]]:
        try:
            return list(pairwise(self._graph.tubes.path(self._source, self._target)))
        except ConversionError:
            return []

    def _greatest_speed(self) -> float:
        """How far the target moves, at most, while the source moves by 1."""
        if any(self._graph.domain(end).ns_per_tick != 1 for end in (self._source, self._target)):
            return float(_MOST_TICKS)
        tubes = self._graph.tubes
        return math.prod(1.0 + tubes.limits(*hop).drift for hop in self._hops())

    def _converted_jumps(self) -> _Jumps:
        """Where a clock on the way was set, by readings of the source."""
        graph, found = self._graph, [np.empty(0, dtype=np.int64)]
        for one, other in self._hops():
            pair = graph.tubes.pair(one, other)
            jumps = pair.tube.discontinuities
            jumps = jumps.take(jumps.kind_is(*_JUMPS))
            ends = np.append(jumps.a_from, jumps.a_to)
            if len(ends):
                there = with_reasons(graph, ends, pair.a, self._source, "tube", self._bars)
                found += [there.estimate, there.earliest, there.latest]
        at = np.sort(np.concatenate(found))
        reached = self._at(at)
        known = is_any_of(reached.status, BARRED)
        return _Jumps(at[known], reached.earliest[known], reached.latest[known])


class _Jumps(NamedTuple):
    """Readings of the source, ascending, and the bars there: int64 of one length."""

    at: Values
    earliest: Values
    latest: Values


def _less(values: Values, by: Values) -> Values:
    less: Values = np.maximum(values, INT64_MIN + by) - by
    return less


def _more(values: Values, by: Values) -> Values:
    more: Values = np.minimum(values, INT64_MAX - by) + by
    return more


def _opened(
    reached: Reached, earliest: Values, latest: Values, ends: tuple[Reached, Reached]
) -> Reached:
    """Results whose bars are open where that at an end is, or where the end does not convert."""
    status = reached.status.copy()
    placed = (status == RESOLVED) | (status == ONE_SIDED)
    for end in ends:
        no_earliest, no_latest = end.open_sides()
        lost = ~is_any_of(end.status, BARRED)
        earliest[lost | no_earliest] = INT64_MIN
        latest[lost | no_latest] = INT64_MAX
        status[placed & (lost | no_earliest | no_latest)] = ONE_SIDED
    return Reached(reached.estimate, earliest, latest, status)
