"""Clocks that count ticks: nominal ns by an exact fraction, given or from snapshots."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from tracetime.errors import NO_PATH, OVERFLOW, REASONS, ConversionError
from tracetime.graph.values import Mask, Values

MOST_DENOMINATOR = 1 << 40
"""Of a rate from snapshots: finer than any clock's reading, and products stay small."""
INT64_MIN, INT64_MAX = -(1 << 63), (1 << 63) - 1


def learn_rate(ticks: Values, ns: Values, clock: str = "the clock") -> Fraction:
    """The ns per tick of a clock whose rate is unknown, from the first and last of its snapshots.

    ticks, ns: int64, the readings of two clocks in snapshots, in any order; clock: for messages.

    Raises:
        ConversionError: fewer than two snapshots, or none in which both clocks have moved on.
    """
    span_ns = span = 0
    if len(ticks):
        first, last = int(np.argmin(ticks)), int(np.argmax(ticks))
        span_ns, span = int(ns[last]) - int(ns[first]), int(ticks[last]) - int(ticks[first])
    # Where all ticks are the same, first and last are one snapshot.
    if span_ns <= 0:
        raise ConversionError(
            f"the rate of {clock} is unknown, and its snapshots do not give it: take two in "
            "which both clocks have moved on, or say how many ns a tick lasts",
            REASONS[NO_PATH],
        )
    rate = Fraction(span_ns, span).limit_denominator(MOST_DENOMINATOR)
    return rate or Fraction(1, MOST_DENOMINATOR)


def nominal_ns(ticks: Values, ns_per_tick: Fraction) -> Values:
    """The whole ns of ticks at the nominal rate, rounded down; exact, int64 in and out.

    Raises:
        ConversionError: a result does not fit in int64.
    """
    exact = _exact_ns(ticks, ns_per_tick)
    if isinstance(exact, list):
        if not INT64_MIN <= min(exact) <= max(exact) <= INT64_MAX:
            raise ConversionError(
                f"ticks of {float(ns_per_tick):g} ns do not fit in int64 ns", REASONS[OVERFLOW]
            )
        return np.array(exact, dtype=np.int64)
    return exact


def saturated_ns(ticks: Values, ns_per_tick: Fraction) -> tuple[Values, Mask]:
    """The ns as of `nominal_ns`, or the nearest int64, and a mask of those that do not fit."""
    exact = _exact_ns(ticks, ns_per_tick)
    if isinstance(exact, list):
        held = [min(max(value, INT64_MIN), INT64_MAX) for value in exact]
        beyond = [value != kept for value, kept in zip(exact, held, strict=True)]
        return np.array(held, dtype=np.int64), np.array(beyond, dtype=bool)
    return exact, np.zeros(len(exact), dtype=bool)


def _exact_ns(ticks: Values, ns_per_tick: Fraction) -> Values | list[int]:
    """The exact ns; a list of Python's integers, not empty, where products may leave int64."""
    if not len(ticks):
        return ticks.copy()
    numerator, denominator = ns_per_tick.numerator, ns_per_tick.denominator
    if denominator > INT64_MAX:
        return [int(t) * numerator // denominator for t in ticks.tolist()]
    # whole + part/denominator, each product within int64 or in Python's integers.
    whole, rest = np.divmod(ticks, denominator)
    extreme = max(abs(int(whole.min())), abs(int(whole.max()))) + 1
    if max(extreme, denominator) * numerator > 1 << 62:
        return [int(t) * numerator // denominator for t in ticks.tolist()]
    result: Values = whole * numerator + rest * numerator // denominator
    return result
