"""The order of two readings, where their bars decide it."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import numpy.typing as npt

from tracetime.clocks.ids import ClockId
from tracetime.errors import AMBIGUOUS_SOURCE, REASONS, ConversionError, UsageError
from tracetime.graph.arguments import ClockTimes
from tracetime.graph.conversion import by_name, conversion_error, convert_with_bars, missing_marks
from tracetime.graph.facts import clock_named
from tracetime.graph.graph import Graph
from tracetime.graph.rate import saturated_ns
from tracetime.graph.tube.one_clock import Side, Signs, in_order, signs_of
from tracetime.graph.tube.results import Bars, check_bars
from tracetime.graph.values import Given, Values, take


def order(
    graph: Graph, one: ClockTimes, other: ClockTimes, bars: Bars
) -> int | npt.NDArray[np.int8]:
    """Compare the sides; see `ClockGraph.order`."""
    check_bars(bars)
    for side in (one, other):
        if not (isinstance(side, (tuple, list)) and len(side) == 2):
            raise UsageError(f"order compares (timestamps, clock) with as many, not {side!r}")
    (ts_one, clock_one), (ts_other, clock_other) = one, other
    clocks = clock_named(graph, clock_one), clock_named(graph, clock_other)
    mine, theirs = take(ts_one), take(ts_other)
    if mine.missing is not None or theirs.missing is not None:
        raise UsageError("there are nulls among the timestamps: order compares whole numbers")
    if not (mine.scalar or theirs.scalar or len(mine.values) == len(theirs.values)):
        raise UsageError(
            f"order compares as many timestamps with as many: {len(mine.values)} with "
            f"{len(theirs.values)}"
        )
    try:
        with graph.lock:
            signs = _signs(graph, (mine, theirs), clocks, bars)
    except ConversionError as error:
        raise by_name(graph, error) from None
    return signs.item() if mine.scalar and theirs.scalar else signs


def _signs(
    graph: Graph, given: tuple[Given, Given], clocks: tuple[ClockId, ClockId], bars: Bars
) -> Signs:
    """The signs of the order of readings: on one of their clocks, or on a third one."""
    is_one = clocks[0] == clocks[1]
    if is_one:
        reference = clocks[0]
        try:
            sides = [_possible(graph, side.values, reference) for side in given]
        except ConversionError:
            # How often it wrapped between two snapshots is open: either may be the earlier one.
            return np.zeros(np.broadcast(*(side.values for side in given)).shape, dtype=np.int8)
    else:
        reference = graph.tubes.paths.reference(*clocks)
        sides = [
            _on_reference(graph, side, clock, reference, bars)
            for side, clock in zip(given, clocks, strict=True)
        ]
    one, other = _as_long(*sides)
    signs = signs_of(one, other)
    if is_one and graph.tubes.pairs.counter(reference) is None:
        # As they were given: in ns they may be beyond int64.
        signs = signs_of(*_as_long(*((side.values, side.values) for side in given)))
    return in_order(graph.tubes.pairs, reference, signs, (one, other), bars)


def _as_long(one: tuple[Values, Values], other: tuple[Values, Values]) -> tuple[Side, Side]:
    """Two sides as arrays of one length: either may be one reading."""
    columns = np.broadcast_arrays(*one, *other)
    return Side(*columns[:2]), Side(*columns[2:])


def _possible(graph: Graph, values: Values, clock: ClockId) -> tuple[Values, Values]:
    """The readings in the unit of bars on their clock; of a short counter, all possible ones."""
    ns, counter = _in_ns(graph, values, clock), graph.tubes.pairs.counter(clock)
    return (ns, ns) if counter is None else counter.possible(ns)


def _on_reference(
    graph: Graph, given: Given, clock: ClockId, reference: ClockId, bars: Bars
) -> tuple[Values, Values]:
    """The bars of readings on `reference`; about both times where the clock had a reading twice."""
    if clock == reference:
        there = own_bars(graph, given.values, clock)
        return there, there
    reached = convert_with_bars(graph, given.values, clock, reference, bars)
    bad = missing_marks(reached.status)
    if bad is not None and graph.tubes.pairs.counter(clock) is None:
        bad = np.where(bad == AMBIGUOUS_SOURCE, np.uint8(0), bad)
    if bad is not None and bad.any():
        raise conversion_error(graph, given, clock, reference, bad, *reached[1:3])
    return reached.earliest, reached.latest


def own_bars(graph: Graph, values: Values, clock: ClockId) -> Values:
    """The readings in the unit of bars on their clock: ns; a short counter's unwrapped.

    What is beyond int64 becomes its end.
    """
    with graph.lock:
        there, counter = _in_ns(graph, values, clock), graph.tubes.pairs.counter(clock)
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


def _in_ns(graph: Graph, values: Values, clock: ClockId) -> Values:
    return saturated_ns(values, Fraction(graph.contents.unit_ns(clock)))[0]
