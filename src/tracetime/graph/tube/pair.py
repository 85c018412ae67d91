"""The tube of two clocks with what it rests on, and what it is made of."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Final, NamedTuple

import numpy as np

from tracetime.clocks.families import NEVER_SET
from tracetime.clocks.ids import ClockId
from tracetime.columns.arrays import median
from tracetime.errors import (
    AMBIGUOUS_SOURCE,
    NO_PATH,
    ONE_SIDED,
    OVERFLOW,
    REASONS,
    RESOLVED,
    ConversionError,
)
from tracetime.graph.ticks import Side, Unit, saturated_ns
from tracetime.graph.tube.evidence import HIGH_KNOWN, LOW_KNOWN, WIDEST, Evidence
from tracetime.graph.tube.limits import Limits
from tracetime.graph.tube.order_evidence import Intervals, OrderBounds, UsedOrders
from tracetime.graph.tube.orders import PairOrders
from tracetime.graph.tube.own_intervals import Hold
from tracetime.graph.tube.results import Bars, Reached
from tracetime.graph.tube.set_backs import Spans
from tracetime.graph.tube.suspends import NEVER_SLEPT, Slept, Split
from tracetime.graph.tube.tick_periods import Tick
from tracetime.graph.tube.tube import Tube
from tracetime.graph.values import Marks, Mask, Values, difference

# Points at which the median bar is taken: more change it little.
_SAMPLES: Final = 512


class Pair(NamedTuple):
    """The tube of two clocks.

    Attributes:
        a, b: the steadier clock, along which the tube runs, and the other.
        snapshots: numbers of the snapshots it rests on, int64.
        a_rate, b_rate: ns per unit of the readings that were given; 1 where they are ns.
        orders: the orders that it rests on, those of a as `one`; None without any.
        half_width_ns: median of the evidence's half-widths; None where orders alone bound it.
        bar_ns: median half-width of the estimated bars over the whole coverage; an open one counts
            as `WIDEST` / 2.
        assumed: whether half-widths were assumed.
        learnt: whether a clock's rate was, from these snapshots.
        ticks: of its clocks whose readings show longer ticks than they declare.
        far: (number, a, b) of snapshots left out: their readings are more than 73 years apart.
    """

    a: ClockId
    b: ClockId
    tube: Tube
    snapshots: Values
    orders: UsedOrders | None
    a_rate: Fraction
    b_rate: Fraction
    half_width_ns: float | None
    bar_ns: float
    assumed: bool
    learnt: bool
    ticks: Mapping[ClockId, Tick]
    far: list[tuple[int, int, int]]

    @property
    def numbers(self) -> Values:
        """By place in the evidence as given, the number of the snapshot; -1 for an order."""
        n = 0 if self.orders is None else len(self.orders.a_ns)
        return np.append(self.snapshots, np.full(n, -1, dtype=np.int64)) if n else self.snapshots

    @property
    def is_one_sided(self) -> bool:
        """Whether nothing bounds one clock against the other from one of its sides."""
        known = self.tube.evidence.known
        return known is not None and not ((known & 1).any() and (known & 2).any())

    def live_orders(self) -> Values:
        """The numbers of the orders that bars rest on: what the others say, these say as well."""
        if self.orders is None:
            return np.empty(0, dtype=np.int64)
        places, sides = self.tube.live
        evidence = self.tube.evidence
        given = evidence.given(places)
        at, rows = given.row, given.flat
        is_order = rows >= len(self.snapshots)
        at, rows = at[is_order], rows[is_order] - len(self.snapshots)
        orders, _, low, high = self.orders.bounds(self.orders.orders.only(rows))
        is_low = (sides[at] & LOW_KNOWN != 0) & (low == evidence.low[places[at]])
        is_high = (sides[at] & HIGH_KNOWN != 0) & (high == evidence.high[places[at]])
        numbers: Values = orders.numbers[is_low | is_high]
        return numbers

    @property
    def known_bar_ns(self) -> float:
        """`bar_ns`; NaN where it is open."""
        return self.bar_ns if 4 * self.bar_ns < WIDEST else math.nan

    def rate_of(self, clock: ClockId) -> Fraction:
        """ns per unit of that clock's readings."""
        return self.a_rate if clock == self.a else self.b_rate


