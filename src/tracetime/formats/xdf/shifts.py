"""Shifts: the offsets of a host change at once, by more than its clock can have drifted.

A steady clock does not step. What shifts is the way of the pings: while messages take longer one
way, all offsets are off by half of that, and agree with each other.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from tracetime._kernels.xdf import window_medians
from tracetime.formats.xdf.pings import Pings
from tracetime.graph.values import Floats, Values

MOST_NS: Final = 10_000_000
"""Offsets of one clock jump by less; LSL's manual puts them within 1 ms, and Wi-Fi delays more."""

_LINE: Final = 4
"""So many pings in a row show a line."""
_WIDEST: Final = 3
"""A shift is between two pings, or takes so many gaps."""
_SHORTEST, _LONGEST = 2, 5
"""So many pings that are off together show no line; a single one is an outlier."""
_BESIDE_ONE: Final = 2
"""So many before and after a single one agree with each other."""
_NEAR_NS: Final = 120_000_000_000
"""Lines of pings farther apart than so say little of each other; recorders ask every 5 s."""
_BEYOND_SCATTER: Final = 1.5
"""In `Pings.scatter_ns`: some six standard deviations."""
_BEYOND_LINE: Final = 3.0
"""In what pings are off their own lines: a bend is off them, too."""
_ROWS: Final = 16_384
"""So many lines are fitted at once: their columns stay in the cache."""


class Shift(NamedTuple):
    """The greatest shift of some offsets.

    Attributes:
        by_ns: the most; 0 where they do not.
        packet: the chunk of the first ping after that shift; -1 where there is none.
    """

    by_ns: float
    packet: int


NO_SHIFT: Final = Shift(0.0, -1)


def largest_shift(pings: Pings, scatter_ns: float) -> Shift:
    """Return the largest shift between pings of one clock, up to `MOST_NS`.

    Args:
        pings: those of one clock, some seconds apart.
        scatter_ns: that of the pings; less than a multiple of it is no shift.
    """
    least_ns = _BEYOND_SCATTER * scatter_ns
    at, offset = columns(pings)
    beside, off = _beside_line(at, offset, 1, _BESIDE_ONE)
    are_alone = np.flatnonzero(beside > np.maximum(least_ns, _BEYOND_LINE * off)) + _BESIDE_ONE
    pings = pings.rows(np.setdiff1d(np.arange(len(at)), are_alone))
    at, offset = columns(pings)
    found = NO_SHIFT
    for gaps in range(1, _WIDEST + 1):
        shift, off = _between_lines(at, offset, gaps)
        found = _larger(found, pings, shift, off, least_ns, gaps)
    for n in range(_SHORTEST, _LONGEST + 1):
        shift, off = _beside_line(at, offset, n, _LINE)
        found = _larger(found, pings, shift, off, least_ns, 1)
    return found


def columns(pings: Pings) -> tuple[Floats, Floats]:
    """Times and offsets in ns, each from the first one on."""
    columns = pings.recorder_ns, pings.offset_ns
    at, offset = ((one - one[:1]).astype(np.float64) for one in columns)
    return at, offset


def _larger(
    found: Shift, pings: Pings, shift: Floats, off: Floats, least_ns: float, gaps: int
) -> Shift:
    """The larger of a shift and those that begin after each line of pings; see `_between_lines`."""
    n = len(shift)
    last = _LINE - 1 + np.arange(n)
    spans = pings.recorder_ns[-n:] - pings.recorder_ns[:n] if n else np.empty(0, np.int64)
    fits = (shift > np.maximum(least_ns, _BEYOND_LINE * off)) & (shift <= MOST_NS)
    fits &= spans <= _NEAR_NS
    k = int(np.argmax(np.where(fits, shift, 0.0))) if n else 0
    if not fits.any() or shift[k] <= found.by_ns:
        return found
    return Shift(float(shift[k]), int(pings.packet[last[k] + gaps]))


def _between_lines(at: Floats, offset: Floats, gaps: int) -> tuple[Floats, Floats]:
    """The least distance, within some gaps, of the line after from the one before.

    Returns (that, how far pings are off their own lines at most), for each line before in order.
    """
    n = len(at) - 2 * _LINE - gaps + 2
    if n < 1:
        return np.empty(0), np.empty(0)
    middles, means, slopes, off = _lines(at, offset)
    later = slice(_LINE + gaps - 1, _LINE + gaps - 1 + n)
    ends = at[_LINE - 1 : _LINE - 1 + n], at[later]
    begin, end = (
        (means[later] + slopes[later] * (when - middles[later]))
        - (means[:n] + slopes[:n] * (when - middles[:n]))
        for when in ends
    )
    apart = np.where(begin * end > 0, np.minimum(np.abs(begin), np.abs(end)), 0.0)
    return apart, np.maximum(off[:n], off[later])


def _beside_line(at: Floats, offset: Floats, n: int, beside: int) -> tuple[Floats, Floats]:
    """The distance of n pings from the line of those before and after them, to one side.

    Returns (the most of them, or 0 where one is not; how far the others are off the line).
    """
    whole = 2 * beside + n
    if len(at) < whole:
        return np.empty(0), np.empty(0)
    outer = np.r_[:beside, whole - beside : whole]
    times, offsets = (np.lib.stride_tricks.sliding_window_view(one, whole) for one in (at, offset))
    middles, means, slopes, off = _fit(times, offsets, outer)
    inner = slice(beside, beside + n)
    away = offsets[:, inner] - (
        means[:, None] + slopes[:, None] * (times[:, inner] - middles[:, None])
    )
    one_side = np.abs(np.sign(away).sum(axis=1)) == n
    least, most = np.abs(away).min(axis=1), np.abs(away).max(axis=1)
    return np.where(one_side & (2 * least > most), most, 0.0), off


def _lines(at: Floats, offset: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """The line of each few pings in a row; see `_fit`."""
    times, offsets = (np.lib.stride_tricks.sliding_window_view(one, _LINE) for one in (at, offset))
    return _fit(times, offsets, np.arange(_LINE))


def _fit(times: Floats, offsets: Floats, columns: Values) -> tuple[Floats, Floats, Floats, Floats]:
    """The line through some columns of each row: its middle, the mean there, slope, what is off."""
    found = np.empty((4, len(times)))
    for begin in range(0, len(times), _ROWS):
        rows = slice(begin, begin + _ROWS)
        x, y = times[rows, columns], offsets[rows, columns]
        middles, means = x.mean(axis=1), y.mean(axis=1)
        dt, do = x - middles[:, None], y - means[:, None]
        slopes = (dt * do).sum(axis=1) / np.maximum((dt * dt).sum(axis=1), 1.0)
        found[:, rows] = middles, means, slopes, np.abs(do - slopes[:, None] * dt).max(axis=1)
    return found[0], found[1], found[2], found[3]


# Ramps: the offsets of a host rise or fall for a while, faster than its clock's rate wanders.
#
# The rate of a crystal is nearly constant for minutes. What grows faster is the way of the pings: a
# network that slowly gets busy in one direction. Which of the two lines is right is not known.

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
    """The change of offsets at the usual rate around each time, from the first on.

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
