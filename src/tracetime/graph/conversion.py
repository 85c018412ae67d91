"""Conversions by either policy: values in any shape, errors or nulls, and explanations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from tracetime._kernels.graph import scale
from tracetime.clocks.ids import ClockId
from tracetime.errors import (
    AMBIGUOUS_SOURCE,
    ONE_SIDED,
    OVERFLOW,
    REASONS,
    RESOLVED,
    ConversionError,
    UsageError,
)
from tracetime.graph.arguments import ClockTimes, PolicyName
from tracetime.graph.clock_names import named
from tracetime.graph.facts import clock_named, readings
from tracetime.graph.graph import Graph
from tracetime.graph.ticks import ns_per_tick, unit_of
from tracetime.graph.tube.results import Bars, Bounds, Reached
from tracetime.graph.tube.wraps import Counter, Near
from tracetime.graph.values import Given, Marks, Result, Values

if TYPE_CHECKING:
    from tracetime.graph.explanation import Explanation, Hop
    from tracetime.graph.tube.explanation import TubeExplanation


_AT_ONCE: Final = 1 << 16
"""Values that the tube converts at once: what it makes of them on the way stays in the cache."""


class Request(NamedTuple):
    """A request to convert by the tube; see `ClockGraph.convert`."""

    given: Given
    source: ClockId
    target: ClockId
    bars: Bars
    near: ClockTimes | None


def by_floor(graph: Graph, given: Given, source: ClockId, target: ClockId, *, mask: bool) -> Result:
    """Convert by floor; with `mask`, null where a value does not convert.

    Raises:
        UsageError, ConversionError: as `ClockGraph.convert`, the latter without `mask` alone.
    """
    _check_nulls(given, mask)
    bad: Marks | None
    try:
        if source == target:
            values, bad = given.values.copy(), None
        else:
            values, bad = graph.floor.route(source, target).convert(given.values)
    except ConversionError as error:
        if not mask:
            raise by_name(graph, error) from None
        values, bad = _nothing(given)
    if bad is not None and not mask:
        raise conversion_error(graph, given, source, target, bad)
    return given.shaped(values, bad, mask)


def by_tube(graph: Graph, request: Request, *, mask: bool) -> Result:
    """Convert by the tube; otherwise as `by_floor`."""
    given = request.given
    estimate, bad, _ = _by_tube(graph, request, mask)
    return given.shaped(estimate, bad, mask)


def bounds_by_tube(graph: Graph, request: Request, *, mask: bool) -> Bounds[Result, Result]:
    """Convert by the tube, with bars; otherwise as `by_floor`."""
    given = request.given
    estimate, bad, reached = _by_tube(graph, request, mask)
    sides = []
    for side, unknown in zip(reached[1:3], reached.open_sides(), strict=True):
        unbounded: Marks | None = unknown.astype(np.uint8) if unknown.any() else None
        if bad is not None:
            # Two instants have no estimate, but a bar that holds both.
            none = (bad != 0) & (bad != AMBIGUOUS_SOURCE)
            unbounded = (none | unknown).astype(np.uint8)
        sides.append(given.shaped(side, unbounded, mask))
    return Bounds(given.shaped(estimate, bad, mask), *sides)


def _by_tube(graph: Graph, request: Request, mask: bool) -> tuple[Values, Marks | None, Reached]:
    """The estimates, marks where there are none, and the results with their bars."""
    given, source, target, bars, near = request
    _check_nulls(given, mask)
    try:
        reached = convert_with_bars(graph, given.values, source, target, bars, near)
        estimate, bad = reached.estimate, missing_marks(reached.status)
    except ConversionError as error:
        if not mask:
            raise by_name(graph, error) from None
        estimate, bad = _nothing(given)
        reached = Reached(estimate, estimate, estimate, bad)
    if bad is not None and not mask:
        raise conversion_error(graph, given, source, target, bad, *reached[1:3])
    return estimate, bad, reached


def missing_marks(status: Marks) -> Marks | None:
    """The marks of values that have no estimate; None where all have one."""
    if not status.any():
        return None
    marks = np.where(status == ONE_SIDED, np.uint8(RESOLVED), status)
    return marks if marks.any() else None


def _check_nulls(given: Given, mask: bool) -> None:
    if given.missing is not None and not mask:
        raise UsageError("there are nulls among the timestamps: convert with errors='mask'")


def _nothing(given: Given) -> tuple[Values, Marks]:
    """The result where no value converts: values, and their marks."""
    return np.zeros_like(given.values), np.full(len(given.values), OVERFLOW, dtype=np.uint8)


def conversion_error(
    graph: Graph, given: Given, source: ClockId, target: ClockId, bad: Marks, *bar: Values
) -> ConversionError:
    """The error of the first value that is marked; bar: earliest and latest of all values."""
    first = int(np.flatnonzero(bad)[0])
    which = f"{source} {given.values[first]}" + ("" if given.scalar else f" (index {first})")
    if bad[first] != AMBIGUOUS_SOURCE:
        text = f"{which} converted to {target} does not fit in int64"
        return by_name(graph, ConversionError(text, REASONS[OVERFLOW]))
    text = f"{which} can mean two instants of {target}"
    if bar:
        text += f", between {bar[0][first]} and {bar[1][first]}"
    why = (
        "was set back"
        if graph.tubes.pairs.counter(source) is None
        else "wrapped; say near which time it was (near)"
    )
    return by_name(graph, ConversionError(f"{text}: {source} {why}", REASONS[AMBIGUOUS_SOURCE]))


def by_name(graph: Graph, error: ConversionError) -> ConversionError:
    """The error with the declared names of the clocks."""
    return ConversionError(named(error.message, graph.state.names), error.reason)


def explain_by_floor(graph: Graph, given: Given, source: ClockId, target: ClockId) -> Explanation:
    """One conversion by floor, hop by hop; see `ClockGraph.explain`."""
    from tracetime.graph.explanation import Explanation, floor_step

    result = _one(by_floor(graph, given, source, target, mask=False))
    value, names = given.values.item(), graph.state.names
    if source == target:
        own = unit_of(graph, source)
        return Explanation(value, 1, source, target, [], result, names, own, own)
    route = graph.floor.route(source, target)
    steps: list[Hop] = []
    ns = value * route.unit_ns
    for hop in route.hops:
        rates = (
            ns_per_tick(graph, hop.source, hop.target),
            ns_per_tick(graph, hop.target, hop.source),
        )
        steps.append(floor_step(hop, ns, *rates))
        ns = steps[-1].value_ns_after
    return Explanation(
        value=value,
        unit_ns=route.unit_ns,
        src=source,
        dst=target,
        steps=steps,
        result=result,
        names=names,
        value_unit=steps[0].src_unit,
        unit=steps[-1].dst_unit,
    )


def explain_by_tube(graph: Graph, request: Request) -> TubeExplanation:
    """One conversion by the tube, hop by hop; see `ClockGraph.explain`."""
    from tracetime.graph.tube.explanation import TubeExplanation

    result = _one(by_tube(graph, request, mask=False))
    given, source, target, bars, near = request
    value, names = given.values.item(), graph.state.names
    if source == target:
        unit = unit_of(graph, source)
        return TubeExplanation(value, source, target, bars, [], result, result, result, names, unit)
    source_ns = value * graph.contents.unit_ns(source)
    span = None if near is None else _span(graph, near, source, 1)
    return graph.tubes.explain(value, source_ns, source, target, bars, names, span)


def _one(result: Result) -> int:
    if not isinstance(result, int):
        raise UsageError("explain takes one timestamp, an int")
    return result


def convert_with_bars(
    graph: Graph,
    values: Values,
    source: ClockId,
    target: ClockId,
    bars: Bars,
    near: ClockTimes | None = None,
) -> Reached:
    """Values on the target with their bars; status says where there is none."""
    if source == target:
        own = values.copy()
        return Reached(own, own, own, np.zeros(len(values), dtype=np.uint8))
    with graph.lock:
        if near is not None:
            span = _span(graph, near, source, len(values))
            return _bounded_part(graph, values, source, target, bars, span)
        if len(values) <= _AT_ONCE:
            return _bounded_part(graph, values, source, target, bars, None)
        estimate, earliest, latest = (np.empty_like(values) for _ in range(3))
        status = np.empty(len(values), np.uint8)
        for start in range(0, len(values), _AT_ONCE):
            part = slice(start, start + _AT_ONCE)
            found = _bounded_part(graph, values[part], source, target, bars, None)
            estimate[part], status[part] = found.estimate, found.status
            earliest[part], latest[part] = found.earliest, found.latest
        return Reached(estimate, earliest, latest, status)


def _bounded_part(
    graph: Graph, values: Values, source: ClockId, target: ClockId, bars: Bars, span: Near | None
) -> Reached:
    source_ns, bad = np.empty_like(values), np.zeros(len(values), dtype=np.uint8)
    scale(values, graph.contents.unit_ns(source), source_ns, bad)
    reached = graph.tubes.convert(source_ns, source, target, bars, span)[0]
    return reached._replace(status=np.where(bad, np.uint8(OVERFLOW), reached.status))


def with_reasons(
    graph: Graph, values: Values, source: ClockId, target: ClockId, policy: PolicyName, bars: Bars
) -> Reached:
    """Values on the target; a value that does not convert has the reason as its status.

    By floor, which has no bars, earliest and latest are the estimate.
    """
    try:
        if policy == "tube" or source == target:
            return convert_with_bars(graph, values, source, target, bars)
        found, bad = graph.floor.route(source, target).convert(values)
    except ConversionError as error:
        none = np.zeros_like(values)
        status = np.full(len(values), REASONS.index(error.reason), dtype=np.uint8)
        return Reached(none, none, none, status)
    status = np.zeros(len(values), dtype=np.uint8)
    if bad is not None:
        status[bad != 0] = OVERFLOW
    return Reached(found, found, found, status)


def _span(graph: Graph, near: ClockTimes, source: ClockId, n: int) -> Near:
    """The span of the readings of `source` at the times of `near`."""
    if not (isinstance(near, (tuple, list)) and len(near) == 2):
        raise UsageError(f"near is (timestamps, clock), not {near!r}")
    clock = clock_named(graph, near[1])
    times = readings(graph, near[0], clock)
    if times.missing is not None or not (times.scalar or len(times.values) == n):
        raise UsageError(f"near is one timestamp, or {n} of them without nulls")
    there = convert_with_bars(graph, times.values, clock, source, "estimated")

    def span(_: Counter) -> tuple[Values, Values]:
        return np.broadcast_to(there.earliest, n), np.broadcast_to(there.latest, n)

    return span
