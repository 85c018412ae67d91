"""Offsets of several clocks that fit the estimates of all pairs best: every loop closes."""

from __future__ import annotations

from typing import Final

import numpy as np

from tracetime.graph.values import Floats, Values

# No estimate is surer than a nanosecond: fits stay well-conditioned, and readings are whole.
_LEAST_VARIANCE: Final = 1.0


def fit(n: int, pairs: Values, offsets: Floats, variances: Floats, pinned: int = 0) -> Floats:
    """Offsets of n clocks against one of them, by weighted least squares at each instant.

    Minimises the sum of (o_j - o_i - e_ij)^2 / v_ij (docs/error-bars.md, Paths).

    Args:
        n: how many clocks.
        pairs: int64[P, 2], clocks i and j of each pair; all clocks hang together by them.
        offsets: float64[P, K] ns, the estimates e_ij of j - i: of full precision only where they
            are small, so take off what is common before.
        variances: float64[P, K] ns^2, those of the estimates.
        pinned: the clock whose offset is 0.

    Returns:
        float64[n, K], ns.
    """
    instants = offsets.shape[1]
    one, other = pairs[:, 0], pairs[:, 1]
    weights = (1.0 / np.maximum(variances, _LEAST_VARIANCE)).T
    # A common factor changes no fit, and keeps the sums far from what floats cannot hold.
    weights = weights / weights.max(axis=1, keepdims=True)
    matrix = np.zeros((instants, n, n))
    right = np.zeros((instants, n))
    pulls = weights * offsets.T
    for pair, (i, j) in enumerate(zip(one.tolist(), other.tolist(), strict=True)):
        weight, pull = weights[:, pair], pulls[:, pair]
        matrix[:, i, i] += weight
        matrix[:, j, j] += weight
        matrix[:, i, j] -= weight
        matrix[:, j, i] -= weight
        right[:, j] += pull
        right[:, i] -= pull
    free = np.delete(np.arange(n), pinned)
    fitted = np.zeros((n, instants))
    if len(free):
        inner = matrix[:, free[:, None], free]
        fitted[free] = np.linalg.solve(inner, right[:, free, None])[..., 0].T
    return fitted
