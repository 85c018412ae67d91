"""Which of two readings of different clocks comes first, where their bars decide it."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import numpy.typing as npt

from tracetime.clocks.ids import ClockId
from tracetime.errors import AMBIGUOUS_SOURCE, REASONS, ConversionError, UsageError
from tracetime.graph.arguments import ClockTimes
from tracetime.graph.clock_lookup import clock_named
from tracetime.graph.conversion import bounded, by_name, unconverted, unplaced
from tracetime.graph.parts import GraphParts
from tracetime.graph.rate import saturated_ns
from tracetime.graph.values import Given, take

Values = npt.NDArray[np.int64]


def order(parts: GraphParts, one: ClockTimes, other: ClockTimes) -> int | npt.NDArray[np.int8]:
    """Compare the sides; see `ClockGraph.order`."""
    for side in (one, other):
        if not (isinstance(side, (tuple, list)) and len(side) == 2):
            raise UsageError(f"order compares (timestamps, clock) with as many, not {side!r}")
    (ts_one, clock_one), (ts_other, clock_other) = one, other
    first, second = clock_named(parts, clock_one), clock_named(parts, clock_other)
    mine, theirs = take(ts_one), take(ts_other)
    if mine.missing is not None or theirs.missing is not None:
        raise UsageError("there are nulls among the timestamps: order compares whole numbers")
    if not (mine.scalar or theirs.scalar or len(mine.values) == len(theirs.values)):
        raise UsageError(
            f"order compares as many timestamps with as many: {len(mine.values)} with "
            f"{len(theirs.values)}"
        )
    earliest = latest = mine.values
    low = high = theirs.values
    if first != second:
        try:
            with parts.lock:
                reference = parts.tubes.reference(first, second)
        except ConversionError as error:
            raise by_name(parts, error) from None
        earliest, latest = _on_reference(parts, mine, first, reference)
        low, high = _on_reference(parts, theirs, second, reference)
    signs = (earliest > high).astype(np.int8) - (latest < low)
    return signs.item() if mine.scalar and theirs.scalar else signs


def _on_reference(
    parts: GraphParts, given: Given, clock: ClockId, reference: ClockId
) -> tuple[Values, Values]:
    """The bars of readings on `reference`; about both times where the clock had a reading twice."""
    if clock == reference:
        there = own_bars(parts, given.values, clock)
        return there, there
    reached = bounded(parts, given.values, clock, reference, "estimated")
    bad = unplaced(reached.status)
    if bad is not None and parts.tubes.counter(clock) is None:
        bad = np.where(bad == AMBIGUOUS_SOURCE, np.uint8(0), bad)
    if bad is not None and bad.any():
        raise unconverted(parts, given, clock, reference, bad, *reached[1:3])
    return reached.earliest, reached.latest


def own_bars(parts: GraphParts, values: Values, clock: ClockId) -> Values:
    """Readings in the unit of bars on their clock: ns, those of a short counter unwrapped.

    What is beyond int64 becomes its end.
    """
    with parts.lock:
        unit_ns = parts.contents.unit_ns(clock)
        counter = parts.tubes.counter(clock)
    there, _ = saturated_ns(values, Fraction(unit_ns))
    if counter is None:
        return there
    first, last = counter.wraps_of(there)
    if (first != last).any():
        raise ConversionError(
            f"{clock} {values[int(np.argmax(first != last))]} can mean two instants: {clock} "
            "wrapped; convert it, saying near which time it was (near)",
            REASONS[AMBIGUOUS_SOURCE],
        )
    return first
