"""What orders say of a pair of clocks: bounds of the offset b - a, each at a reading of a.

An order bounds the offset from one side; from both where the greatest delay is known. Whole ns,
rounded away from the truth.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Final, NamedTuple

import numpy as np

from tracetime.graph.ticks import saturated_ns
from tracetime.graph.tube.evidence import FARTHEST, NOT_RECORDED, OPEN_HIGH, OPEN_LOW, Evidence
from tracetime.graph.tube.messages import LONGEST_NS
from tracetime.graph.tube.orders import NO_MAX_DELAY, PairOrders
from tracetime.graph.values import Mask, Values, difference

# Products of a delay and a slope are of float64: 2^-50 of them is more than their rounding.
_ROUNDING: Final = 1.0 + 2.0**-50
# Delays and ticks add up to less than this on top of an offset.
_MARGIN: Final = 4 * LONGEST_NS


class OrderBounds(NamedTuple):
    """The bounds that the orders of a pair give: int64 arrays of one length.

    Attributes:
        orders: the orders themselves, a's readings as `one`.
        a_ns: where each stands, ns of clock a.
        low, high: of the offset b - a, ns; OPEN_LOW and OPEN_HIGH where a side is not known.
    """

    orders: PairOrders
    a_ns: Values
    low: Values
    high: Values

    def only(self, chosen: Mask) -> OrderBounds:
        """Some of them."""
        columns = (column[chosen] for column in self[1:])
        return OrderBounds(self.orders.only(chosen), *columns)


class UsedOrders(NamedTuple):
    """The orders of a pair that are within what a tube holds; what they say is worked out anew.

    Attributes:
        orders: the orders, a's readings as `one`.
        a_ns: where each stands, ns of clock a, int64.
        bounds: of some of them.
    """

    orders: PairOrders
    a_ns: Values
    bounds: Callable[[PairOrders], OrderBounds]


class Scale(NamedTuple):
    """How a clock's raw readings become ns.

    Attributes:
        ns: of one unit of its readings, exactly.
        tick_ns: how much later than it reads it may be, whole ns.
    """

    ns: Fraction
    tick_ns: int

    @classmethod
    def of(cls, ns: Fraction, tick_ns: int) -> Scale:
        """tick_ns: declared or seen; a unit lasts as long at least, and ns are rounded down."""
        return cls(ns, tick_ns if ns == 1 else max(tick_ns, -(-ns.numerator // ns.denominator)) + 1)


class Intervals(NamedTuple):
    """What snapshots say of a pair: arrays of one length, as `Evidence.of` takes them."""

    a_ns: Values
    r_ns: Values
    h_ns: Values
    assumed: bool
    correction: Values | None

    def only(self, chosen: Mask) -> Intervals:
        """Some of them."""
        correction = None if self.correction is None else self.correction[chosen]
        columns = (self.a_ns[chosen], self.r_ns[chosen], self.h_ns[chosen])
        return Intervals(*columns, self.assumed, correction)

    def evidence(self, bounds: OrderBounds | None) -> Evidence:
        """The evidence of the snapshots, and of orders, which are numbered after them."""
        if bounds is None:
            return Evidence.of(
                self.a_ns, self.r_ns, self.h_ns, assumed=self.assumed, correction=self.correction
            )
        if not len(self.a_ns):
            return Evidence.of_bounds(bounds.a_ns, bounds.low, bounds.high)
        correction = self.correction
        if correction is not None:
            unknown = np.full(len(bounds.a_ns), NOT_RECORDED, dtype=np.int64)
            correction = np.append(correction, unknown)
        return Evidence.of_bounds(
            np.append(self.a_ns, bounds.a_ns),
            np.append(self.r_ns - self.h_ns, bounds.low),
            np.append(self.r_ns + self.h_ns, bounds.high),
            assumed=self.assumed,
            correction=correction,
        )


def bounds_of(orders: PairOrders, a: Scale, b: Scale, fastest: float, drift: float) -> OrderBounds:
    """The bounds of the orders of two clocks, those within what a tube holds.

    Args:
        orders: a's readings as `one`.
        a, b: the scales of the two clocks.
        fastest: the drift of the one that may drift more, ns per ns.
        drift: D, how far they may drift against each other.
    """
    (a_ns, beyond_a), (b_ns, beyond_b) = (
        (ts, np.zeros(len(ts), dtype=bool)) if scale.ns == 1 else saturated_ns(ts, scale.ns)
        for ts, scale in ((orders.one_ts, a), (orders.other_ts, b))
    )
    near = _near(a_ns, b_ns) & ~(beyond_a | beyond_b)
    if not near.all():
        orders = orders.only(near)
        a_ns, b_ns = a_ns[near], b_ns[near]
    first, offset = orders.one_first, b_ns - a_ns
    # While a's tick lasts b goes on, by as much and what the two drift; and b may be a tick late.
    late = a.tick_ns + max(1, math.ceil(a.tick_ns * drift)) + b.tick_ns - 1
    low, high = offset - late, offset + late
    if orders.min_delay_ns.any():
        # In the time of the clocks: the least delay may be less, the greatest may be more.
        least = orders.min_delay_ns - _share(orders.min_delay_ns, fastest)
        low, high = low + least, high - least
    low[first], high[~first] = OPEN_LOW, OPEN_HIGH
    known = orders.max_delay_ns != NO_MAX_DELAY
    if known.any():
        most = orders.max_delay_ns + _share(orders.max_delay_ns, drift)
        low = np.where(first & known, offset - most - late, low)
        high = np.where(~first & known, offset + most + late, high)
    return OrderBounds(orders, a_ns, low, high)


def _near(a_ns: Values, b_ns: Values) -> Mask:
    """Which readings are within what a tube holds."""
    near = np.ones(len(a_ns), dtype=bool)
    most = FARTHEST - _MARGIN
    if len(a_ns):
        ends = [int(end) for ns in (a_ns, b_ns) for end in (ns.min(), ns.max())]
        if max(ends) - min(ends) >= most:
            near &= np.abs(difference(b_ns, a_ns)) < most
    return near


def _share(delays: Values, slope: float) -> Values:
    """delays times slope, rounded up."""
    product: Values = np.ceil(delays * (slope * _ROUNDING)).astype(np.int64)
    return product
