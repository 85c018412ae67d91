"""Which order sets each side of a bar: the one whose cone lies nearest to it.

An order's cone grows from its bound by the limits on drift; within a run, by the run's slope and
width.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from tracetime._kernels.evidence import cores
from tracetime.clocks.ids import ClockId
from tracetime.errors import ONE_SIDED, RESOLVED
from tracetime.graph.tube.evidence import HIGH_KNOWN, LOW_KNOWN, OPEN_HIGH, OPEN_LOW
from tracetime.graph.tube.limits import ONE, slope_up
from tracetime.graph.tube.results import Bars
from tracetime.graph.tube.segments import only
from tracetime.graph.values import Values

if TYPE_CHECKING:
    from tracetime.clocks.json_types import Count, NotNegative
    from tracetime.graph.tube.pair import Pair
    from tracetime.graph.tube.tube import Tube


# The kernels round bars to whole ns, away from the truth, and this module has floats.
_ROUNDED_NS: Final = 4.0


class BindingOrder(NamedTuple):
    """The order that sets a side of a bar.

    Attributes:
        number: its number, from 0, in the order in which they were added.
        before: the clock that was read first.
        before_ts: what it read, in its own units.
        after: the other clock.
        after_ts: what it read.
        away_ns: how much later the value is, ns of the steadier clock.
    """

    number: Count
    before: ClockId
    before_ts: int
    after: ClockId
    after_ts: int
    away_ns: int


class _Cones(NamedTuple):
    """How bounds reach other readings of clock a: offsets rise by slope, give or take width."""

    slope: float
    width: float
    a_from: int
    a_to: int


def binding_orders(
    pair: Pair, a_ns: int, bars: Bars
) -> tuple[BindingOrder | None, BindingOrder | None]:
    """The orders that set the low and the high side of the offset at a reading of clock a.

    None where a snapshot does, or nothing, or a clock had the reading twice.
    """
    if pair.orders is None:
        return None, None
    bar = pair.tube.convert(np.array([a_ns], dtype=np.int64), bars=bars)
    if bar.status.item() not in (RESOLVED, ONE_SIDED):
        return None, None
    evidence = pair.tube.evidence
    lows = np.where(evidence.sides & LOW_KNOWN, evidence.low, OPEN_LOW)
    highs = np.where(evidence.sides & HIGH_KNOWN, evidence.high, OPEN_HIGH)
    found: list[BindingOrder | None] = [None, None]
    for side, (sides, side_open, end, sign) in enumerate(
        ((lows, OPEN_LOW, bar.earliest.item(), -1), (highs, OPEN_HIGH, bar.latest.item(), 1))
    ):
        # Other segments may know a side that is open here.
        said = np.flatnonzero(sides != side_open)
        if end != side_open and len(said):
            k = _nearest(pair, evidence.a[said], sides[said], (a_ns, end - a_ns, sign), bars)
            if k is not None:
                found[side] = _order_of(pair, int(said[k]), sides[said[k]], a_ns, sign)
    return found[0], found[1]


def _nearest(
    pair: Pair, a: Values, sides: Values, point: tuple[int, int, int], bars: Bars
) -> int | None:
    """Which bound's cone is nearest to the end of a bar, none inside it; None if all are."""
    a_ns, end, sign = point
    away = (a_ns - a).astype(np.float64)
    above = sign * (sides - end).astype(np.float64)
    best: tuple[float, int] | None = None
    for cones in _cones(pair, a_ns, bars):
        gaps = above + sign * cones.slope * away + cones.width * np.abs(away)
        gaps[(a < cones.a_from) | (a > cones.a_to) | (gaps < -_ROUNDED_NS)] = np.inf
        k = int(np.argmin(gaps))
        if np.isfinite(gaps[k]) and (best is None or gaps[k] < best[0]):
            best = float(gaps[k]), k
    return None if best is None else best[1]


def _cones(pair: Pair, a_ns: int, bars: Bars) -> Iterator[_Cones]:
    """The drift cones, and those of the runs around a reading."""
    tube = pair.tube
    a = tube.evidence.a
    yield _Cones(0.0, slope_up(tube.limits.drift) / ONE, int(a[0]), int(a[-1]))
    if bars == "guaranteed":
        return
    runs = tube.runs
    firsts, lasts = runs.evidence.a[runs.first], runs.evidence.a[runs.last]
    here = int(np.searchsorted(firsts, a_ns, side="right")) - 1
    for m in range(max(here, 0), min(here + 2, len(firsts))):
        slope, width = float(runs.slope[m]) / ONE, float(runs.width[m]) / ONE
        yield _Cones(slope, width, int(firsts[m]), int(lasts[m]))


