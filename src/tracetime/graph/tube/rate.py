"""Clocks that count ticks: nominal ns by an exact fraction, given or learnt."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import numpy.typing as npt

from tracetime.errors import NO_PATH, OVERFLOW, REASONS, ConversionError

Values = npt.NDArray[np.int64]

MOST_DENOMINATOR = 1 << 40


def learn_rate(ticks: Values, ns: Values) -> Fraction:
    """ns per tick of a clock whose rate is unknown, from the first and last of its snapshots.

    ticks, ns: int64, what the two clocks read together, in any order.

    Raises:
        ConversionError: fewer than two snapshots, or none in which both clocks have moved on.
    """
    spans = (0, 0)
    if len(ticks) >= 2:
        first, last = int(np.argmin(ticks)), int(np.argmax(ticks))
        spans = (int(ns[last]) - int(ns[first]), int(ticks[last]) - int(ticks[first]))
    if spans[0] <= 0 or spans[1] <= 0:
        raise ConversionError(
            "the rate of the clock is unknown, and its snapshots do not give it: take two in "
            "which both clocks have moved on, or say how many ns a tick lasts",
            REASONS[NO_PATH],
        )
    return Fraction(*spans).limit_denominator(MOST_DENOMINATOR) or Fraction(1, MOST_DENOMINATOR)


def nominal_ns(ticks: Values, ns_per_tick: Fraction) -> Values:
    """Ticks as whole ns at the nominal rate, rounded down; exact, int64 in and out.

    Raises:
        ConversionError: a result does not fit in int64.
    """
    numerator, denominator = ns_per_tick.numerator, ns_per_tick.denominator
    # whole + part/denominator, each product within int64 or in Python's integers.
    whole, rest = np.divmod(ticks, denominator)
    extreme = max((abs(int(w)) for w in (whole.min(), whole.max())), default=0) + 1
    if extreme * numerator > 1 << 62 or denominator * numerator > 1 << 62:
        exact = [int(t) * numerator // denominator for t in ticks.tolist()]
        if exact and not -(1 << 63) <= min(exact) <= max(exact) < 1 << 63:
            raise ConversionError(
                f"ticks of {float(ns_per_tick):g} ns do not fit in int64 ns", REASONS[OVERFLOW]
            )
        return np.array(exact, dtype=np.int64)
    result: Values = whole * numerator + rest * numerator // denominator
    return result
