"""Short counters: clocks that count fewer than 64 bits, unfolded over their wraps.

How often a counter wrapped between two snapshots follows from another clock in them; which wrap a
timestamp belongs to, from the span that it must be in. A fall that no wrap explains is a reset:
from there on the counter counts anew.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from tracetime.clocks.ids import ClockId
from tracetime.columns.arrays import median
from tracetime.errors import AMBIGUOUS_SOURCE, OVERFLOW, REASONS, ConversionError
from tracetime.graph.ticks import nominal_ns
from tracetime.graph.values import Values, difference

_INT64: Final = np.iinfo(np.int64)
_LONGEST: Final = 1 << 61
"""A counter that wraps after longer than this (73 years in ns) counts as one that never wraps."""


class Counter(NamedTuple):
    """A counter that wraps, and what it read, unfolded, in the snapshots of a graph.

    Attributes:
        modulus: what it counts to before it starts at 0 again, in the unit of `readings`.
        snapshots: numbers of the snapshots, int64, ascending.
        readings: unfolded, int64.
    """

    modulus: int
    snapshots: Values
    readings: Values

    def at(self, snapshots: Values) -> tuple[Values, npt.NDArray[np.bool_]]:
        """Its readings in the snapshots of these numbers, and which of them have one."""
        place = np.minimum(np.searchsorted(self.snapshots, snapshots), len(self.snapshots) - 1)
        return self.readings[place], self.snapshots[place] == snapshots

    def around(self, seen: npt.NDArray[np.integer[Any]]) -> tuple[Values, Values]:
        """The span of readings that timestamps are in, read after `seen` snapshots.

        The order of the file is taken as the order of time: what is between two snapshots in the
        file was read between them, or outside by less than the rest of a wrap. What was read before
        the first or after the last is at most as far from it as snapshots are from each other.
        """
        after = np.searchsorted(self.snapshots, seen)
        # The ends of what is before the first or after the last are set below.
        here = self.readings[after - 1]
        there = self.readings[np.minimum(after, len(self.snapshots) - 1)]
        usual = self._usual_gap()
        first, last = int(self.readings[0]), int(self.readings[-1])
        here = np.where(after == 0, max(first - usual, int(_INT64.min)), here)
        there = np.where(after == len(self.snapshots), min(last + usual, int(_INT64.max)), there)
        # Across a reset there is no span: the last reading is the better guess.
        there = np.where(there < here, here, there)
        return here, there

    def _usual_gap(self) -> int:
        """How far it usually counts between two snapshots; 0 where there is only one."""
        gaps = difference(self.readings[1:], self.readings[:-1])
        gaps = gaps[gaps >= 0]
        return int(median(gaps)) if len(gaps) else 0

    def wraps_of(self, values: Values) -> tuple[Values, Values]:
        """The first and the last unfolded values possible among the snapshots."""
        ends = self.readings.min(keepdims=True), self.readings.max(keepdims=True)
        return self.unfold(values, *ends)

    def possible(self, values: Values) -> tuple[Values, Values]:
        """The first and the last unfolded values possible near the snapshots, or next to that.

        Near is no further from the first or the last one than snapshots are from each other. What
        is nowhere there was read before or after.
        """
        usual = self._usual_gap()
        least, most = _within(self.readings.min()), _within(self.readings.max())
        sides = self._unfolded(values, least - usual, most + usual)
        return np.minimum(*sides), np.maximum(*sides)

    def unfold(self, values: Values, lows: Values, highs: Values) -> tuple[Values, Values]:
        """The first and the last unfolded `values` possible between lows and highs.

        A value that is nowhere in the span is placed next to its nearer end. Values that are
        negative, or not below the modulus, are already unfolded.
        """
        first, last = self._unfolded(values, lows, highs)
        lows, highs = _within(lows), _within(highs)
        none = first > last
        nearer = np.where(lows - last <= first - highs, last, first)
        return np.where(none, nearer, first), np.where(none, nearer, last)

    def _unfolded(self, values: Values, lows: Values, highs: Values) -> tuple[Values, Values]:
        """The first unfolded `values` from lows on, and the last up to highs."""
        m = self.modulus
        folded = (values >= 0) & (values < m)
        raw = np.where(folded, values, 0)
        first = raw + -((raw - _within(lows)) // m) * m
        last = raw + (_within(highs) - raw) // m * m
        return np.where(folded, first, values), np.where(folded, last, values)


def _within(ends: Values) -> Values:
    """Ends of spans, so far from those of int64 that a wrap more fits."""
    return np.clip(ends, -(1 << 62), 1 << 62)


Near = Callable[[Counter], tuple[Values, Values]]
"""The spans, (lows, highs), that readings of a counter are in: int64, in its readings' unit."""


