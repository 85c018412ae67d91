"""Counts of events by their place between marks, from which those of any span follow."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from tracetime._kernels.common.columns import count_between, sum_within
from tracetime.graph.values import ascending

Values = npt.NDArray[np.int64]


class Counts:
    """The numbers of values at each of some marks, and between each two; for several lists.

    Args:
        marks: int64, list by list, ascending and each once within a list.
        starts: int64, where each list begins, and where the last one ends.
    """

    def __init__(self, marks: Values, starts: Values) -> None:
        self._marks, self._starts = marks, starts
        self._counts = np.zeros(2 * len(marks) + len(starts) - 1, dtype=np.int64)

    def add(self, which: Values, values: Values) -> None:
        """Count some values, each among the marks of one list."""
        count_between(self._marks, self._starts, which, values, self._counts)

    def within(self, which: int, spans: Values | Iterable[tuple[int, int]]) -> int:
        """The number of a list's values within any of some spans, their ends included.

        An end is a mark, the last number before one or the first after one, or has no value
        beyond it on its side.
        """
        if not isinstance(spans, np.ndarray):
            spans = np.array(list(spans), dtype=np.int64).reshape(-1, 2)
        start, end = self._starts[which : which + 2].tolist()
        counts = self._counts[2 * start + which : 2 * end + which + 1]
        return sum_within(self._marks[start:end], counts, np.ascontiguousarray(spans))


class Between:
    """`Counts` of one list of marks, int64, in any order."""

    def __init__(self, marks: Values) -> None:
        marks = ascending(marks)
        self._counts = Counts(marks, np.array([0, len(marks)]))

    def add(self, values: Values) -> None:
        """Count some values."""
        self._counts.add(np.zeros(len(values), dtype=np.int64), values)

    def within(self, spans: Iterable[tuple[int, int]]) -> int:
        """The number of values within any of some spans; see `Counts.within`."""
        return self._counts.within(0, spans)
