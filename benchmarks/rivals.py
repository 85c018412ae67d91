"""Alternatives to the tube: floor, a line between neighbours, regressions.

And how they and the tube are compared with a truth.
"""

from __future__ import annotations

import numpy as np

from benchmarks.clocks import Floats, Values, nanoseconds
from tracetime.graph.tube.results import Bars
from tracetime.graph.tube.tube import Tube


def rms(error: Floats | Values) -> float:
    return float(np.sqrt(np.mean(np.square(error.astype(np.float64)))))


def floor(a: Values, r: Values, q: Values) -> Values:
    return q + r[np.maximum(np.searchsorted(a, q, side="right") - 1, 0)]


def linear(a: Values, r: Values, q: Values) -> Values:
    return q + r[0] + np.rint(np.interp(q - a[0], a - a[0], r - r[0])).astype(np.int64)


def local_regression(
    a: Values, r: Values, half: Values, q: Values, truth: Values
) -> tuple[float, float]:
    """The best bandwidth (s), and its rms, of local lines weighted by 1/h^2."""
    x, y, at = (a - a[0]) * 1e-9, (r - r[0]).astype(np.float64), (q - a[0]) * 1e-9
    best = (0.0, np.inf)
    for bandwidth in (15.0, 30.0, 60.0, 120.0, 240.0):
        weight = np.exp(-0.5 * ((at[:, None] - x) / bandwidth) ** 2) / half**2.0 + 1e-300
        total = weight.sum(1)
        mx, my = (weight * x).sum(1) / total, (weight * y).sum(1) / total
        dx = x - mx[:, None]
        spread = (weight * dx * dx).sum(1)
        slope = np.where(
            spread > 1e-9 * total,
            (weight * dx * (y - my[:, None])).sum(1) / np.maximum(spread, 1e-30),
            0.0,
        )
        error = rms(my + slope * (at - mx) - (truth - q - r[0]))
        best = min(best, (bandwidth, error), key=lambda pair: pair[1])
    return best


def one_line(a: Values, r: Values, q: Values, truth: Values, huber: bool) -> float:
    """rms of one line through all snapshots: least squares, or Huber's loss as in pyxdf."""
    x, y, at = (a - a[0]) * 1e-9, (r - r[0]).astype(np.float64), (q - a[0]) * 1e-9
    weight = np.ones(len(x))
    for _ in range(50 if huber else 1):
        slope, start = np.polyfit(x, y, 1, w=np.sqrt(weight))
        off = np.abs(y - start - slope * x)
        scale = max(1.345 * 1.4826 * float(np.median(off)), 1.0)
        weight = np.minimum(1.0, scale / np.maximum(off, 1e-9))
    return rms(start + slope * at - (truth - q - r[0]))


def outside(tube: Tube, q: Values, truth: Values, bars: Bars = "estimated") -> int:
    """How many truths are outside their bars."""
    got = tube.convert(q, bars=bars)
    return int(np.sum((truth < got.earliest) | (truth > got.latest)))


def outside_both(tube: Tube, q: Values, truth: Values) -> int:
    return outside(tube, q, truth) + outside(tube, q, truth, "guaranteed")


def queries(rng: np.random.Generator, first: float, last: float, n: int) -> Values:
    return np.sort(nanoseconds(rng.uniform(first, last, n)))
