"""Where the offsets of a host rise or fall for a while, faster than the rate of its clock wanders.

The rate of a crystal is nearly constant for minutes. What grows faster is the way of the pings: a
network that slowly gets busy in one direction. Which of the two lines is right is not known.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from tracetime._kernels.xdf import window_medians
from tracetime.formats.xdf.pings import Pings
from tracetime.formats.xdf.shifts import MOST_NS, NO_SHIFT, Floats, Shift, columns

_WANDER: Final = 3e-6
"""A clock's rate strays by less from that of the half hour around: crystals do by some 0.1 ppm for
each degree."""
_LONGEST_NS: Final = 300_000_000_000
"""What rises for longer is taken for the clock's own rate."""
_AROUND_NS: Final = 900_000_000_000
"""The usual rate at a time is the median of those up to so long before and after."""
_SMOOTH: Final = 4
"""The median of so many pings in a row, so that a single slow one does not count."""
_TIMES: Final = 2
"""The usual rate is found once more, without the ramps."""
_WHOLE: Final = 0.9
"""Of the time. If all of it is off the usual rate, that is the middle of the clock's own two."""


def largest_ramp(pings: Pings, scatter_ns: float) -> Shift:
    """Return how far offsets move by stretches that are no drift, by up to `MOST_NS` each.

    Args:
        pings: those of one clock, a second apart at least.
        scatter_ns: that of the pings; less is no ramp.

    Returns:
        How far, between any two of the pings, and the chunk of a ping where it is reached.
    """
    if len(pings.packet) < 4 * _SMOOTH:
        return NO_SHIFT
    at, offset = (_smooth(column) for column in columns(pings))
    inside = np.zeros(len(at) - 1, np.bool_)
    for _ in range(_TIMES):
        beyond = offset - _usual(at, offset, ~inside)
        inside = _are_in_ramps(at, beyond, scatter_ns)
    total = np.concatenate([[0.0], np.cumsum(np.where(inside, np.diff(beyond), 0.0))])
    by_ns = float(np.ptp(total))
    there_and_back_ns = 2 * by_ns - abs(total[-1])
    if by_ns == 0 or (inside.mean() > _WHOLE and there_and_back_ns > MOST_NS):
        return NO_SHIFT
    last = max(int(total.argmax()), int(total.argmin()))
    return Shift(by_ns, int(pings.packet[last + _SMOOTH // 2]))


def _smooth(column: Floats) -> Floats:
    rows = np.lib.stride_tricks.sliding_window_view(column, _SMOOTH)
    smooth: Floats = np.median(rows, axis=1)
    return smooth


def _usual(at: Floats, offset: Floats, are_steady: npt.NDArray[np.bool_]) -> Floats:
    """How far offsets move at the usual rate around each time, from the first on.

    are_steady: from which time to the next the rate counts.
    """
    rates = (offset[_SMOOTH:] - offset[:-_SMOOTH]) / np.maximum(at[_SMOOTH:] - at[:-_SMOOTH], 1.0)
    steady = are_steady[_SMOOTH // 2 : _SMOOTH // 2 + len(rates)]
    if not steady.any():
        steady = np.ones(len(rates), np.bool_)
    rates, when = rates[steady], at[_SMOOTH // 2 : -(_SMOOTH // 2)][steady]
    between = (at[1:] + at[:-1]) / 2
    bounds = (np.searchsorted(when, between + ns) for ns in (-_AROUND_NS, _AROUND_NS))
    usual = window_medians(rates, *bounds)
    usual[np.isnan(usual)] = np.median(rates)
    return np.concatenate([[0.0], np.cumsum(usual * np.diff(at))])


def _are_in_ramps(at: Floats, beyond: Floats, scatter_ns: float) -> npt.NDArray[np.bool_]:
    """Whether offsets ramp from each time to the next."""
    edges = np.zeros(len(at), np.int64)
    for lag in range(1, len(at)):
        apart = at[lag:] - at[:-lag]
        near = apart <= _LONGEST_NS
        if not near.any():
            break
        moved = np.abs(beyond[lag:] - beyond[:-lag])
        begin = np.flatnonzero(near & (moved > scatter_ns + _WANDER * apart))
        edges[begin] += 1
        edges[begin + lag] -= 1
    inside = np.cumsum(edges)[:-1] > 0
    bounds = np.flatnonzero(np.diff(np.concatenate([[False], inside, [False]])))
    for begin, end in zip(bounds[::2].tolist(), bounds[1::2].tolist(), strict=True):
        inside[begin:end] &= np.ptp(beyond[begin : end + 1]) <= MOST_NS
    return inside
