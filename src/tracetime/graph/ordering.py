"""The order of two readings, where their bars decide it."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tracetime.clocks.ids import ClockId
from tracetime.clocks.snapshot import INT64_MAX, INT64_MIN
from tracetime.errors import AMBIGUOUS_SOURCE, REASONS, ConversionError, UsageError
from tracetime.graph.arguments import ClockTimes
from tracetime.graph.conversion import by_name, conversion_error, convert_with_bars, missing_marks
from tracetime.graph.facts import clock_named, readings
from tracetime.graph.graph import Graph
from tracetime.graph.ticks import ns_per_tick, saturated_ns
from tracetime.graph.tube.one_clock import Side, Signs, in_order, signs_of, steadied
from tracetime.graph.tube.results import Bars, Margin, check_bars
from tracetime.graph.values import Given, Values


def order(
    graph: Graph, one: ClockTimes, other: ClockTimes, bars: Bars, *, mask: bool, margin: bool
) -> Any:
    """Compare the sides; see `ClockGraph.order`."""
    check_bars(bars)
    for side in (one, other):
        if not (isinstance(side, (tuple, list)) and len(side) == 2):
            raise UsageError(f"order compares (timestamps, clock) with as many, not {side!r}")
    clocks = clock_named(graph, one[1]), clock_named(graph, other[1])
    mine, theirs = readings(graph, one[0], clocks[0]), readings(graph, other[0], clocks[1])
    if not mask and not (mine.missing is None and theirs.missing is None):
        raise UsageError("there are nulls among the timestamps: compare with errors='mask'")
    if not (mine.scalar or theirs.scalar or len(mine.values) == len(theirs.values)):
        raise UsageError(
            f"order compares as many timestamps with as many: {len(mine.values)} with "
            f"{len(theirs.values)}"
        )
    try:
        with graph.lock:
            compared = _compare(graph, (mine, theirs), clocks, bars, mask)
    except ConversionError as error:
        if not mask:
            raise by_name(graph, error) from None
        none = np.zeros(np.broadcast(mine.values, theirs.values).shape, dtype=np.int8)
        compared = _Compared(clocks, clocks[0], none, None, np.ones_like(none, dtype=np.bool_))
    given = _shape(mine, theirs)
    bad = compared.bad.view(np.uint8)
    signs = given.shaped(compared.signs, bad, mask)
    if not margin:
        return signs
    least, most = compared.margin(graph, bars)
    nulls = np.uint8(given.scalar or mask)
    return Margin(
        signs,
        given.shaped(least, bad | ((least == INT64_MIN) & nulls), mask),
        given.shaped(most, bad | ((most == INT64_MAX) & nulls), mask),
    )


def _shape(one: Given, other: Given) -> Given:
    """Timestamps of the shape and with the nulls of either side."""
    first = one if other.scalar or (one.series is not None and not one.scalar) else other
    missing = [side.missing for side in (one, other) if side.missing is not None]
    if missing:
        first = first._replace(missing=np.logical_or.reduce(np.broadcast_arrays(*missing)))
    return first


class _Compared(NamedTuple):
    """Two sides on one clock, and their signs.

    Attributes:
        clocks: those of the timestamps.
        reference: the clock of the sides.
        signs: which is before the other.
        sides: None where nothing is known of them.
        bad: which do not convert; `signs` and `sides` say nothing of these.
    """

    clocks: tuple[ClockId, ClockId]
    reference: ClockId
    signs: Signs
    sides: tuple[Side, Side] | None
    bad: npt.NDArray[np.bool_]

    def margin(self, graph: Graph, bars: Bars) -> tuple[Values, Values]:
        """The least and most time from one to the other, ns; the ends of int64 where open."""
        least, most = np.full((2, len(self.signs)), [[INT64_MIN], [INT64_MAX]], dtype=np.int64)
        with graph.lock:
            found = self.sides and steadied(graph.tubes.pairs, self.reference, self.sides, bars)
        if not found:
            return least, most
        clock, (one, other) = found
        rate = ns_per_tick(graph, clock, next(c for c in (*self.clocks, None) if c != clock))
        if rate is not None:
            known = (other.earliest != INT64_MIN) & (one.latest != INT64_MAX)
            below = saturated_ns(_less(other.earliest, one.latest), rate)[0]
            least = np.where(known, below, least)
            known = (other.latest != INT64_MAX) & (one.earliest != INT64_MIN)
            # Rounded up.
            above = saturated_ns(_less(one.earliest, other.latest), rate)[0]
            most = np.where(known, _less(np.zeros_like(above), above), most)
        # As the signs say, which rest on more.
        least = np.where(self.signs < 0, np.maximum(least, 0), np.minimum(least, 0))
        most = np.where(self.signs > 0, np.minimum(most, 0), np.maximum(most, 0))
        return least, most


def _less(one: Values, other: Values) -> Values:
    """The difference one - other, or the nearest int64."""
    wrapped = (one.view(np.uint64) - other.view(np.uint64)).view(np.int64)
    beyond = ((one ^ other) & (one ^ wrapped)) < 0
    return np.where(beyond, np.where(one < 0, INT64_MIN, INT64_MAX), wrapped)


def _compare(
    graph: Graph,
    given: tuple[Given, Given],
    clocks: tuple[ClockId, ClockId],
    bars: Bars,
    mask: bool,
) -> _Compared:
    """The order of readings: on one of their clocks, or on a third one."""
    bad = np.zeros(np.broadcast(*(side.values for side in given)).shape, dtype=np.bool_)
    is_one = clocks[0] == clocks[1]
    if is_one:
        reference = clocks[0]
        try:
            sides = [_possible(graph, side.values, reference) for side in given]
        except ConversionError:
            # How often it wrapped between two snapshots is open: either may be the earlier one.
            return _Compared(clocks, reference, bad.astype(np.int8), None, bad)
    else:
        reference = graph.tubes.paths.reference(*clocks)
        sides = []
        for side, clock in zip(given, clocks, strict=True):
            earliest, latest, wrong = _on_reference(graph, side, clock, reference, bars, mask)
            sides.append((earliest, latest))
            bad |= wrong
    one, other = _as_long(*sides)
    signs = signs_of(one, other)
    if is_one and graph.tubes.pairs.counter(reference) is None:
        # As they were given: in ns they may be beyond int64.
        signs = signs_of(*_as_long(*((side.values, side.values) for side in given)))
    signs = in_order(graph.tubes.pairs, reference, signs, (one, other), bars)
    return _Compared(clocks, reference, signs, (one, other), bad)


def _as_long(one: tuple[Values, Values], other: tuple[Values, Values]) -> tuple[Side, Side]:
    """Two sides as arrays of one length: either may be one reading."""
    columns = np.broadcast_arrays(*one, *other)
    return Side(*columns[:2]), Side(*columns[2:])


def _possible(graph: Graph, values: Values, clock: ClockId) -> tuple[Values, Values]:
    """The readings in the unit of bars on their clock; of a short counter, all possible ones."""
    ns, counter = _in_ns(graph, values, clock), graph.tubes.pairs.counter(clock)
    return (ns, ns) if counter is None else counter.possible(ns)


def _on_reference(
    graph: Graph, given: Given, clock: ClockId, reference: ClockId, bars: Bars, mask: bool
) -> tuple[Values, Values, npt.NDArray[np.bool_]]:
    """The bars of readings on `reference`; about both times where the clock had a reading twice.

    And a mask of those that do not convert, with `mask`.
    """
    if clock == reference:
        there = own_bars(graph, given.values, clock)
        return there, there, np.zeros(len(there), dtype=np.bool_)
    reached = convert_with_bars(graph, given.values, clock, reference, bars)
    bad = missing_marks(reached.status)
    if bad is None:
        return reached.earliest, reached.latest, np.zeros(len(reached.status), dtype=np.bool_)
    if graph.tubes.pairs.counter(clock) is None:
        bad = np.where(bad == AMBIGUOUS_SOURCE, np.uint8(0), bad)
    if bad.any() and not mask:
        raise conversion_error(graph, given, clock, reference, bad, *reached[1:3])
    return reached.earliest, reached.latest, bad != 0


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