class Gathered(NamedTuple):
    """What a tube is built of; attributes as of `Pair`.

    Attributes:
        intervals: what the snapshots say.
        bounds: what the orders say.
        bounds_from: tells what orders of the two clocks say.
        messages: whether messages are among the snapshots.
        hold: what bars hold of single snapshots; None where they need not.
        twice: readings of a that are two instants; neither has any of them.
        slept: where a machine slept.
    """

    a: ClockId
    b: ClockId
    intervals: Intervals
    snapshots: Values
    bounds: OrderBounds | None
    bounds_from: Callable[[PairOrders], OrderBounds] | None
    messages: bool
    hold: Hold | None
    limits: Limits
    a_rate: Fraction
    b_rate: Fraction
    learnt: bool
    ticks: Mapping[ClockId, Tick]
    far: list[tuple[int, int, int]]
    twice: Spans | None = None
    slept: Slept = NEVER_SLEPT

    @property
    def evidence(self) -> Evidence:
        return self.intervals.evidence(self.bounds)

    @property
    def may_fall(self) -> bool:
        """Whether a may have been set back where no order shows that."""
        is_set = self.a.clock not in NEVER_SET or self.twice is not None
        return self.bounds is not None and is_set

    def without(self, twice: Spans) -> Gathered:
        """The same without readings that clock a had twice.

        Raises:
            ConversionError: there is nothing else.
        """
        assert self.bounds is not None
        kept, kept_orders = (~twice.has(a_ns) for a_ns in (self.intervals.a_ns, self.bounds.a_ns))
        if not (kept.any() or kept_orders.any()):
            raise ConversionError(
                f"{self.a} and {self.b} were set back so often that none of their orders is of "
                "one instant: order them against clocks that are never set, as MONOTONIC",
                REASONS[AMBIGUOUS_SOURCE],
            )
        return self._replace(
            intervals=self.intervals.only(kept),
            snapshots=self.snapshots[kept],
            bounds=self.bounds.only(kept_orders),
            twice=twice,
        )

    def apart(self, split: Split) -> Gathered:
        """The same, parted where machines slept.

        Raises:
            ConversionError: nothing is surely of one side.
        """
        if not split.kept.any():
            raise ConversionError(
                f"all that {self.a} and {self.b} have in common may be from a suspend",
                REASONS[NO_PATH],
            )
        n = len(self.snapshots)
        m = int(split.kept[:n].sum())
        kept = self.intervals.only(split.kept[:n])
        widened = (split.high[:m] - split.low[:m]) // 2
        found = self._replace(
            intervals=kept._replace(a_ns=split.a[:m], h_ns=widened),
            snapshots=self.snapshots[split.kept[:n]],
            slept=split.slept,
        )
        if self.bounds is None:
            return found
        columns = (split.a[m:], split.low[m:], split.high[m:])
        return found._replace(bounds=OrderBounds(self.bounds.only(split.kept[n:]).orders, *columns))

    def pair(self) -> Pair:
        """The tube."""
        evidence = self.evidence
        if (self.twice is not None or self.limits.placed_ns is not None) and evidence.known is None:
            # The bounds are cut there, whatever they say; or the estimate is not their middle.
            evidence = replace(evidence, known=evidence.sides)
        tube = Tube(
            evidence,
            self.limits,
            messages=self.messages,
            twice=self.twice,
            may_fall=self.may_fall,
            hold=self.hold,
            slept=self.slept,
        )
        used = None
        if self.bounds is not None and self.bounds_from is not None:
            used = UsedOrders(self.bounds.orders, self.bounds.a_ns, self.bounds_from)
        return Pair(
            a=self.a,
            b=self.b,
            tube=tube,
            snapshots=self.snapshots,
            orders=used,
            a_rate=self.a_rate,
            b_rate=self.b_rate,
            half_width_ns=_median_half(evidence),
            bar_ns=_median_bar(tube),
            assumed=evidence.assumed,
            learnt=self.learnt,
            ticks=self.ticks,
            far=self.far,
        )


def _median_half(evidence: Evidence) -> float | None:
    """Median half-width of the snapshots whose two sides are known, ns."""
    if evidence.known is None:
        return median(evidence.half)
    halves = evidence.half[~evidence.one_sided]
    return median(halves) if len(halves) else None


