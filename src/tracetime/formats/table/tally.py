"""Rows of a table that are not the events, or the slice, that they should be."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from tracetime.text import count
from tracetime.trace.notes import Note


class OddRows:
    """Some rows of one kind.

    Args:
        code, kind: of the note about them.
        what: what is wrong with them.
    """

    def __init__(self, code: str, kind: str, what: str) -> None:
        self._note = code, kind
        self._what = what
        self._count = self._first = 0

    def add(self, which: npt.NDArray[np.bool_], first_row: int) -> None:
        """Count those of a batch, whose first row is that one of its table."""
        found = int(np.count_nonzero(which))
        if found and not self._count:
            self._first = first_row + int(which.argmax())
        self._count += found

    def notes(self) -> Iterator[Note]:
        """Yield what is to be told of them, if there are any."""
        if self._count:
            what = f"{count(self._count, 'row')} {self._what}"
            values = {"what": what, "first": self._first}
            yield Note(*self._note, events=self._count, values=values)


class Tally:
    """How many rows of one reading have no time, or end before they begin."""

    def __init__(self) -> None:
        timeless = "without a time: no events"
        self.timeless = OddRows("events-without-time", "null", timeless)
        back = "whose end is before their begin: no slices"
        self.reversed = OddRows("ends-before-begins", "", back)