def _order_of(pair: Pair, entry: int, side: int, a_ns: int, sign: int) -> BindingOrder | None:
    """The order that gives a side of an entry of the evidence; None for a snapshot."""
    used = pair.orders
    assert used is not None
    given = pair.tube.evidence.given(np.array([entry])).flat
    rows = given[given >= len(pair.snapshots)] - len(pair.snapshots)
    orders, a, low, high = used.bounds(used.orders.only(rows))
    found = np.flatnonzero((high if sign > 0 else low) == side)
    if not len(found):
        return None
    row = found[0]
    one, other = (pair.a, int(orders.one_ts[row])), (pair.b, int(orders.other_ts[row]))
    first, second = (one, other) if orders.one_first[row] else (other, one)
    return BindingOrder(int(orders.numbers[row]), *first, *second, a_ns - int(a[row]))


# Which rates between two clocks their orders allow, the limits on drift set aside.

_ANY: Final = ONE
"""A clock that runs backwards, or twice as fast, is beyond every limit."""


class FeasibleRates(NamedTuple):
    """The rates of one clock against another that no evidence contradicts, ppm.

    Attributes:
        low_ppm: the least; null where nothing bounds it.
        high_ppm: the greatest; null where nothing bounds it.
        wander_ppm: how far the rate strays from it; 0: one rate fits all.
    """

    low_ppm: float | None
    high_ppm: float | None
    wander_ppm: NotNegative

    def inverse(self) -> FeasibleRates:
        """The rates of the other clock against this one."""
        low, high = (
            None if ppm is None else -ppm / (1 + ppm * 1e-6)
            for ppm in (self.high_ppm, self.low_ppm)
        )
        return FeasibleRates(low, high, self.wander_ppm)

    def in_words(self, limit_ppm: float) -> str:
        """The range, and whether limits of so many ppm to either side bound it more narrowly."""
        low, high, wander = self
        binds = low is None or low < -limit_ppm, high is None or high > limit_ppm
        sides = {(True, True): "", (True, False): " below", (False, True): " above"}
        return (
            _range(low, high)
            + (f", give or take {wander:g} ppm" if wander and (low, high) != (None, None) else "")
            + (f"; the drift limits bind{sides[binds]}" if any(binds) else "")
        )


def _range(low: float | None, high: float | None) -> str:
    if low is None or high is None:
        if high is not None:
            return f"at most {high:+,.0f} ppm"
        return "anything" if low is None else f"at least {low:+,.0f} ppm"
    places = max(0, math.ceil(1 - math.log10(max(high - low, 1e-6))))
    return f"{low:+,.{places}f} to {high:+,.{places}f} ppm"


def feasible_rates(pair: Pair, a_ns: int) -> FeasibleRates | None:
    """The rates of b against a that the evidence of the run around a reading of a allows.

    None without orders, and where no rate fits all of that evidence.
    """
    if pair.orders is None:
        return None
    tube = pair.tube
    runs = tube.runs
    firsts, lasts = runs.evidence.a[runs.first], runs.evidence.a[runs.last]
    run = max(int(np.searchsorted(firsts, a_ns, side="right")) - 1, 0)
    given = _given(tube, int(firsts[run]), int(lasts[run]))
    # With the limits needless orders were left out, and the limits are set aside here.
    for wander in (0, int(runs.wander[runs.segment[run]])):
        found = _slopes(tube, given, wander)
        if found is not None:
            low, high = (None if abs(slope) >= _ANY else slope / ONE * 1e6 for slope in found)
            return FeasibleRates(low, high, wander / ONE * 1e6)
    return None


def _given(tube: Tube, first: int, last: int) -> Values:
    """The evidence from one reading of clock a to another, without what is wrong."""
    a = tube.evidence.a
    given = np.arange(*np.searchsorted(a, (first, last + 1)), dtype=np.int64)
    return given[~np.isin(given, tube.left_out)]


def _slopes(tube: Tube, given: Values, wander: int) -> tuple[int, int] | None:
    """The least and the greatest slope, in 2^-52, within `_ANY`; None where none fits all."""
    if not len(given):
        return None
    here = only(tube.evidence, given)
    ends = np.zeros(1, dtype=np.int64), np.array([len(given) - 1], dtype=np.int64)
    wanders = np.array([wander], dtype=np.int64)
    _, _, last, low, high = cores(here.a, here.low, here.high, *ends, wanders, _ANY, here.known)
    return (int(low[0]), int(high[0])) if len(last) == 1 else None
