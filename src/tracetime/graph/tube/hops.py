"""One hop of a conversion: values with bars over one pair of clocks, in ns or ticks."""

from __future__ import annotations

from fractions import Fraction
from typing import Final

import numpy as np

from tracetime.clocks.ids import ClockId
from tracetime.errors import ONE_SIDED, OVERFLOW, RESOLVED
from tracetime.graph.rate import saturated_ns
from tracetime.graph.ticks import Side, Unit
from tracetime.graph.tube.bars import Bars
from tracetime.graph.tube.pair import Pair
from tracetime.graph.tube.results import Reached
from tracetime.graph.tube.tube import Converted
from tracetime.graph.values import Marks, Mask, Values

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
    here: Reached, there: Converted, one_sided: Mask, low: Values, high: Values
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
