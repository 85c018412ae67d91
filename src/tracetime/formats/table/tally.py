"""Rows of a table that are not the events, or the slice, that they should be."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from tracetime.text import count
from tracetime.trace.facts import TraceWarning


class OddRows:
    """Some rows of one kind.

    Args:
        what: what is wrong with them.

    Attributes:
        count: how many there are.
    """

    def __init__(self, what: str) -> None:
        self.count = 0
        self._what = what
        self._first = 0

    def add(self, which: npt.NDArray[np.bool_], first_row: int) -> None:
        """Count those of a batch, whose first row is that one of its table."""
        found = int(np.count_nonzero(which))
        if found and not self.count:
            self._first = first_row + int(which.argmax())
        self.count += found

    def warnings(self) -> Iterator[TraceWarning]:
        """What is to be told of them, if there are any."""
        if self.count:
            yield TraceWarning(f"{count(self.count, 'row')} {self._what}", 0, self._first)


class Tally:
    """How many rows of one reading have no time, or end before they begin."""

    def __init__(self) -> None:
        self.timeless = OddRows("without a time: no events")
        self.reversed = OddRows("whose end is before their begin: no slices")

    def warnings(self) -> list[TraceWarning]:
        """What is to be told of them."""
        return [*self.timeless.warnings(), *self.reversed.warnings()]
