"""What a rate limit alone makes of messages, in NumPy and floats; and the tubes of messages."""

from __future__ import annotations

import numpy as np
from message_worlds import PPM, Bounds, S, Values, World

from tracetime.graph.tube.evidence import OPEN_HIGH, OPEN_LOW, WIDEST, Evidence
from tracetime.graph.tube.limits import Limits
from tracetime.graph.tube.results import Reached
from tracetime.graph.tube.tube import Tube


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


def tube_of(world: World, declared: bool = False, drift: float = 200 * PPM) -> Tube:
    bounds = world.bounds()
    low = np.where(bounds.above, OPEN_LOW, bounds.bound)
    high = np.where(bounds.above, bounds.bound, OPEN_HIGH)
    return Tube(Evidence.of_bounds(bounds.a, low, high), Limits(drift, 1 * PPM, declared))


def asked(world: World, tube: Tube, seconds: float) -> tuple[Values, Reached, Values]:
    """Readings of A every 100 ms, what the tube says, and the true reading of B."""
    at = (np.arange(1, seconds - 1, 0.1) * S).astype(np.int64) + world.a_ns
    return at, tube.convert(at), at + np.rint(world.truth(at)).astype(np.int64) + world.origin_ns
