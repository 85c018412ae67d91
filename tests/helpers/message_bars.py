"""What a rate limit alone makes of messages, in NumPy and floats: where an estimate begins."""

from __future__ import annotations

import numpy as np
from message_worlds import Bounds, Values

from tracetime.graph.tube.evidence import WIDEST


def drift_bars(
    bounds: Bounds, drift: float = 200e-6, points: int = 65
) -> tuple[Values, Values, Values]:
    """Readings of A, least and greatest offset there; int64 ns, open sides `WIDEST` away."""
    origin = int(bounds.bound[0])
    a, low, high = bounds.floats(origin)
    cone, backwards = drift * (a - a[0]), slice(None, None, -1)
    high = np.minimum(
        np.minimum.accumulate(high - cone) + cone,
        np.minimum.accumulate((high + cone)[backwards])[backwards] - cone,
    )
    low = np.maximum(
        np.maximum.accumulate(low + cone) - cone,
        np.maximum.accumulate((low - cone)[backwards])[backwards] + cone,
    )
    some = np.unique(np.linspace(0, len(a) - 1, points).astype(int))
    low, high = low[some], high[some]
    low = np.where(np.isfinite(low), low, high - WIDEST)
    high = np.where(np.isfinite(high), high, low + WIDEST)
    return (
        bounds.a[some],
        np.floor(low).astype(np.int64) + origin,
        np.ceil(high).astype(np.int64) + origin,
    )
