"""The rows of a tube of one-sided bounds: which sides are open, and the estimate in each.

The estimate is a curve of each segment, with knots of its own: rows are cut at them. Estimated and
guaranteed bars have rows of their own, for far fewer bounds say something to the estimated ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from tracetime._kernels.evidence import assemble, cones
from tracetime._kernels.graph import make_grid
from tracetime._kernels.tube import RowTable
from tracetime.graph.tube.evidence import HIGH_KNOWN, LOW_KNOWN, OPEN_HIGH, OPEN_LOW
from tracetime.graph.tube.runs import Runs
from tracetime.graph.tube.segments import Segments
from tracetime.graph.values import Floats, Marks, Values

if TYPE_CHECKING:
    from tracetime.graph.tube.order_estimate import OrderCurve

_AT, _MODE, _BASE = 0, 13, 15
"""Words of a row's bar (_kernels/tube.pxd), with the bits of its mode:"""

_LIMITED: Final = 2
_KEPT: Final = 16
_OPEN_LOW: Final = 4
_OPEN_HIGH: Final = 8

_CHUNK: Final = 1 << 15
"""Rows whose estimate is worked out at a time."""


class Rows(NamedTuple):
    """The rows of a tube, as `_kernels.evidence.assemble` gives them."""

    starts: Values
    bars: Values
    limits: Values
    curves: Floats
    cells: Values

    def at(self, values: Values) -> Rows:
        """The rows that some values are in, and the one after each, which says where it ends."""
        k = np.searchsorted(self.starts, values, side="right") - 1
        which = np.unique(np.append(k, k + 1).clip(0, len(self.starts) - 1))
        starts, bars, curves, cells = (
            column[which] for column in (self.starts, self.bars, self.curves, self.cells)
        )
        return Rows(starts, bars, self.limits, curves, cells)


class OffsetCurve(NamedTuple):
    """The estimate of the offset b - a over a segment: a cubic from knot to knot, then straight.

    Attributes:
        x: readings of clock a, int64 ns, ascending; one at least.
        base: what the offsets count from, ns.
        offset: float64 ns, one a knot.
        rate: float64 ns per ns, one a knot.
        is_kept: whether it is the estimate where a side is open, too; else the closed side is.
    """

    x: Values
    base: int
    offset: Floats
    rate: Floats
    is_kept: bool = False

    @classmethod
    def of(cls, curve: OrderCurve) -> OffsetCurve:
        """That of a curve of orders or messages."""
        return cls(curve.x, curve.origin_ns, curve.offset, curve.rate)


def estimated_rows(runs: Runs, segments: Segments, drift: int) -> Rows:
    """The rows of the estimated bars, without any estimate; drift in 2^-52."""
    here, n = runs.evidence, len(runs.evidence.a)
    columns = (here.a, np.zeros(n, dtype=np.int64), here.low, here.high)
    knots = (runs.limits, runs.limits, runs.knots)
    rows = Rows(*assemble(*columns, drift, *knots, np.zeros((n, 2)), runs.table(), True))
    owner, after = (_run_segments(runs, rows.cells[:, i]) for i in (1, 2))
    _mark_open(rows, segments, owner, after)
    return rows


def with_curves(rows: Rows, runs: Runs, curves: Sequence[OffsetCurve | None]) -> Rows:
    """The rows of estimated bars, cut at the knots of their segments' curves, with these.

    Rows of a segment without one stay as they are.
    """
    owner = _run_segments(runs, rows.cells[:, 1])
    given = {g: curve.x for g, curve in enumerate(curves) if curve is not None}
    if not given:
        return rows
    knots = np.concatenate(list(given.values()))
    of = np.repeat(list(given), [len(x) for x in given.values()])
    inside = np.searchsorted(rows.starts, knots, side="right") - 1
    starts = np.union1d(rows.starts, knots[owner[inside] == of])
    which = np.searchsorted(rows.starts, starts, side="right") - 1
    made = Rows(starts, rows.bars[which], rows.limits, rows.curves[which], rows.cells[which])
    _set_curves(made, owner[which], curves)
    return made


