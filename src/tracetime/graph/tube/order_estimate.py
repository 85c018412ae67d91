"""The estimate from orders: a smooth curve through virtual pings.

In each window of time the fastest message each way, about the curve so far, is a ping at its
centre; a smoother runs over these pings, and its curve serves to find better ones. The length of
the windows is the one whose curve is surest (docs/error-bars.md, The estimate).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, NamedTuple

import numpy as np

from tracetime._kernels.evidence import curve_values, fastest, knee, smooth_pings
from tracetime.columns.arrays import median, quantile
from tracetime.graph.tube.evidence import WIDEST
from tracetime.graph.tube.order_doubt import DEVIATIONS, STRAY, Pings, rates_left
from tracetime.graph.values import Floats, Values

PASSES: Final = 3
"""After so many the slope within a window no longer matters."""

LEAST_IN_WINDOW: Final = 1.25
"""Messages of the rarer direction, about, in the shortest windows that are tried."""

MOST_IN_WINDOW: Final = 1280
"""The same in the longest windows; each are twice as long as the ones before."""

LEAST_RUNGS: Final = 3
"""Lengths that are tried however many messages there are."""

MOST_WINDOWS: Final = 3_000
"""More would follow a rate that walks no better, and cost time."""

LEAST_PINGS: Final = 8
"""Fewer do not show how much they scatter."""

KNEE_GAIN: Final = 30.0
"""A change of rate makes the pings likelier by so much (logarithm) than a walk alone would."""

KNEE_PINGS: Final = 4
"""Pings, at least, on each side of a change of rate."""

MOST_SPLITS: Final = 5
"""A piece may be split so many times: 32 rates in all."""

# Half the range of a walk is within so many deviations of its end in 99.7 %.
_MOST_WALKED: Final = 1.7
# The path's own delay: this quantile of the pings' half-widths.
_PATH: Final = 0.02
_NS: Final = 1e-9
_LONGEST: Final = 1 << 62


@dataclass(frozen=True, eq=False, slots=True)
class OrderCurve:
    """The offset b - a as a curve: cubic between its knots, straight beyond them.

    Where the rate changed at once the curve starts anew: two knots at one reading.

    Attributes:
        x: knots, readings of clock a, int64 ns, ascending; two alike at a change of rate.
        origin_ns: what the offsets are counted from.
        offset: b - a - origin_ns at each knot, float64 ns.
        rate: its slope there, float64 ns per ns.
        variance, rate_variance: of these two, by the smoother; ns^2, and (ns per ns)^2. Their roots
            are no bars: they say nothing of paths that are slower one way than the other.
        rate_least, rate_most: what the pings do not exclude of it, float64 ns per ns.
        density: of the rate's walk, the greatest that they do not exclude, ns^2 a cubic second.
        window_ns: length of the windows, float64 ns; the longest, if the pieces' differ.
    """

    x: Values
    origin_ns: int
    offset: Floats
    rate: Floats
    variance: Floats
    rate_variance: Floats
    rate_least: Floats
    rate_most: Floats
    density: Floats
    window_ns: float

    @property
    def knees(self) -> Values:
        """Where the rate changed at once, int64 ns of clock a."""
        knees: Values = self.x[1:][self.x[1:] == self.x[:-1]]
        return knees

    def wander(self, first: int, last: int) -> float:
        """How far the rate may stray from its mean, ns per ns, the most between any two knees.

        first, last: the readings that the curve is of.
        """
        knees = self.knees.tolist()
        ends = np.concatenate(([0], 1 + np.flatnonzero(self.x[1:] == self.x[:-1]), [len(self.x)]))
        pieces, times = pairwise(ends.tolist()), pairwise([first, *knees, last])
        return max(
            self._stray(*piece, until - since)
            for piece, (since, until) in zip(pieces, times, strict=True)
        )

    def sure_wander(self, first: int, last: int) -> float:
        """How far it strays at least, from one reading to another; 0 without a knot."""
        begin, end = np.searchsorted(self.x, [first, last + 1])
        if begin == end:
            return 0.0
        rate, density = self.rate[begin:end], self.density[begin:end]
        walked = density * _NS**3 * float(self.x[end - 1] - self.x[begin])
        doubt = DEVIATIONS * np.sqrt(np.minimum(self.rate_variance[begin:end], walked))
        return max(float((rate - doubt).max() - (rate + doubt).min()) / 2, 0.0)

    def _stray(self, first: int, end: int, span_ns: int) -> float:
        """Half the range that the rate may have over some knots and so long a time."""
        here = slice(first, end)
        not_excluded = float(self.rate_most[here].max() - self.rate_least[here].min()) / 2
        # What is not known of the rate is mostly its level: it differs by no more than its walk.
        rate, walk = self.rate[here], float(self.density[here].max()) * _NS**3 * span_ns
        return min(not_excluded, float(np.ptp(rate)) / 2 + _MOST_WALKED * math.sqrt(walk))

    def at(self, a: Values) -> Floats:
        """b - a - origin_ns, float64 ns, at readings of clock a, int64 ns, ascending."""
        begin = int(self.x[0])
        return curve_values(_since(self.x, begin), self.offset, self.rate, _since(a, begin))


class _Orders(NamedTuple):
    """Evidence in floats: seconds since the first, ns above a line; open sides infinite.

    begin, end: what its windows share out, seconds.
    """

    t: Floats
    high: Floats
    low: Floats
    begin: float
    end: float

    def split(self, at: float) -> tuple[_Orders, _Orders]:
        """Those before `at`, and the others."""
        k = int(np.searchsorted(self.t, at))
        t, high, low = self[:3]
        return (
            _Orders(t[:k], high[:k], low[:k], self.begin, at),
            _Orders(t[k:], high[k:], low[k:], at, self.end),
        )


class _Fit(NamedTuple):
    """A curve and what it was made of.

    curve: rows of knots: seconds, ns above the line, ns/s, and the variances of these two; from
    `_doubted` on also the least and the greatest rate that are not excluded, ns/s, and the greatest
    density of its walk, ns^2/s^3. pings: what it goes through. doubt: of the curve, ns^2.
    """

    curve: Floats
    pings: Pings
    doubt: float


_FLAT: Final = np.empty((5, 0))


def estimate_curve(
    a: Values, low: Values, high: Values, wander: float, bars: tuple[Values, Values, Values]
) -> OrderCurve | None:
    """Fit the curve of one segment without faults.

    Args:
        a: readings of clock a, int64 ns, ascending.
        low, high: int64 ns, what each order or snapshot says of b - a; a side that says nothing is
            `WIDEST` from the other.
        wander: float ns per ns: the rate walks by so much in a second, at most.
        bars: readings of a, and the least and greatest offset there, int64 ns: where to begin.

    Returns:
        the curve; None where no window holds an order of each direction, where the readings are 146
        years apart or more, and where float64 does not hold its variances.

    O(n) for each length of the windows.
    """
    if not len(a) or int(a[-1]) - int(a[0]) > _LONGEST:
        return None
    begin, origin = int(a[0]), int(bars[1][0])
    height, slope = _line(bars, begin, origin)
    columns = _above_line(a, _since(low, origin), _since(high, origin), height, slope)
    orders = _Orders(*columns, 0.0, float(columns[0][-1]))
    fit = _surest(orders, 1e9 * wander, _FLAT)
    if fit is None:
        return None
    curve, window = _split(fit, orders, 1e9 * wander, MOST_SPLITS)
    t, offset, rate, variance, rate_variance, rate_least, rate_most, density = curve
    since = np.rint(t / _NS).astype(np.int64)
    return OrderCurve(
        x=begin + since,
        origin_ns=origin,
        offset=offset + height + slope * since,
        rate=rate * _NS + slope,
        variance=variance,
        rate_variance=rate_variance * _NS**2,
        rate_least=rate_least * _NS + slope,
        rate_most=rate_most * _NS + slope,
        density=density,
        window_ns=window / _NS,
    )


def _since(readings: Values, origin: int) -> Floats:
    """readings - origin in floats; exact before."""
    return (readings - origin).astype(np.float64)


def _line(bars: tuple[Values, Values, Values], begin: int, origin: int) -> tuple[float, float]:
    """Height at `begin` (less origin) and slope of the line through the middles of the bars."""
    x, low, high = bars
    closed = high - low < WIDEST // 2
    t = _since(x[closed], begin)
    middle = (_since(low[closed], origin) + _since(high[closed], origin)) / 2
    if not len(t):
        return 0.0, 0.0
    about = t - t.mean()
    square = float(about @ about)
    slope = float(about @ middle) / square if square else 0.0
    return float(middle.mean() - slope * t.mean()), slope


def _above_line(
    a: Values, low: Floats, high: Floats, height: float, slope: float
) -> tuple[Floats, Floats, Floats]:
    """The columns of `_Orders`. low, high: less the origin; taken over, there may be very many."""
    t = _since(a, int(a[0]))
    line = slope * t
    line += height
    high -= line
    low -= line
    del line
    is_open = high - low >= WIDEST // 2
    # The line is near the side that speaks.
    is_low = high > -low
    high[is_open & is_low] = np.inf
    low[is_open & ~is_low] = -np.inf
    t *= _NS
    return t, high, low


def _surest(orders: _Orders, wander: float, curve: Floats) -> _Fit | None:
    """The curve of the windows that leave least doubt, begun with another; wander: ns/s."""
    best: _Fit | None = None
    for windows in _windows(orders):
        if best is not None and windows < LEAST_PINGS:
            break
        fit = _fit(orders, windows, wander, best.curve if best else curve)
        if fit is None or (best is not None and len(fit.pings.x) < LEAST_PINGS):
            continue
        if best is None or fit.doubt < best.doubt:
            best = fit
    return None if best is None else _doubted(best, wander)


def _doubted(fit: _Fit, wander: float) -> _Fit | None:
    """The fit, with the rates that its pings do not exclude in three more rows, if known."""
    rates = rates_left(fit.pings, wander)
    if rates is None:
        return None
    density = np.full(len(rates.least), rates.density)
    return fit._replace(curve=np.vstack([fit.curve, rates.least, rates.most, density]))


def _windows(orders: _Orders) -> Iterator[int]:
    """Numbers of windows: the most that are tried, and a half, a quarter .. of them."""
    rarer = int(min(np.isfinite(orders.high).sum(), np.isfinite(orders.low).sum()))
    if not rarer or orders.end == orders.begin:
        return
    first = max(0, math.ceil(math.log2(rarer / LEAST_IN_WINDOW / MOST_WINDOWS)))
    last = max(round(math.log2(MOST_IN_WINDOW / LEAST_IN_WINDOW)), first + LEAST_RUNGS - 1)
    for rung in range(first, last + 1):
        windows = max(1, round(rarer / LEAST_IN_WINDOW / 2**rung))
        yield windows
        if windows == 1:
            return


def _fit(orders: _Orders, windows: int, wander: float, curve: Floats) -> _Fit | None:
    """The curve of windows of one length, begun with another curve; wander: ns/s."""
    fit: _Fit | None = None
    window = (orders.end - orders.begin) / windows
    for _ in range(PASSES):
        least, most = fastest(*orders[:3], orders.begin, window, windows, *curve[:3])
        both = np.isfinite(least) & np.isfinite(most)
        if not both.any():
            return None
        x = orders.begin + (np.flatnonzero(both) + np.float64(0.5)) * window
        up, down = least[both], most[both]
        ping, noise = _at(curve, x) + (up + down) / 2, _noise((up - down) / 2)
        state, density = smooth_pings(x, ping, noise, wander)
        curve = np.ascontiguousarray(np.vstack([x, state.T]))
        doubt = median(curve[3]) + STRAY * density * window**3
        fit = _Fit(curve, Pings(x, ping, noise, orders.begin, orders.end, window), doubt)
    return fit


def _noise(half: Floats) -> Floats:
    """The variance of each ping: by how much it is slower than the path, either way, uniform."""
    above = half - quantile(half, _PATH)
    usual = median(np.abs(above))
    result: Floats = (np.maximum(above, 0.0) ** 2 + usual**2 + 1.0) / 3.0
    return result


def _split(fit: _Fit, orders: _Orders, wander: float, most: int) -> tuple[Floats, float]:
    """The curve begun anew where the rate changed at once, and its longest window.

    most: splits of splits.
    """
    gain, at = knee(*fit.pings[:3], wander, KNEE_PINGS)
    if gain < KNEE_GAIN or not most:
        return fit.curve, fit.pings.window
    left, right = (_surest(part, wander, fit.curve) for part in orders.split(at))
    if left is None or right is None:
        return fit.curve, fit.pings.window
    at = _meeting(left, right, at)
    before, after = orders.split(at)
    one, window = _split(left, before, wander, most - 1)
    other, longer = _split(right, after, wander, most - 1)
    whole = np.concatenate([_end(one, at, -1), _end(other, at, 0)], axis=1)
    return np.ascontiguousarray(whole), max(window, longer)


def _at(curve: Floats, t: Floats) -> Floats:
    return curve_values(curve[0], curve[1], curve[2], t)


def _meeting(left: _Fit, right: _Fit, at: float) -> float:
    """Where two curves meet, near `at`; there, if they do not."""
    one, other = _end(left.curve, at, -1)[:, -1], _end(right.curve, at, 0)[:, 0]
    turn = one[2] - other[2]
    near = min(left.pings.window, right.pings.window)
    moved = (other[1] - one[1]) / turn if turn else 0.0
    return at + moved if abs(moved) < near else at


def _end(curve: Floats, at: float, end: int) -> Floats:
    """A curve with a knot of its own at its end (-1) or beginning (0)."""
    kept = curve[:, curve[0] < at] if end else curve[:, curve[0] > at]
    knot = (kept if kept.shape[1] else curve)[:, end].copy()
    knot[1] = _at(curve, np.array([at]))[0]
    knot[0] = at
    parts = [kept, knot[:, None]] if end else [knot[:, None], kept]
    return np.ascontiguousarray(np.concatenate(parts, axis=1))
