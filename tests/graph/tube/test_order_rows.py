"""Rows cut at the knots of a curve: the same bars, and that curve as the estimate."""

from __future__ import annotations

import numpy as np
import pytest
from message_worlds import Clocks, Model

from tracetime._kernels.graph import make_grid
from tracetime._kernels.tube import RowTable
from tracetime.graph.tube.evidence import OPEN_HIGH, OPEN_LOW, Evidence
from tracetime.graph.tube.limits import Limits, slope_up
from tracetime.graph.tube.order_rows import (
    OffsetCurve,
    Rows,
    estimated_rows,
    guaranteed_rows,
    with_curves,
)
from tracetime.graph.tube.runs import find_runs
from tracetime.graph.tube.segments import Segments, find_segments

S = 1_000_000_000
LIMITS = Limits(200e-6, 1e-6, False)
DRIFT = slope_up(LIMITS.drift)


def segments_of(seed: int, steps: list[tuple[float, float]]) -> Segments:
    world = Model(rate=20, clocks=Clocks(seconds=60.0, steps=steps)).world(seed)
    a, bound, above = world.bounds()
    low, high = np.where(above, OPEN_LOW, bound), np.where(above, bound, OPEN_HIGH)
    return find_segments(Evidence.of_bounds(a, low, high), LIMITS)


def converted(rows: Rows, values: np.ndarray) -> list[np.ndarray]:
    grid = make_grid(rows.starts[1:])
    table = RowTable(*rows[:4], 1, len(rows.starts) - 1, grid)
    made = [np.empty(len(values), dtype=np.int64) for _ in range(3)]
    table.convert(values, *made, np.empty(len(values), dtype=np.uint8))
    return made


def hermite(curve: OffsetCurve, t: np.ndarray) -> np.ndarray:
    x, (y, v) = curve.x.astype(float), (curve.offset, curve.rate)
    k = np.clip(np.searchsorted(curve.x, t, side="right") - 1, 0, len(x) - 2)
    d = x[k + 1] - x[k]
    u = (t - x[k]) / d
    inside = y[k] * (1 + 2 * u) * (1 - u) ** 2 + y[k + 1] * u * u * (3 - 2 * u)
    inside += d * u * (1 - u) * (v[k] * (1 - u) - v[k + 1] * u)
    before, after = y[0] + v[0] * (t - x[0]), y[-1] + v[-1] * (t - x[-1])
    return curve.base + np.where(t < x[0], before, np.where(t >= x[-1], after, inside))


def curve_of(segments: Segments, g: int, begin: int, end: int) -> OffsetCurve:
    """A wavy curve about the middle of the segment's bars."""
    rng = np.random.default_rng(g)
    x = np.unique(rng.integers(begin, end, 40))
    knots = segments.knots[segments.first[g]]
    base = int(knots[0] + knots[2]) // 2
    rate = rng.uniform(20e-6, 40e-6, len(x))
    offset = 30e-6 * (x - int(segments.evidence.a[segments.first[g]])) + rng.normal(0, 50, len(x))
    return OffsetCurve(x, base, offset, rate)


@pytest.mark.parametrize("kind", ["estimated", "guaranteed"])
def test_the_estimate_follows_the_curve_from_knot_to_knot(kind: str) -> None:
    segments = segments_of(9101, [(3e10, 2e6)])
    runs = find_runs(segments, LIMITS)
    a, first, last = segments.evidence.a, segments.first, segments.last
    curves = [
        curve_of(segments, 0, -2 * S, int(a[last[0]])),
        curve_of(segments, 1, int(a[first[1]]), 62 * S),
    ]
    plain = estimated_rows(runs, segments, DRIFT)
    rows = with_curves(plain, runs, curves)
    if kind == "guaranteed":
        plain = guaranteed_rows(segments, DRIFT, [c._replace(x=a[:1]) for c in curves])
        rows = guaranteed_rows(segments, DRIFT, curves)
    knots = np.concatenate([curve.x for curve in curves])
    assert np.all(np.isin(knots, rows.starts))
    t = np.sort(np.random.default_rng(0).integers(-5 * S, 65 * S, 4000))
    estimate, earliest, latest = converted(rows, t)
    bars = converted(plain, t)[1:]
    assert earliest.tolist() == bars[0].tolist() and latest.tolist() == bars[1].tolist()
    second = t >= a[first[1]]
    want = np.where(second, hermite(curves[1], t), hermite(curves[0], t))
    inside = (want > earliest - t + 1) & (want < latest - t - 1)
    assert inside.sum() > 3000
    assert np.abs(estimate - t - want)[inside].max() <= 1


def test_a_row_between_segments_goes_straight_on() -> None:
    """A knot beyond the last bound of a segment cuts no row; what bends there is not drawn out."""
    segments = segments_of(9102, [(3e10, 2e6)])
    a, first, last = segments.evidence.a, segments.first, segments.last
    x = np.array([int(a[last[0]]) - S, int(a[first[1]]) - 1])
    base = int(segments.knots[last[0], 0])
    bend = OffsetCurve(x, base, np.array([0.0, 0.0]), np.array([-1e-6, 1e-6]))
    flat = OffsetCurve(a[first[1] : first[1] + 1], base, np.zeros(1), np.zeros(1))
    rows = guaranteed_rows(segments, DRIFT, [bend, flat])
    which = int(np.searchsorted(rows.starts, a[last[0]] + 1, side="right")) - 1
    assert np.all(rows.curves[which, 2:] == 0)
    start = float(hermite(bend, rows.starts[which : which + 1])[0]) - base
    along = rows.curves[which, 0] + rows.curves[which, 1] * (
        int(rows.starts[which]) - int(rows.bars[which, 0])
    )
    assert along == pytest.approx(start, abs=1e-6)