def guaranteed_rows(segments: Segments, drift: int, curves: list[OffsetCurve]) -> Rows:
    """The rows of the guaranteed bars: cut at every live bound, and at the curves' knots."""
    a, knots, first, last = _with_knots(segments, curves, drift)
    slope, width = np.zeros_like(first), np.full_like(first, drift)
    whole = np.stack([np.arange(len(first)), first, last, slope, width, slope, slope], axis=1)
    # Offsets matter in knee zones alone, of which these have none.
    columns, smooth = (a, a, a, a), np.zeros((len(a), 2))
    runs = np.ascontiguousarray(whole, dtype=np.int64)
    rows = Rows(*assemble(*columns, drift, knots, knots, knots, smooth, runs))
    # There may be very many rows: what they are made of goes before more is made of them.
    del a, knots, columns, smooth
    # These are the limits themselves.
    rows.bars[:, _MODE] &= ~_LIMITED
    owner, after = (np.searchsorted(first, rows.cells[:, i], side="right") - 1 for i in (1, 2))
    _mark_open(rows, segments, owner, after)
    _set_curves(rows, owner, curves)
    return rows._replace(limits=rows.limits[:0].copy())


def offset_curves(
    rows: Rows, runs: Runs, segments: Segments, curves: Sequence[OrderCurve | None]
) -> list[OffsetCurve]:
    """The estimate of each segment: its curve; without one, the middle of the bars at every bound.

    Of open bars it is a closed side.
    """
    middle: Values | None = None
    is_open = np.logical_or(*segments.open_sides)
    ends = np.searchsorted(runs.segment, np.arange(len(is_open) + 1))
    made = []
    for g, curve in enumerate(curves):
        if curve is not None:
            made.append(OffsetCurve.of(curve))
        elif is_open[g]:
            made.append(_flat(segments, int(segments.last[g])))
        else:
            middle = _middles(rows, runs.evidence.a) if middle is None else middle
            here = slice(int(runs.first[ends[g]]), int(runs.last[ends[g + 1] - 1]) + 1)
            made.append(_through(runs.evidence.a[here], middle[here]))
    return made


def placed_curves(segments: Segments, ticks_ns: int) -> list[OffsetCurve]:
    """The estimate of each segment of a clock that was put on the other one.

    One offset: 0, or what of all that no bound contradicts is the nearest to it.

    Args:
        ticks_ns: those of both clocks, by which bounds are wider than what was read.
    """
    here, nothing = segments.evidence, np.zeros(1)
    assert here.known is not None
    lows = np.where(here.known & LOW_KNOWN, here.low, OPEN_LOW)
    highs = np.where(here.known & HIGH_KNOWN, here.high, OPEN_HIGH)
    made = []
    for first, last in zip(segments.first.tolist(), segments.last.tolist(), strict=True):
        low, high = int(lows[first : last + 1].max()), int(highs[first : last + 1].min())
        offset = 0
        if low > 0:
            offset = max(low, min(low + ticks_ns, high))
        elif high < 0:
            offset = min(high, max(high - ticks_ns, low))
        made.append(OffsetCurve(here.a[first : first + 1], offset, nothing, nothing, is_kept=True))
    return made


def _through(x: Values, middle: Values) -> OffsetCurve:
    """A curve through offsets, its rate that of their neighbours."""
    base = int(middle[0])
    offset = (middle - base).astype(np.float64)
    rate = np.zeros(len(x))
    if len(x) > 1:
        between = np.diff(offset) / since(x[1:], x[:-1])
        rate = np.append(between, between[-1])
        rate[1:-1] = (between[1:] + between[:-1]) / 2
    return OffsetCurve(x, base, offset, rate)


def _mark_open(rows: Rows, segments: Segments, here: Values, after: Values) -> None:
    """Mark the rows of segments that nothing bounds from below, or from above."""
    for sides, bit in zip(segments.open_sides, (_OPEN_LOW, _OPEN_HIGH), strict=True):
        if sides.any():
            rows.bars[sides[here] | sides[after], _MODE] |= bit


def _run_segments(runs: Runs, which: Values) -> Values:
    """The segments of some of the runs' bounds."""
    found: Values = runs.segment[np.searchsorted(runs.first, which, side="right") - 1]
    return found


def _with_knots(
    segments: Segments, curves: list[OffsetCurve], drift: int
) -> tuple[Values, Values, Values, Values]:
    """The drift cones at the live bounds and at the knots of the curves.

    Returns:
        the readings; the cones there; the first and the last of each segment.
    """
    here, first, last = segments.evidence, segments.first.copy(), segments.last.copy()
    inside = []
    for g, (x, *_) in enumerate(curves):
        begins = x > here.a[first[g]] if g else np.ones(len(x), dtype=bool)
        ends = x < here.a[last[g]] if g + 1 < len(curves) else np.ones(len(x), dtype=bool)
        inside.append(x[begins & ends])
    added = np.setdiff1d(np.concatenate(inside), here.a)
    if not len(added):
        return here.a, segments.knots, first, last
    assert here.known is not None
    at = np.searchsorted(here.a, added)
    first += np.searchsorted(at, first, side="right")
    last += np.searchsorted(at, last, side="right")
    a: Values = np.insert(here.a, at, added)
    first[0], last[-1] = 0, len(a) - 1
    low: Values = np.insert(here.low, at, 0)
    high: Values = np.insert(here.high, at, 0)
    # They say nothing: what they allow follows from the bounds.
    known: Marks = np.insert(here.known, at, 0)
    drifts = np.full_like(first, drift)
    knots = cones(a, low, high, first, last, np.zeros_like(first), drifts, known)
    return a, knots, first, last


