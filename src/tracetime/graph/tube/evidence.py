"""The evidence about a pair of clocks: intervals that the offset of b from a lay in.

Snapshot k bounds the offset b - a to [r_k - h_k, r_k + h_k] when clock a read a_k. Here are
the assumed half-width where a trace gives none, and the columns that the sweeps work on; how a_k,
r_k and h_k follow from readings is in joint_readings.py (design: error-bars.md, Evidence).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import numpy.typing as npt

from tracetime._kernels.tube.sweep import cut
from tracetime.errors import OVERFLOW, REASONS, ConversionError, UsageError
from tracetime.graph.tube.limits import Limits, slope_up
from tracetime.quantiles import quantile

Values = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Marks = npt.NDArray[np.uint8]

FARTHEST: Final = 1 << 61
"""Offsets and half-widths stay below this many ns (73 years), so that sums of them fit in int64."""

WIDEST: Final = 1 << 60
"""The half-width of a snapshot without information: half of what an offset may be."""

NOT_RECORDED: Final = -(1 << 63)
"""Stands for a frequency correction that a snapshot does not record."""

LEAST_ASSUMED_NS: Final = 1_000
"""Reading two clocks in turn takes about as long."""

PULLED_APART_NS: Final = 1_000_000
"""A busy machine may delay one of two readings by so much; a step as small is less likely."""

WINDOW: Final = 8
"""Snapshots from which one half-width is estimated: few change their rate within so many."""

LEAST_WINDOW: Final = 3
"""Two snapshots agree with some slope whatever their half-widths."""

MOST_WINDOWS: Final = 4_096
"""Enough for a 90th percentile; more cost time only."""


@dataclass(frozen=True, eq=False, slots=True)
class Evidence:
    """Snapshots of a pair, ascending on clock a; those of one reading that agree are merged.

    Attributes:
        a: readings of clock a, int64 ns.
        low, high: the offset's interval at each, int64 ns.
        r: its middle, int64 ns, rounded down.
        half: half its width, float64 ns.
        order, group: the given snapshots in sorted order, and where each of `a` begins in it.
        assumed: whether the half-widths were assumed.
        correction: how much steeper the steering of the clocks made the offset at each, int64 in
            2^-52 ns per ns, or NOT_RECORDED; None where no snapshot records any.
    """

    a: Values
    low: Values
    high: Values
    r: Values
    half: Floats
    order: Values
    group: Values
    assumed: bool
    correction: Values | None = None

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
        extreme = max(int(r.max()), -int(r.min()), 2 * int(h.max()))
        if extreme > FARTHEST:
            raise ConversionError(
                f"an offset of {extreme} ns (or half-width of half as much) between two clocks: "
                f"more than {FARTHEST} ns cannot be bounded; check the snapshots' units",
                REASONS[OVERFLOW],
            )
        group = order = np.arange(len(a), dtype=np.int64)
        if not np.all(a[1:] > a[:-1]):
            order = np.lexsort((h, r, a)).astype(np.int64)
            a, r, h = a[order], r[order], h[order]
            correction = None if correction is None else correction[order]
        low, high = r - h, r + h
        if np.any(a[1:] == a[:-1]):
            group, low, high = _merged(a, low, high)
            a, r = a[group], low + (high - low) // 2
            if correction is not None:
                least, most = (f.reduceat(correction, group) for f in (np.minimum, np.maximum))
                correction = np.where(least == most, least, NOT_RECORDED)
        return cls(a, low, high, r, (high - low) / 2.0, order, group, assumed, correction)

    def given(self, which: Values) -> list[tuple[int, ...]]:
        """The numbers, ascending, of the given snapshots that some snapshots consist of."""
        starts = self.group[which]
        ends = np.append(self.group, len(self.order))[which + 1]
        if np.all(ends - starts == 1):
            return list(zip(self.order[starts].tolist(), strict=True))
        order = self.order.tolist()
        about = zip(starts.tolist(), ends.tolist(), strict=True)
        return [tuple(sorted(order[start:end])) for start, end in about]

    def without(self, blank: Marks) -> Evidence:
        """The same snapshots, without information in those marked; their offset is interpolated."""
        gone, kept = np.flatnonzero(blank), np.flatnonzero(blank == 0)
        low, high, r, half = self.low.copy(), self.high.copy(), self.r.copy(), self.half.copy()
        after = np.minimum(np.searchsorted(kept, gone), len(kept) - 1)
        left, right = kept[np.maximum(after - 1, 0)], kept[after]
        # Unsigned differences: two readings may be more than int64 apart.
        a = self.a.view(np.uint64)
        share = (a[gone] - a[left]) / np.maximum(a[right] - a[left], np.uint64(1))
        r[gone] = self.r[left] + np.rint(share * (self.r[right] - self.r[left])).astype(np.int64)
        low[gone], high[gone] = r[gone] - WIDEST, r[gone] + WIDEST
        half[gone] = float(WIDEST)
        return replace(self, low=low, high=high, r=r, half=half)


def _column(values: Values | int) -> Values:
    array: npt.NDArray[np.generic] = np.asarray(values)
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise UsageError("snapshots are 1-d arrays of whole numbers (int64 ns)")
    return np.ascontiguousarray(array, dtype=np.int64)


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


def assumed_half_width(a_ns: Values, r_ns: Values, limits: Limits, ticks_ns: int = 0) -> int:
    """The half-width (ns) to assume for snapshots that give none.

    Twice the 90th percentile, over windows of 8 snapshots of one segment (of as many as the
    longest one has, but 3), of the smallest half-width whose tube of width W is not empty; at least
    1,000 ns and the clocks' ticks. Where no segment has 3 snapshots, the disagreement of
    neighbours, if it is below `PULLED_APART_NS`.
    """
    least = max(LEAST_ASSUMED_NS, ticks_ns)
    evidence = Evidence.of(a_ns, r_ns, least)
    keep = np.ones(len(evidence.a), dtype=np.uint8)
    starts, _ = cut(evidence.a, evidence.low, evidence.high, slope_up(limits.drift), keep)
    kept = np.flatnonzero(keep)
    segment = np.searchsorted(np.asarray(starts), kept, side="right")
    longest = int(np.bincount(segment).max())
    if longest < LEAST_WINDOW:
        return max(least, _disagreement(evidence, limits))
    size = min(WINDOW, longest)
    first = np.flatnonzero(segment[size - 1 :] == segment[: len(kept) - size + 1])
    if len(first) > MOST_WINDOWS:
        first = first[np.linspace(0, len(first) - 1, MOST_WINDOWS).astype(np.int64)]
    windows = kept[first[:, None] + np.arange(size)]
    least_halves = _least_halves(evidence.a[windows], evidence.r[windows], limits)
    # A change of rate is in as many windows as one has snapshots, less one: in a short series that
    # would be a tenth of them.
    n = len(least_halves)
    share = min(0.9, (n - WINDOW) / (n - 1)) if n > 2 * WINDOW else 0.9
    return max(least, int(np.ceil(2 * quantile(least_halves, share))))


def _disagreement(evidence: Evidence, limits: Limits) -> int:
    """The greatest disagreement of neighbouring snapshots, ns, of those below 1 ms."""
    span = np.diff(evidence.a.view(np.uint64)).astype(np.float64)
    missed = np.abs(np.diff(evidence.r).astype(np.float64)) - limits.drift * span
    return int(np.ceil(missed[missed < PULLED_APART_NS].max(initial=0.0)))


# The search for a half-width ends here; it is then rounded up to whole ns.
_SETTLED_NS: Final = 0.125


def _least_halves(a: Values, r: Values, limits: Limits) -> Floats:
    """Per row of a and r, the smallest half-width for which some slope leaves a tube of width W.

    For a slope s that is max over pairs of (|dr - s da| - W da) / 2, convex in s.
    """
    j, k = np.triu_indices(a.shape[1], 1)
    da = (a[:, k] - a[:, j]).astype(np.float64)
    dr = (r[:, k] - r[:, j]).astype(np.float64)

    row = np.arange(len(a))
    low, high = np.full(len(a), -limits.drift), np.full(len(a), limits.drift)
    unsure_ns = 2 * limits.drift * da.max()
    for _ in range(max(0, math.ceil(math.log2(unsure_ns / _SETTLED_NS))) if unsure_ns else 0):
        slope = (low + high) / 2
        missed = dr - slope[:, None] * da
        worst = (np.abs(missed) - limits.least_wander * da).argmax(axis=1)
        # The pair that misses most shows which slope misses less.
        steeper = missed[row, worst] > 0
        low, high = np.where(steeper, slope, low), np.where(steeper, high, slope)
    missed = np.abs(dr - ((low + high) / 2)[:, None] * da) - limits.least_wander * da
    result: Floats = np.maximum(missed.max(axis=1) / 2, 0.0)
    return result