def _median_bar(tube: Tube) -> float:
    """Median half-width of the estimated bars over the coverage of a tube, ns."""
    a = tube.evidence.a
    # At the snapshots and half-way between them; a few of these points are enough.
    n = 2 * len(a) - 1
    chosen = np.arange(n) if n <= _SAMPLES else np.linspace(0, n - 1, _SAMPLES).astype(np.int64)
    at, halves = chosen >> 1, chosen & 1
    points = a[at] + (a[at + halves] - a[at]) // 2
    bars = tube.convert(points)
    return median(np.minimum(difference(bars.latest, bars.earliest), WIDEST)) / 2


# One hop of a conversion: values with bars over one pair of clocks, in ns or ticks.

_INT64: Final = np.iinfo(np.int64)


def hop(pair: Pair, src: ClockId, here: Reached, bars: Bars) -> Reached:
    """Convert values of src, with their bars, over one pair."""
    own = pair.rate_of(src)
    estimate, beyond = to_ns(here.estimate, own)
    earliest, latest = (
        estimate if values is here.estimate else to_ns(values, own)[0] for values in here[1:3]
    )
    exact = np.array_equal(earliest, latest)
    there = pair.tube.convert(
        estimate, bars=bars, inverse=src == pair.b, within=None if exact else (earliest, latest)
    )
    rate = pair.rate_of(pair.a if src == pair.b else pair.b)
    low, high = to_ticks(there.earliest, rate, 0)[0], to_ticks(there.latest, rate, 1)[0]
    ticks, left = to_ticks(there.estimate, rate, 0.5)
    status = np.where(here.status, here.status, there.status)
    one_sided = (here.status == ONE_SIDED) | (there.status == ONE_SIDED)
    if one_sided.any():
        low, high, status = _still_open(here, there, one_sided, low, high)
    return Reached(
        # An estimate rests on all evidence, guaranteed or not: it stays within these bars.
        np.clip(ticks, low, high),
        low,
        high,
        np.where(((status == RESOLVED) | one_sided) & (beyond | left), np.uint8(OVERFLOW), status),
    )


def _still_open(
    here: Reached, there: Reached, one_sided: Mask, low: Values, high: Values
) -> tuple[Values, Values, Marks]:
    """Bars over a hop, and their status: a side that was open before it, or in it, is open."""
    lows = (here.earliest == _INT64.min) | (there.earliest == _INT64.min)
    highs = (here.latest == _INT64.max) | (there.latest == _INT64.max)
    low = np.where(one_sided & lows, _INT64.min, low)
    high = np.where(one_sided & highs, _INT64.max, high)
    first = np.where(here.status == ONE_SIDED, np.uint8(RESOLVED), here.status)
    then = np.where(there.status == ONE_SIDED, np.uint8(RESOLVED), there.status)
    worse = np.where(first, first, then)
    return low, high, np.where((worse == RESOLVED) & one_sided, np.uint8(ONE_SIDED), worse)


def to_ns(values: Values, rate: Fraction) -> tuple[Values, Mask]:
    """Readings at `rate` ns a tick as ns, within int64; and which do not fit."""
    if rate == 1:
        return values, np.zeros(len(values), dtype=bool)
    return saturated_ns(values, rate)


def to_ticks(ns: Values, rate: Fraction, up: float) -> tuple[Values, Mask]:
    """ns as readings of a clock with `rate` ns a tick: the first one, the nearest, or the last.

    up: 0, 0.5 or 1. A clock faster than 1 GHz has several ticks in a nanosecond.
    """
    if rate == 1:
        return to_ns(ns, rate)
    if up == 0.5:
        half = min(rate.numerator // (2 * rate.denominator), int(_INT64.max))
        return saturated_ns(np.where(ns > _INT64.max - half, ns, ns + half), 1 / rate)
    return saturated_ns(ns + (ns < _INT64.max) if up == 1 else ns, 1 / rate)


def outside(pair: Pair, on_a: Reached) -> tuple[Side, int]:
    """Whether an estimate is before or after the pair's snapshots, and how far from them, ns."""
    ns, covered = to_ns(on_a.estimate, pair.a_rate)[0].item(), pair.tube.evidence.a
    first, last = int(covered[0]), int(covered[-1])
    if ns < first:
        return "before first", first - ns
    return ("after last", ns - last) if ns > last else ("", 0)


def unit_of(pair: Pair, clock: ClockId) -> Unit:
    """The unit in which a clock of the pair counts."""
    return "ns" if pair.rate_of(clock) == 1 else "ticks"
