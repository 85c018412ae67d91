"""The snapshots around jumps as columns, and what two clocks read there, for many jumps at once."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from tracetime.analysis.survey import Survey
from tracetime.clocks.ids import ClockId
from tracetime.graph.tube.discontinuities import PairDiscontinuities
from tracetime.graph.values import Floats, Mask, Values, difference

Pair = tuple[ClockId, ClockId]

_Column = TypeVar("_Column", bound=np.generic)


class JumpSnapshots:
    """The snapshots around some jumps, as columns.

    Args:
        found: jumps and outliers.
    """

    def __init__(self, found: PairDiscontinuities) -> None:
        self._numbers = found.snapshots.flat
        self._starts, self._ends = found.snapshots.starts, found.snapshots.ends
        self.outlier: Mask = found.kind_is("outlier")

    def __len__(self) -> int:
        return len(self._starts)

    @property
    def lows(self) -> Values:
        """The first snapshot of each."""
        return np.minimum.reduceat(self._numbers, self._starts)

    @property
    def highs(self) -> Values:
        """The last snapshot of each."""
        return np.maximum.reduceat(self._numbers, self._starts)

    def rows_in(self, numbers: Values) -> tuple[Values, Mask]:
        """Return the row of each snapshot in `numbers` (ascending, not empty); which are there."""
        return _rows_in(numbers, self._numbers)

    def each(self, ufunc: np.ufunc, column: npt.NDArray[_Column]) -> npt.NDArray[Any]:
        """Return a column with an element for each snapshot, reduced to one for each jump."""
        return np.asarray(ufunc.reduceat(column, self._starts))

    def outer(self, column: npt.NDArray[_Column]) -> tuple[npt.NDArray[_Column], ...]:
        """Return the elements of such a column for the outer snapshots of each jump."""
        return column[self._starts], column[self._ends - 1]


def moved(snapshots: JumpSnapshots, together: tuple[Values, Values, Values]) -> Floats:
    """Return how far a clock jumped against another, ns; NaN where snapshots do not hold both.

    together: (snapshots, ours_ns, theirs_ns); see `Survey.together`.
    """
    numbers, ours, theirs = together
    if not len(numbers):
        return np.full(len(snapshots), np.nan)
    at, there = snapshots.rows_in(numbers)
    known = snapshots.each(np.logical_and, there)
    first, last = snapshots.outer(at)

    def since(k: Values) -> Floats:
        """Return by how much more it advanced than the other, from the first of the snapshots."""
        return _gained(theirs[k], theirs[first], ours[k], ours[first])

    found = since(last)
    outlier = snapshots.outlier
    if outlier.any():
        starts, ends = first == 0, last == len(numbers) - 1
        # The first and the last snapshot have one neighbour.
        left = np.where(starts, np.where(ends, first, last + 1), first - 1)
        right = np.where(ends, left, last + 1)
        found[outlier] = -_between(
            difference(ours[left], ours[first]),
            since(left),
            difference(ours[right], ours[first]),
            since(right),
        )[outlier]
        known &= ~(outlier & starts & ends)
    found[~known] = np.nan
    return found


def _gained(one: Values, before: Values, other: Values, other_before: Values) -> Floats:
    """(one - before) - (other - other_before), exact before it becomes a float where that fits."""
    about = difference(one, before) - difference(other, other_before)
    a, b, c, d = (column.view(np.uint64) for column in (one, before, other, other_before))
    exact = ((a - b) - (c - d)).view(np.int64)
    return np.where(np.abs(about) < 9e18, exact.astype(np.float64), about)


def _between(left: Floats, at_left: Floats, right: Floats, at_right: Floats) -> Floats:
    """Return the value at 0 of a line through two points; outside of them, that of the nearer."""
    rise, run = at_right - at_left, right - left
    # Where 0 is between them, they are 2 ns apart at least.
    slope = rise / np.maximum(run, 1)
    return np.where(right <= 0, at_right, np.where(left >= 0, at_left, at_left - slope * left))


def farthest_ns(survey: Survey, found: PairDiscontinuities, default: int) -> int:
    """Return the size of the largest jump as read, ns, within the bounds that drift leaves.

    default: the result without jumps. A jump of unknown size counts as 0.
    """
    most = []
    for pair, those in found.by_pair().items():
        # Few can be the largest: those that can be as large as another one is at least.
        sized = those.take(those.sized & (those.most_ns >= those.least_ns.max()))
        low, high = (side.astype(np.float64) for side in (sized.low, sized.high))
        read = np.clip(moved(JumpSnapshots(sized), survey.together(*pair)), low, high)
        middle = sized.mean_ns.astype(np.float64)
        sizes = np.where(np.isnan(read), middle, np.abs(np.rint(read)))
        most.append(int(sizes.max(initial=0)))
    return max(most, default=default)


def spans_read(survey: Survey, pair: Pair, found: PairDiscontinuities) -> Values:
    """Return what a clock read on both sides of some jumps, ns: int64[n, 2], the lesser first.

    Jumps with a side that its snapshots do not hold are left out.

    pair: the clock, and the one that those snapshots hold with it.
    """
    numbers, readings, _ = survey.together(*pair)
    snapshots = JumpSnapshots(found)
    at, there = snapshots.rows_in(numbers)
    extreme = np.iinfo(np.int64)
    low = snapshots.each(np.minimum, np.where(there, readings[at], extreme.max))
    high = snapshots.each(np.maximum, np.where(there, readings[at], extreme.min))
    known = snapshots.each(np.add, there.astype(np.int64)) >= 2
    return np.stack([low[known], high[known]], axis=1)


def spans_after(survey: Survey, pair: Pair, found: PairDiscontinuities) -> Values:
    """Return what a clock read from outliers up to the next snapshot, ns: int64[n, 2], inclusive.

    Outliers that its snapshots do not hold are left out, and its last snapshot.

    pair: as for `spans_read`.
    """
    numbers, readings, _ = survey.together(*pair)
    at, there = _rows_in(numbers, found.snapshots.firsts)
    at = at[there & (at + 1 < len(numbers))]
    return np.stack([readings[at], readings[at + 1] - 1], axis=1)


def _rows_in(numbers: Values, wanted: Values) -> tuple[Values, Mask]:
    """Return the row of each number in `numbers` (ascending, not empty), and which are there."""
    at = np.minimum(np.searchsorted(numbers, wanted), len(numbers) - 1)
    return at, numbers[at] == wanted
