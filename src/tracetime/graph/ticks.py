"""Clocks that count ticks: exact nominal ns, and their conversion by floor.

Floor adds an offset, whatever the clocks count: Perfetto's rule. From such a clock, it takes a tick
since the last snapshot for 1 ns; to such a clock, it takes 1 ns for a tick. So events are placed;
what else is asked for is refused.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from fractions import Fraction
from itertools import pairwise
from typing import Any, Final, Literal, Protocol

import numpy as np

from tracetime.clocks.domain import ClockDomain
from tracetime.clocks.families import SLEWED_DRIFT_PPM
from tracetime.clocks.ids import ClockId
from tracetime.errors import NO_PATH, OVERFLOW, REASONS, ConversionError, UsageError
from tracetime.graph.values import Mask, Values

MOST_DENOMINATOR = 1 << 40
"""Of a rate from snapshots: finer than any clock's reading, and products stay small."""
INT64_MIN, INT64_MAX = -(1 << 63), (1 << 63) - 1

Unit = Literal["ns", "ticks"]

Side = Literal["", "before first", "after last"]
"""On which side of the snapshots a value is; empty where it is among them."""

# A clock that drifts by no more than this counts ns.
_SAME: Final = Fraction(SLEWED_DRIFT_PPM) / 10**6


class Rates(Protocol):
    """A source of the rates of a graph's clocks."""

    def domain(self, clock: ClockId) -> ClockDomain: ...
    def shared(self, one: ClockId, other: ClockId) -> tuple[Any, Any, Any]: ...


class Clocks(Rates, Protocol):
    """A clock graph."""

    def name(self, clock: ClockId) -> str: ...
    def path(self, source: ClockId, target: ClockId) -> list[ClockId]: ...


def ns_per_tick(rates: Rates, clock: ClockId, other: ClockId | None) -> Fraction | None:
    """The duration of a tick of `clock`: declared, or by its snapshots with `other`.

    1 where it counts ns, to within what a clock may drift; None where it is unknown.
    """
    rate = rates.domain(clock).ns_per_tick
    if rate is None and other is not None:
        _, ours, theirs = rates.shared(clock, other)
        with suppress(ConversionError):
            rate = learn_rate(ours, theirs)
            rate = Fraction(1) if abs(rate - 1) <= _SAME else rate
    return rate


def unit_of(rates: Rates, clock: ClockId) -> Unit:
    """The unit that the readings of a clock count, as far as it was declared or its kind says."""
    return "ns" if ns_per_tick(rates, clock, None) == 1 else "ticks"


def refuse_floor_of_ticks(graph: Clocks, src: ClockId, dst: ClockId) -> None:
    """Refuse a conversion whose result may be off by whole seconds.

    A clock whose rate nothing gives may be converted from: its one snapshot is exact.

    Raises:
        UsageError: floor's path from src to dst leads from or into a clock that counts ticks.
    """
    for clock, rate, is_source in _ticking(graph, src, dst):
        if rate is not None or not is_source:
            by_way = "" if clock in (src, dst) else f" (on the way to {graph.name(dst)})"
            raise UsageError(_why_wrong(f"{graph.name(clock)}{by_way}", clock, rate))


def why_floor_may_be_wrong(graph: Clocks, src: ClockId, dst: ClockId) -> str | None:
    """Return the assumption of floor in a conversion that is not refused; None without one."""
    for clock, rate, _ in _ticking(graph, src, dst):
        return _why_wrong(graph.name(clock), clock, rate)
    return None


def _ticking(
    graph: Clocks, src: ClockId, dst: ClockId
) -> Iterator[tuple[ClockId, Fraction | None, bool]]:
    """The clocks on floor's path whose ticks do not last 1 ns, as far as known.

    Each with how long one lasts, and whether the step begins there rather than ends.
    """
    with suppress(ConversionError):
        for before, after in pairwise(graph.path(src, dst)):
            for clock, other in ((before, after), (after, before)):
                rate = ns_per_tick(graph, clock, other)
                if rate != 1:
                    yield clock, rate, clock == before


def _why_wrong(name: str, clock: ClockId, rate: Fraction | None) -> str:
    if rate is None:
        return (
            f"{name} counts ticks, and nothing says how long one lasts, which the floor policy "
            "takes for 1 ns: give --policy tube, and the rate, as in "
            f"--clock-rate {clock}=2.4GHz (1GHz where it counts ns)"
        )
    return (
        f"{name} counts ticks of {float(rate):.6g} ns, and the floor policy takes each for 1 ns: "
        "give --policy tube, which converts by the rate"
    )


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