def modulus_of(valid_bits: int, unit_ns: int) -> int | None:
    """What a counter of so many bits wraps at, in ns of its unit; None where it never does."""
    modulus = unit_ns << valid_bits
    return modulus if valid_bits < 64 and modulus <= _LONGEST else None


def unfold_readings(
    clock: ClockId,
    readings: Values,
    others_ns: Values,
    modulus: int,
    rate: Fraction,
    drift: float,
    slack_ns: int,
) -> Values:
    """Readings of a counter as if it had never wrapped, from 0 or the first reading on.

    Args:
        clock: the counter, for messages.
        readings: int64, below the modulus.
        others_ns: another clock's readings in the same snapshots, int64 ns.
        modulus: where the counter wraps, in units of the readings.
        rate: ns per unit of the readings.
        drift: how far the two rates may differ from that, ns per ns.
        slack_ns: how far apart in time the readings of a snapshot may be, twice over.

    Raises:
        ConversionError: (ambiguous_source) two snapshots so far apart that the number of wraps
            between them is open; (overflow) it counts beyond int64.
    """
    order = np.lexsort((readings, others_ns))
    raw, others = readings[order], others_ns[order]
    # Two readings may be further apart than int64: such gaps are too long for any counter.
    gaps = np.diff(others.view(np.uint64)).astype(np.float64)
    allowed = gaps * drift + slack_ns
    wrap_ns = float(modulus * rate)
    if len(gaps) and 2 * float(allowed.max()) >= wrap_ns:
        raise _too_sparse(clock, gaps[np.argmax(allowed)], wrap_ns, drift, slack_ns)
    if float(gaps.sum()) / float(rate) > _LONGEST:
        raise ConversionError(
            f"{clock}, unfolded, does not fit in int64: check its rate", REASONS[OVERFLOW]
        )
    expected = nominal_ns(np.diff(others), 1 / rate)
    counted = np.diff(raw) % modulus
    steps = counted + (expected - counted + modulus // 2) // modulus * modulus
    missed = steps - expected
    held = np.abs(missed.astype(np.float64)) * float(rate) <= allowed
    near_zero = raw[1:].astype(np.float64) * float(rate) <= gaps + allowed
    went_on = np.append(held[1:], True)
    # One wrong reading misses twice, and what comes after it agrees with what was before.
    both = missed[:-1] + missed[1:]
    both = np.abs((both + modulus // 2) % modulus - modulus // 2).astype(np.float64)
    healed = ~held[:-1] & (both * float(rate) <= allowed[:-1] + allowed[1:])
    anew = np.flatnonzero(~held & near_zero & went_on & ~np.append(False, healed)[: len(held)]) + 1
    total = np.concatenate(([0], np.cumsum(steps))) + raw[:1]
    for k in anew.tolist():
        total[k:] += raw[k] - total[k]
    unfolded = np.empty_like(readings)
    unfolded[order] = total
    return unfolded


def open_wraps(clock: ClockId, counter: Counter, rate: Fraction | None) -> str | None:
    """The error where snapshots are further apart than a counter's wraps; None if none are.

    rate: ns per unit of the readings; None where it is unknown.
    """
    gap = float(difference(counter.readings[1:], counter.readings[:-1]).max(initial=0))
    if gap < counter.modulus:
        return None
    often = "" if rate is None else f" every {float(counter.modulus * rate) * 1e-9:.6g} s"
    return (
        f"{clock} wraps{often}, up to {gap / counter.modulus:,.1f} times between two of its "
        "snapshots, and which of these wraps a reading belongs to is open: take a snapshot of it "
        "more often than it wraps"
    )


def _too_sparse(
    clock: ClockId, gap_ns: float, wrap_ns: float, drift: float, slack_ns: int
) -> ConversionError:
    wrap = f"{clock} wraps every {wrap_ns * 1e-9:.6g} s"
    most_s = (wrap_ns / 2 - slack_ns) / drift * 1e-9 if drift else 0.0
    if most_s <= 0:
        advice = f"its snapshots are no closer than {slack_ns / 2:.0f} ns: say a smaller half-width"
    else:
        advice = f"take a snapshot of it at least every {most_s:.6g} s, or say a smaller drift"
    return ConversionError(
        f"{wrap}, and how often it did in the {gap_ns * 1e-9:.6g} s between two of its "
        f"snapshots is open: {advice}",
        REASONS[AMBIGUOUS_SOURCE],
    )
