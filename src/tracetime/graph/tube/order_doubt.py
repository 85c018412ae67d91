"""The rates that virtual pings do not exclude.

The likeliest walk of the rate is the curve's. Where pings are few, walks that are far quicker are
hardly less likely: what all of these allow, the rate may be.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from tracetime._kernels.evidence import likelihoods, smooth_walk
from tracetime.graph.values import Floats

DEVIATIONS: Final = 3.0
"""The rate may be so many of its deviations from the curve's, where it says how far it strays."""

# Where the rate walks with density q, the offset strays by q T^3 / 192 (a variance) from a cubic
# half-way between pings T apart, and the rate by q T / 12 at most.
STRAY: Final = 3 / 192
"""The variance by which a window's ping is off, besides its noise, in q T^3: a message may stand
anywhere in its window. Of 1, 3 and 10 times a cubic's, 3 was best."""

_RATE_STRAY: Final = 1 / 12

# Walks up to so many times as quick as is usual are possible too, where they are e times likelier.
_QUICKER: Final = 10.0
_LIKELIER: Final = 1.0


class Pings(NamedTuple):
    """Virtual pings: seconds, ascending; ns; the variance of each, ns^2.

    begin, end: of the windows they are the centres of, seconds. window: its length.
    """

    x: Floats
    offset: Floats
    noise: Floats
    begin: float
    end: float
    window: float


class Rates(NamedTuple):
    """What is not excluded of the rate at each ping and half-way to its neighbours, ns/s.

    density: the greatest of the rate's walk, ns^2/s^3.
    """

    least: Floats
    most: Floats
    density: float


def rates_left(pings: Pings, wander: float) -> Rates | None:
    """The rates that the pings do not exclude; None where float64 does not hold the likelihoods.

    wander: ns/s, by how much the rate walks in a second at most, unless quicker walks are likelier.
    """
    x, offset, noise = pings[:3]
    stray = STRAY * pings.window**3
    found, densities, factors = likelihoods(x, offset, noise, _QUICKER * wander, stray)
    if np.isnan(found).any():
        return None
    usual = densities <= 2 * wander**2
    if found[~usual].max(initial=-np.inf) <= found[usual].max() + _LIKELIER:
        found, densities = found[usual], densities[usual]
    left = np.argwhere(found >= found.max() - DEVIATIONS**2 / 2)
    least, most = np.full(len(x), np.inf), np.full(len(x), -np.inf)
    unseen = _unseen(pings)
    for step, scale in left.tolist():
        density = float(densities[step])
        state = smooth_walk(x, offset, noise, float(factors[scale]), density, stray)
        low, high = _between(x, state)
        doubt = DEVIATIONS * np.sqrt(state[:, 3] + density * unseen)
        least, most = np.minimum(least, low - doubt), np.maximum(most, high + doubt)
    return Rates(least, most, float(densities[left[0, 0]]))


def _between(x: Floats, state: Floats) -> tuple[Floats, Floats]:
    """The least and the greatest rate at each ping, and half-way to its neighbours on the cubic."""
    rate = state[:, 1]
    half_way = 1.5 * np.diff(state[:, 0]) / np.diff(x) - (rate[1:] + rate[:-1]) / 4
    least, most = rate.copy(), rate.copy()
    for part in (slice(None, -1), slice(1, None)):
        np.minimum(least[part], half_way, out=least[part])
        np.maximum(most[part], half_way, out=most[part])
    return least, most


def _unseen(pings: Pings) -> Floats:
    """The time about each ping in which the rate may stray from the cubic's, seconds."""
    gaps = _RATE_STRAY * np.diff(pings.x)
    before = np.append(pings.x[0] - pings.begin, gaps)
    after = np.append(gaps, pings.end - pings.x[-1])
    unseen: Floats = np.maximum(before, after)
    return unseen
