"""The evidence about a pair of clocks: intervals that the offset of b from a lay in.

Snapshot k bounds the offset b - a to [r_k - h_k, r_k + h_k] when clock a read a_k. Here are
the columns that the sweeps work on; how a_k, r_k and h_k follow from readings is in
joint_readings.py and assumed_widths.py (design: error-bars.md, Evidence).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import numpy.typing as npt

from tracetime.columns.ragged import Ragged
from tracetime.errors import OVERFLOW, REASONS, ConversionError, UsageError
from tracetime.graph.values import Floats, Marks, Values

FARTHEST: Final = 1 << 61
"""Offsets and half-widths stay below this many ns (73 years), so that sums of them fit in int64."""

WIDEST: Final = 1 << 60
"""The half-width of a snapshot without information: half of what an offset may be."""

OPEN_LOW: Final = -(1 << 63)
"""Stands, in what `Evidence.of_bounds` takes, for a low side that says nothing."""

OPEN_HIGH: Final = (1 << 63) - 1
"""The same for a high side."""

LOW_KNOWN: Final = 1
"""Of `Evidence.known`: the low side says something."""

HIGH_KNOWN: Final = 2
"""Of `Evidence.known`: the high side says something."""

NOT_RECORDED: Final = -(1 << 63)
"""Stands for a frequency correction that a snapshot does not record."""


@dataclass(frozen=True, eq=False, slots=True)
class Evidence:
    """Snapshots of a pair, ascending on clock a; those of one reading that agree are merged.

    Attributes:
        a: readings of clock a, int64 ns.
        low, high: the offset's interval at each, int64 ns.
        order, group: the given snapshots in sorted order, and where each of `a` begins in it.
        assumed: whether the half-widths were assumed.
        correction: how much steeper the steering of the clocks made the offset at each, int64 in
            2^-52 ns per ns, or NOT_RECORDED; None where no snapshot records any.
        known: uint8, which sides of each interval say something: LOW_KNOWN, HIGH_KNOWN or both;
            the other side is put WIDEST beyond the one that does. None where all sides do.
    """

    a: Values
    low: Values
    high: Values
    order: Values
    group: Values
    assumed: bool
    correction: Values | None = None
    known: Marks | None = None

    @classmethod
    def of(
        cls,
        a_ns: Values,
        r_ns: Values,
        h_ns: Values | int,
        *,
        assumed: bool = False,
        correction: Values | None = None,
    ) -> Evidence:
        """Sort and check snapshots.

        Args:
            a_ns: readings of clock a, int64 ns, in any order.
            r_ns: offsets b - a, int64 ns.
            h_ns: half-widths, int64 ns, 0 or more: one each, or one for all.
            assumed: the half-widths are an assumption, not measured.
            correction: of the rate, one each; see `Evidence`.

        Raises:
            UsageError: no snapshots, lengths that differ, negative half-widths.
            ConversionError: (overflow) an offset or half-width beyond 73 years.
        """
        a, r = _column(a_ns), _column(r_ns)
        h = _column(np.full(len(a), h_ns) if np.ndim(h_ns) == 0 else h_ns)
        if not len(a) == len(r) == len(h):
            raise UsageError(f"{len(a)} readings, {len(r)} offsets and {len(h)} half-widths")
        if correction is not None and len(correction) != len(a):
            raise UsageError(f"{len(a)} readings, and {len(correction)} corrections of their rate")
        if not len(a):
            raise UsageError("a tube needs a snapshot of its two clocks")
        if int(h.min()) < 0:
            raise UsageError(f"half-width {int(h.min())} ns: use 0 or more")
        _check_extreme(max(int(r.max()), -int(r.min()), 2 * int(h.max())))
        group = order = np.arange(len(a), dtype=np.int64)
        if not np.all(a[1:] > a[:-1]):
            order = np.lexsort((h, r, a)).astype(np.int64)
            a, r, h = a[order], r[order], h[order]
            correction = None if correction is None else correction[order]
        low, high = r - h, r + h
        if np.any(a[1:] == a[:-1]):
            group, low, high = _merged(a, low, high)
            a = a[group]
            if correction is not None:
                correction = _one_correction(correction, group)
        return cls(a, low, high, order, group, assumed, correction)

    @classmethod
    def of_bounds(
        cls,
        a_ns: Values,
        low_ns: Values,
        high_ns: Values,
        *,
        assumed: bool = False,
        correction: Values | None = None,
    ) -> Evidence:
        """Sort, check and merge bounds of the offset, each of one side or of both.

        Bounds at one reading become one where they agree: the highest low, the lowest high.

        Args:
            a_ns: readings of clock a, int64 ns, in any order.
            low_ns: the offset b - a was not below it, int64 ns; OPEN_LOW where it says nothing.
            high_ns: nor above it, int64 ns; OPEN_HIGH where it says nothing.
            assumed, correction: as in `of`.

        Raises:
            UsageError: no bounds, lengths that differ, both sides open, a low above its high.
            ConversionError: (overflow) a bound beyond 73 years.
        """
        a, low, high = _column(a_ns), _column(low_ns), _column(high_ns)
        if not len(a) == len(low) == len(high):
            raise UsageError(f"{len(a)} readings, {len(low)} low sides and {len(high)} high ones")
        if correction is not None and len(correction) != len(a):
            raise UsageError(f"{len(a)} readings, and {len(correction)} corrections of their rate")
        if not len(a):
            raise UsageError("a tube needs a bound of its two clocks")
        has_low, has_high = low != OPEN_LOW, high != OPEN_HIGH
        if not np.all(has_low | has_high):
            raise UsageError("a bound says something about one side at least")
        if np.any(low > high):
            raise UsageError("a bound's low side is not above its high side")
        for side, has in ((low, has_low), (high, has_high)):
            _check_extreme(int(np.abs(side, where=has, out=np.zeros_like(side)).max()))
        group = order = np.arange(len(a), dtype=np.int64)
        if not np.all(a[1:] > a[:-1]):
            order = np.argsort(a, kind="stable").astype(np.int64, copy=False)
            a, low, high = a[order], low[order], high[order]
            group, order, low, high = _merged_bounds(a, order, low, high)
            a = a[group]
            if correction is not None:
                correction = _one_correction(correction[order], group)
            has_low, has_high = low != OPEN_LOW, high != OPEN_HIGH
        known = (LOW_KNOWN * has_low + HIGH_KNOWN * has_high).astype(np.uint8)
        low, high = np.where(has_low, low, high - WIDEST), np.where(has_high, high, low + WIDEST)
        all_known = (known == LOW_KNOWN | HIGH_KNOWN).all()
        return cls(a, low, high, order, group, assumed, correction, None if all_known else known)

    @property
    def r(self) -> Values:
        """The middle of each interval, int64 ns, rounded down; of an open one its other side."""
        middle: Values = self.low + (self.high - self.low) // 2
        if self.known is None:
            return middle
        has_low, has_high = self.known & LOW_KNOWN != 0, self.known & HIGH_KNOWN != 0
        return np.where(has_low & has_high, middle, np.where(has_low, self.low, self.high))

    @property
    def half(self) -> Floats:
        """Half the width of each interval, float64 ns."""
        half: Floats = (self.high - self.low) / 2.0
        return half

    @property
    def one_sided(self) -> npt.NDArray[np.bool_]:
        """Which intervals have one side only, bool[n]."""
        sided: npt.NDArray[np.bool_] = self.sides != LOW_KNOWN | HIGH_KNOWN
        return sided

    @property
    def sides(self) -> Marks:
        """Which sides of each interval say something: `known`, also where all do."""
        if self.known is None:
            return np.full(len(self.a), LOW_KNOWN | HIGH_KNOWN, dtype=np.uint8)
        return self.known

    def said(self) -> tuple[Values, Values]:
        """The sides of each interval, the other side in place of one that says nothing."""
        if self.known is None:
            return self.low, self.high
        return (
            np.where(self.known & LOW_KNOWN, self.low, self.high),
            np.where(self.known & HIGH_KNOWN, self.high, self.low),
        )

    def given(self, which: Values) -> Ragged:
        """The numbers, ascending, of the given snapshots that some snapshots consist of."""
        ends = np.append(self.group, len(self.order))[which + 1]
        return Ragged.slices(self.group[which], ends, self.order).ascending()

    def without(self, blank: Marks) -> Evidence:
        """The same snapshots, without information in those marked; their offset is interpolated."""
        gone, kept = np.flatnonzero(blank), np.flatnonzero(blank == 0)
        low, high, r = self.low.copy(), self.high.copy(), self.r
        after = np.minimum(np.searchsorted(kept, gone), len(kept) - 1)
        left, right = kept[np.maximum(after - 1, 0)], kept[after]
        # Unsigned differences: two readings may be more than int64 apart.
        a = self.a.view(np.uint64)
        share = (a[gone] - a[left]) / np.maximum(a[right] - a[left], np.uint64(1))
        line = r[left] + np.rint(share * (r[right] - r[left])).astype(np.int64)
        low[gone], high[gone] = line - WIDEST, line + WIDEST
        return replace(self, low=low, high=high)


def _column(values: Values | int) -> Values:
    array: npt.NDArray[np.generic] = np.asarray(values)
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise UsageError("snapshots are 1-d arrays of whole numbers (int64 ns)")
    return np.ascontiguousarray(array, dtype=np.int64)


def _check_extreme(extreme: int) -> None:
    if extreme > FARTHEST:
        raise ConversionError(
            f"an offset of {extreme} ns (or half-width of half as much) between two clocks: "
            f"more than {FARTHEST} ns cannot be bounded; check the snapshots' units",
            REASONS[OVERFLOW],
        )


def _one_correction(correction: Values, group: Values) -> Values:
    """The correction of each group, where all in it record the same."""
    least, most = (f.reduceat(correction, group) for f in (np.minimum, np.maximum))
    return np.where(least == most, least, NOT_RECORDED)


def _merged_bounds(
    a: Values, order: Values, low: Values, high: Values
) -> tuple[Values, Values, Values, Values]:
    """Merge bounds of one reading that agree; open sides take no part.

    Returns:
        where each begins, the order of the given ones, and the two sides.
    """
    group = np.flatnonzero(np.append(True, a[1:] != a[:-1]))
    lows, highs = np.maximum.reduceat(low, group), np.minimum.reduceat(high, group)
    clash = np.flatnonzero(lows > highs)
    if not len(clash):
        return group, order, lows, highs
    order = order.copy()
    ends = np.append(group[1:], len(a))
    begins: list[int] = []
    downs: list[int] = []
    ups: list[int] = []
    for g in clash.tolist():
        here = slice(int(group[g]), int(ends[g]))
        inside = np.lexsort((order[here], high[here], low[here]))
        order[here] = order[here][inside]
        rows = zip(low[here][inside].tolist(), high[here][inside].tolist(), strict=True)
        for k, (down, up) in enumerate(rows, here.start):
            if k > here.start and max(down, downs[-1]) <= min(up, ups[-1]):
                downs[-1], ups[-1] = max(down, downs[-1]), min(up, ups[-1])
            else:
                begins.append(k)
                downs.append(down)
                ups.append(up)
    agree = lows <= highs
    parts = ((group, begins), (lows, downs), (highs, ups))
    group, lows, highs = (
        np.concatenate([column[agree], np.array(more, dtype=np.int64)]) for column, more in parts
    )
    sort = np.argsort(group, kind="stable")
    return group[sort], order, lows[sort], highs[sort]


def _merged(a: Values, low: Values, high: Values) -> tuple[Values, Values, Values]:
    """Merge snapshots of one reading that agree: where each begins, and its interval."""
    group, lows, highs = [0], [int(low[0])], [int(high[0])]
    same = a[1:] == a[:-1]
    for k in range(1, len(a)):
        down, up = int(low[k]), int(high[k])
        if same[k - 1] and max(down, lows[-1]) <= min(up, highs[-1]):
            lows[-1], highs[-1] = max(down, lows[-1]), min(up, highs[-1])
        else:
            group.append(k)
            lows.append(down)
            highs.append(up)
    return (
        np.array(group, dtype=np.int64),
        np.array(lows, dtype=np.int64),
        np.array(highs, dtype=np.int64),
    )
