"""The bars of a tube and their inverse, plain and slow: whole numbers of Python, row after row.

A row is (starts, at, lines...) as `_kernels/tube.pxd` has it, and its sides are worked out here
again, which tests what a kernel assumes about int64.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

BITS = 52
HULL, LIMITED = 1, 2
INT64_MIN, INT64_MAX = -(1 << 63), (1 << 63) - 1


@dataclass
class TwinRows:
    """Rows of a tube: starts (n), bars (n, 16) and their limits (m, 16), arrays of int64."""

    starts: Any
    bars: Any
    limits: Any

    def __post_init__(self) -> None:
        self._first = [int(t) for t in self.starts]
        self._last = [t - 1 for t in self._first[1:]] + [INT64_MAX]
        self._bars = [[int(word) for word in bar] for bar in self.bars]
        self._limits = [[int(word) for word in bar] for bar in self.limits]

    def low(self, k: int, t: int) -> int:
        """The least value of the other clock at t, in row k."""
        return t + self._side(self._bars[k], t, 1, max, min, lambda x: x >> BITS)

    def high(self, k: int, t: int) -> int:
        """The greatest."""
        return t + self._side(self._bars[k], t, 7, min, max, lambda x: -(-x >> BITS))

    def _side(
        self,
        bar: Sequence[int],
        t: int,
        word: int,
        within: Callable[[int, int], int],
        about: Callable[[int, int], int],
        whole: Callable[[int], int],
    ) -> int:
        at, (mode, limit) = bar[0], bar[13:15]
        lines = [bar[word : word + 3], bar[word + 3 : word + 6]]
        one, two = (ns + whole(part + slope * (t - at)) for ns, part, slope in lines)
        value = about(one, two) if mode & HULL else within(one, two)
        if mode & LIMITED:
            bound = self._side(self._limits[limit], t, word, within, about, whole)
            value = within(value, bound)
        return value

    def sources(
        self, low: int, high: int, first: int = INT64_MIN, last: int = INT64_MAX
    ) -> tuple[int, int]:
        """The earliest and latest source, in [first, last], of a value known to be in [low, high].

        Of the first and the last row as much as is there.
        """
        rows = [
            k for k in range(len(self._first)) if self._first[k] <= last and first <= self._last[k]
        ]
        earliest, latest = self._last[rows[-1]], self._first[rows[0]]
        for k in rows:
            if self.high(k, self._last[k]) >= low:
                earliest = self._bisect(k, lambda k, t: self.high(k, t) >= low)
                break
        for k in reversed(rows):
            if self.low(k, self._first[k]) <= high:
                latest = self._bisect(k, lambda k, t: self.low(k, t) > high, after=1) - 1
                break
        earliest, latest = max(earliest, first), min(latest, last)
        return min(earliest, latest), max(earliest, latest)

    def _bisect(self, k: int, is_there: Callable[[int, int], bool], after: int = 0) -> int:
        """The first t of row k that is there; with `after`, the one past its end if none is."""
        first, last = self._first[k], self._last[k] + after
        while first < last:
            middle = (first + last) // 2
            if is_there(k, middle):
                last = middle
            else:
                first = middle + 1
        return first