def _flat(segments: Segments, k: int) -> OffsetCurve:
    """The closed side of one bound, everywhere."""
    known, evidence = segments.evidence.known, segments.evidence
    low = known is None or bool(known[k] & LOW_KNOWN)
    nothing = np.zeros(1)
    return OffsetCurve(
        evidence.a[k : k + 1], int((evidence.low if low else evidence.high)[k]), nothing, nothing
    )


def _middles(rows: Rows, a: Values) -> Values:
    """The offset in the middle of the bars at some readings."""
    near = int(np.searchsorted(rows.starts, a[0]))
    n_near = int(np.searchsorted(rows.starts, a[-1], side="right")) - near
    grid = make_grid(rows.starts[near : near + n_near])
    table = RowTable(rows.starts, rows.bars, rows.limits, rows.curves, near, n_near, grid)
    estimate, earliest, latest = (np.empty(len(a), dtype=np.int64) for _ in range(3))
    table.convert(a, estimate, earliest, latest, np.empty(len(a), dtype=np.uint8))
    low, high = earliest - a, latest - a
    middle: Values = low + (high - low) // 2
    return middle


def _set_curves(rows: Rows, owner: Values, curves: Sequence[OffsetCurve | None]) -> None:
    """Write the estimate into rows; owner: the segment of each."""
    after = np.append(rows.starts[1:], rows.starts[-1:])
    ends = np.searchsorted(owner, np.arange(len(curves) + 1))
    for g, curve in enumerate(curves):
        if curve is None:
            continue
        for begin in range(int(ends[g]), int(ends[g + 1]), _CHUNK):
            mine = slice(begin, min(begin + _CHUNK, int(ends[g + 1])))
            rows.bars[mine, _BASE] = curve.base
            rows.bars[mine, _MODE] |= _KEPT * curve.is_kept
            rows.curves[mine] = _cubics(curve, rows.starts[mine], after[mine], rows.bars[mine, _AT])


def _cubics(curve: OffsetCurve, starts: Values, after: Values, at: Values) -> Floats:
    """The coefficients of a curve in rows, of the distance from each row's anchor.

    A row that no knot could cut, between two segments, goes straight on from its start.
    """
    x, n = curve.x, len(curve.x)
    piece = np.searchsorted(x, starts, side="right") - 1
    k = np.clip(piece, 0, n - 1)
    made = np.zeros((len(starts), 4))
    made[:, 0], made[:, 1] = curve.offset[k], curve.rate[k]
    bent = np.flatnonzero((piece >= 0) & (piece < n - 1))
    j = piece[bent]
    d = since(x[j + 1], x[j])
    mean = (curve.offset[j + 1] - curve.offset[j]) / d
    v0, v1 = curve.rate[j], curve.rate[j + 1]
    made[bent, 2] = (3 * mean - 2 * v0 - v1) / d
    made[bent, 3] = (v0 + v1 - 2 * mean) / (d * d)
    straight = bent[after[bent] > x[j + 1]]
    made = _moved(made, np.where(piece >= 0, since(starts, x[k]), 0.0))
    made[straight, 2:] = 0.0
    return _moved(made, since(at, np.where(piece >= 0, starts, x[k])))


def since(at: Values, x: Values) -> Floats:
    """at - x as floats; two readings may be more than int64 apart."""
    ahead = (at.view(np.uint64) - x.view(np.uint64)).astype(np.float64)
    behind = (x.view(np.uint64) - at.view(np.uint64)).astype(np.float64)
    return np.where(at >= x, ahead, -behind)


def _moved(c: Floats, dx: Floats) -> Floats:
    """The same cubics, their distances counted from dx further on."""
    made = np.empty_like(c)
    made[:, 0] = c[:, 0] + dx * (c[:, 1] + dx * (c[:, 2] + dx * c[:, 3]))
    made[:, 1] = c[:, 1] + dx * (2 * c[:, 2] + 3 * dx * c[:, 3])
    made[:, 2] = c[:, 2] + 3 * dx * c[:, 3]
    made[:, 3] = c[:, 3]
    return made
