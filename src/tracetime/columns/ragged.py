"""Rows of several whole numbers each, as two columns: one row has seldom more than two."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Values: TypeAlias = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False, slots=True)
class Ragged:
    """Rows of whole numbers.

    Attributes:
        counts: how many numbers each row has, int64.
        flat: the numbers of all rows, one row after the other, int64.
    """

    counts: Values
    flat: Values

    @classmethod
    def of(cls, rows: Iterable[Sequence[int]]) -> Ragged:
        """The rows of some sequences."""
        listed = list(rows)
        flat = [number for row in listed for number in row]
        return cls(np.array(list(map(len, listed)), dtype=np.int64), np.array(flat, dtype=np.int64))

    @classmethod
    def slices(cls, starts: Values, ends: Values, of: Values) -> Ragged:
        """Rows that are slices of a column."""
        counts = ends - starts
        before = np.cumsum(counts) - counts
        return cls(counts, of[np.repeat(starts - before, counts) + np.arange(counts.sum())])

    @classmethod
    def joined(cls, parts: Sequence[Ragged]) -> Ragged:
        """The rows of all parts, one part after the other."""
        columns = ([part.counts for part in parts], [part.flat for part in parts])
        return cls(*map(np.concatenate, columns))

    @property
    def ends(self) -> Values:
        """The end of each row in `flat`."""
        return np.cumsum(self.counts)

    @property
    def starts(self) -> Values:
        """The start of each row in `flat`."""
        return self.ends - self.counts

    @property
    def firsts(self) -> Values:
        """The first number of each row; there is one."""
        return self.flat[self.starts]

    @property
    def lasts(self) -> Values:
        """The last number of each row; there is one."""
        return self.flat[self.ends - 1]

    @property
    def row(self) -> Values:
        """The row of each number."""
        return np.repeat(np.arange(len(self.counts)), self.counts)

    def take(self, rows: npt.NDArray[Any]) -> Ragged:
        """The rows of these numbers, or of this mask."""
        return Ragged.slices(self.starts[rows], self.ends[rows], self.flat)

    def only(self, which: npt.NDArray[np.bool_]) -> Ragged:
        """The rows, with only those of their numbers that the mask has."""
        return Ragged(np.bincount(self.row[which], minlength=len(self.counts)), self.flat[which])

    def ascending(self) -> Ragged:
        """The rows with the numbers of each in order."""
        if (self.counts <= 1).all():
            return self
        return Ragged(self.counts, self.flat[np.lexsort((self.flat, self.row))])

    def beside(self, other: Ragged) -> Ragged:
        """Rows of which each has the numbers of a row of these, and then of one of the others."""
        order = np.argsort(np.append(self.row, other.row), kind="stable")
        return Ragged(self.counts + other.counts, np.append(self.flat, other.flat)[order])

    def __len__(self) -> int:
        return len(self.counts)

    def __iter__(self) -> Iterator[tuple[int, ...]]:
        """Each row as a tuple."""
        flat = self.flat.tolist()
        ends = zip(self.starts.tolist(), self.ends.tolist(), strict=True)
        return (tuple(flat[start:end]) for start, end in ends)
