"""Lattices that readings lie on, within rounding: multiples of a period, of whole ns or not.

Whose readings they are, and which tick follows from a lattice, is tick_periods.py's.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from tracetime.graph.values import Floats, Mask, Values, ascending

LEAST_READINGS: Final = 16
"""So many distinct readings show a period; fewer may lie on a lattice by chance."""

LEAST_PERIOD: Final = 64.0
"""A shorter period, in the unit that readings are rounded to, may be chance."""

# So many bits of evidence: once in 2^40 by chance.
_LEAST_BITS: Final = 40
# Clocks are set now and then, and single readings are wrong: a twentieth may be off.
_MOST_OFF: Final = 0.05
# Each of two readings is rounded by up to a half.
_ROUNDED: Final = 1.001
# A difference of rounded readings, and half a rounding for a slow slew.
_TOLERANCE: Final = 1.5
# The least difference may be a multiple of the period, up to this one.
_MOST_PARTS: Final = 8
# So many of the least differences are tried as multiples of the period.
_LEAST_ONES: Final = 4
# Differences of differences, so many times: what rounding adds doubles each time.
_LEVELS: Final = 6
# The least differences of each level decide; more cost time only.
_KEPT: Final = 128
# What rounding may have added after several levels.
_NOISE: Final = 16.0
# A float holds whole numbers up to here.
_EXACT: Final = 2.0**52


class Lattice(NamedTuple):
    """The values that readings can have.

    Attributes:
        period: from one value to the next, in the unit of the readings.
        rounding: what readings are rounded to; 0 where they are multiples of the period.
    """

    period: float
    rounding: int

    def steps(self, readings: Values) -> Floats:
        """How many periods neighbouring readings are apart; 0 where that is no whole number."""
        unsigned = readings.view(np.uint64)
        apart = np.abs((unsigned[1:] - unsigned[:-1]).view(np.int64).astype(np.float64))
        times = np.rint(apart / self.period)
        off = np.abs(apart - times * self.period) > _TOLERANCE * max(self.rounding, 1)
        return np.where(off | (apart >= _EXACT), 0.0, times)


def find_lattices(readings: Values, unit: int = 1) -> list[Lattice]:
    """The lattices that readings are on, the longest period first.

    Readings that were taken about evenly are also on a longer one than their clock's. A twentieth
    of them may be off: where the clock was set, or a reading is wrong. Periods follow a slow slew.

    Args:
        readings: int64, ascending, distinct.
        unit: what they are multiples of by the declared unit of the clock.

    Returns:
        none where fewer than 16 readings, or too few to exclude chance, show one.
    """
    if len(readings) < LEAST_READINGS:
        return []
    # Unsigned differences: two readings may be more than int64 apart.
    unsigned = readings.view(np.uint64)
    every = unsigned[1:] - unsigned[:-1]
    rounding = _common_divisor(every)
    gaps = every[every % np.uint64(rounding) == 0]
    steps = (gaps // np.uint64(rounding)).astype(np.float64)
    steps = steps[steps < _EXACT]
    period = _period(steps) if len(steps) >= LEAST_READINGS - 1 else None
    divisors = {rounding: len(gaps), int(np.gcd.reduce(every)): len(every)}
    found = [] if period is None else [(Lattice(period * rounding, rounding), len(gaps))]
    found += [(Lattice(float(divisor), 0), n) for divisor, n in divisors.items()]
    return [one for one, n in found if _is_no_chance(one, n, unit)]


def _is_no_chance(lattice: Lattice, n_gaps: int, unit: int) -> bool:
    """Whether so many gaps are multiples of a period by more than chance."""
    finest = max(unit, 4 * max(lattice.rounding, 1))
    bits = n_gaps * (1 - _MOST_OFF) * math.log2(max(lattice.period / finest, 1.0))
    return lattice.period >= LEAST_PERIOD and bits >= _LEAST_BITS


def _common_divisor(gaps: npt.NDArray[np.uint64]) -> int:
    """The greatest divisor of gaps, a twentieth of them left out where that makes it greater."""
    groups = np.gcd.reduce(gaps[: len(gaps) // 5 * 5].reshape(-1, 5), axis=1)
    values, counts = np.unique(groups, return_counts=True)
    usual = values[np.argmax(counts)]
    off = np.count_nonzero(gaps % usual)
    return int(usual) if off <= _MOST_OFF * len(gaps) else int(np.gcd.reduce(gaps))


def _period(steps: Floats) -> float | None:
    """The longest period above `LEAST_PERIOD` that steps are multiples of, within 1."""
    if np.mean(steps < LEAST_PERIOD / 2) > _MOST_OFF:
        return None
    ascending = np.sort(steps)
    # Multiples of the period themselves, within 2, and small ones among them.
    apart = [ascending[k:] - ascending[:-k] for k in (1, 2, 4, 8)]
    known = np.sort(np.concatenate([ascending, *apart]))
    known = known[known > 2 * _ROUNDED]
    if not len(known) or np.mean(known < LEAST_PERIOD - 2) > _MOST_OFF:
        return None
    best: float | None = None
    small, guesses = _small(known)
    for guess in guesses:
        if best is not None and guess < 0.9 * best:
            break
        # Where some are off, differences of differences may be no multiples any more.
        period = _refined(known, small, guess) or _refined(known, known, guess)
        if period is not None and period >= LEAST_PERIOD and (best is None or period > best):
            times = np.rint(steps / period)
            off = (np.abs(steps - times * period) > _TOLERANCE) | (times == 0)
            if np.mean(off) <= _MOST_OFF:
                best = period
    return best


def _small(known: Floats) -> tuple[Floats, list[float]]:
    """Small multiples of the period within `_NOISE`, and guesses at it: parts of the least.

    Differences of differences, and so on: Euclid's algorithm, with rounded numbers.
    """
    few, levels = known, [known[:0]]
    guesses: set[float] = set()
    for level in range(_LEVELS):
        # Where a few are off, the least ones may be.
        tried = np.append(few[:_LEAST_ONES], few[len(few) // 16 : len(few) // 16 + 1])
        for least in tried.tolist():
            guesses.update(least / parts for parts in range(1, _MOST_PARTS + 1))
        few = ascending(np.concatenate([few, np.diff(few)]))
        # Each level doubles what rounding may have added.
        few = few[few >= max(LEAST_PERIOD - 2, float(4 << level))][:_KEPT]
        levels.append(few)
    small = ascending(np.concatenate(levels))
    likely = np.array(sorted((g for g in guesses if g >= LEAST_PERIOD - 2), reverse=True))
    plausible = _plausible(small[:_KEPT], likely) | _plausible(known[:_KEPT], likely)
    return small, likely[plausible].tolist()


def _plausible(small: Floats, guesses: Floats) -> npt.NDArray[np.bool_]:
    """The guesses that most of the least differences are multiples of, within their noise."""
    each = guesses[:, None]
    times = np.rint(small / each)
    off = np.abs(small - times * each) > _NOISE * np.maximum(times, 1)
    decisive = small <= each * np.maximum(each / (4 * _NOISE), 1.5)
    most_off = 4 * _MOST_OFF * decisive.sum(axis=1)
    plausible: npt.NDArray[np.bool_] = (off & decisive).sum(axis=1) <= most_off
    return plausible


def _refined(known: Floats, small: Floats, guess: float) -> float | None:
    """A period near a guess that ever longer differences are multiples of; None without any."""
    period, unsure = guess, _NOISE
    for values, noise in ((small, _NOISE), (known, 2 * _ROUNDED)):
        reached = 0.0
        while reached < values[-1]:
            reach = period * max(period / (4 * unsure), 1.5)
            within = values[values <= reach]
            if reach <= reached:
                if values is small:
                    break
                return None
            times = np.rint(within / period)
            left = np.abs(within - times * period)
            fits = left <= np.maximum(times * unsure, noise)
            if np.count_nonzero(~fits) > 2 * _MOST_OFF * len(fits):
                return None
            times, within = times[fits & (times > 0)], within[fits & (times > 0)]
            if not len(times):
                return None
            period = float((times * within).sum() / (times * times).sum())
            unsure, reached = min(unsure, 2 * noise / float(times.max())), reach
    return period


# Readings of a clock in events, which may show its ticks.

BLOCK: Final = 8
"""So many consecutive readings of events are kept together."""

# Fewer different pairs of steps may come from sampling on a grid of two or three periods.
_LEAST_UNEVEN: Final = 6


class EventReadings(NamedTuple):
    """Readings of a clock in events.

    Attributes:
        some_ns: some readings, int64 ns, in blocks of 8 consecutive ones.
        differing, repeated: how many differ from the one before, and how many do not.
    """

    some_ns: Values
    differing: int
    repeated: int

    def are_uneven(self, lattice: Lattice) -> bool:
        """Whether they were not merely taken on a grid: steps vary, or most are repeated."""
        if self.repeated >= self.differing:
            return True
        # Distances of neighbours in a block, and those to the next.
        within = np.arange(len(self.some_ns) - 2) % BLOCK < BLOCK - 2
        return are_uneven(lattice.steps(self.some_ns), within)


def are_uneven(times: Floats, within: Mask) -> bool:
    """Whether steps of readings, in periods of a lattice, vary: no grid of two or three is so.

    Args:
        times: float64[n], from each reading to the next; 0 where that is no whole number.
        within: bool[n - 1], which of these, and the one after it, count.
    """
    one, two = times[:-1], times[1:]
    whole = within & (one > 0) & (two > 0)
    # A set, not np.unique, which loads numpy.ma.
    different = set(zip(one[whole].tolist(), two[whole].tolist(), strict=True))
    return len(different) >= _LEAST_UNEVEN
