"""Events counted by where they lie between marks: that answers for every span between these."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

import numpy as np
import numpy.typing as npt

from tracetime.clocks import ClockId

Values = npt.NDArray[np.int64]

_FEW: Final = 64


class Between:
    """How many values were at each of some marks, and between each two of them.

    Args:
        marks: int64, in any order.
    """

    def __init__(self, marks: Values) -> None:
        self._marks = np.unique(marks) if len(marks) > 1 else marks
        self._counts = np.zeros(2 * len(self._marks) + 1, dtype=np.int64)

    def add(self, values: Values) -> None:
        """Count some values."""
        bins = self._bins(values)
        if len(bins) < len(self._counts) or len(bins) < _FEW:
            np.add.at(self._counts, bins, 1)
        else:
            self._counts += np.bincount(bins, minlength=len(self._counts))

    def within(self, spans: Iterable[tuple[int, int]]) -> int:
        """How many values lie within any of some spans, their ends included.

        An end is a mark, the last number before one or the first after one, or has no value
        beyond it on its side.
        """
        ends = np.array(list(spans), dtype=np.int64).reshape(-1, 2)
        ends = ends[ends[:, 0] <= ends[:, 1]]
        covers = np.zeros(len(self._counts) + 1, dtype=np.int64)
        np.add.at(covers, self._bins(ends[:, 0]), 1)
        np.add.at(covers, self._bins(ends[:, 1]) + 1, -1)
        return int(self._counts[np.cumsum(covers[:-1]) > 0].sum())

    def _bins(self, values: Values) -> npt.NDArray[np.intp]:
        """0 below the first mark, 1 at it, 2 between it and the second, and so on."""
        below = np.searchsorted(self._marks, values, side="left")
        return below + np.searchsorted(self._marks, values, side="right")


class Counts:
    """The events of each clock by their readings, between those of its snapshots.

    Args:
        readings: what a clock read in its snapshots, ns.
    """

    def __init__(self, readings: Callable[[ClockId], Values]) -> None:
        self._readings = readings
        self._by_clock: dict[ClockId, Between] = {}

    def add(self, clock: ClockId, source_ns: Values) -> None:
        """Count events of a clock by what it read."""
        if clock not in self._by_clock:
            self._by_clock[clock] = Between(self._readings(clock))
        self._by_clock[clock].add(source_ns)

    def within(self, clock: ClockId, spans: Iterable[tuple[int, int]]) -> int:
        """How many events of a clock lie within any of some spans; see `Between.within`."""
        counted = self._by_clock.get(clock)
        return 0 if counted is None else counted.within(spans)
