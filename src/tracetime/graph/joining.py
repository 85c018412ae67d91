"""Joining a graph to another, under other clock ids: evidence of several files in one graph."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import reduce
from typing import Final

import numpy as np

from tracetime._kernels import graph as kernel
from tracetime.clocks.families import posix_oscillator
from tracetime.clocks.ids import ClockId
from tracetime.errors import UsageError
from tracetime.graph.arguments import SNAPSHOT_FAULTS
from tracetime.graph.graph import Graph
from tracetime.graph.info import Readings
from tracetime.graph.state import GraphState
from tracetime.graph.tube.lattice import EventReadings
from tracetime.graph.tube.messages import Between, Boxes
from tracetime.graph.values import Values

Renamed = Callable[[ClockId], ClockId]

_NO_NUMBER: Final = 0


def join(into: Graph, other: Graph, renamed: Renamed) -> None:
    """Add all evidence of `other` to `into`: snapshots, messages, orders, domains, ticks.

    Snapshots that floor makes of messages are left out, for they hold no readings.

    Args:
        renamed: gives each clock of `other` its id in `into`; two clocks of one machine never the
            same one.

    Raises:
        UsageError: a clock of both has another unit in `other`.
    """
    with into.lock, other.lock:
        _join_domains(into.state, other.state, renamed)
        numbers = _join_snapshots(into.state, other, renamed)
        into.state.between = _join_bounds(into.state, other.state, renamed, numbers)
        _join_orders(into.state, other.state, renamed)
        _join_events(into.state, other.state, renamed)
        into.state.given.update({renamed(c): name for c, name in other.state.given.items()})
        into._forget()


def _join_domains(state: GraphState, other: GraphState, renamed: Renamed) -> None:
    """Declare the domains, with oscillators of machines under the machine's new number.

    Of a clock that both declare, the wider limits count.
    """
    for clock, domain in other.domains.items():
        new = renamed(clock)
        oscillator = domain.oscillator
        if oscillator == posix_oscillator(clock.machine):
            oscillator = posix_oscillator(new.machine)
        elif oscillator is not None:
            # Another file means another thing by the same word.
            oscillator = f"{oscillator} of {new}"
        given = replace(domain, id=new, oscillator=oscillator)
        before = state.domains.get(new)
        if before is not None:
            given = replace(
                given,
                max_drift_ppm=max(given.drift_ppm, before.drift_ppm),
                tick_ns=max(given.tick_ns or 1, before.tick_ns or 1),
                wander_ppm=None
                if given.wander_ppm is None or before.wander_ppm is None
                else max(given.wander_ppm, before.wander_ppm),
            )
        state.domains[new] = given


def _join_snapshots(state: GraphState, other: Graph, renamed: Renamed) -> Values:
    """Add the snapshots, list by list; return their new numbers, by the old ones."""
    facts = {info.clock: info for info in other.contents.clocks()}
    numbers = np.full(len(other.contents.packets()), _NO_NUMBER, dtype=np.int64)
    lists: dict[int, list[Readings]] = {}
    for readings in other.contents.readings():
        if len(readings.snapshots):
            lists.setdefault(int(readings.snapshots[0]), []).append(readings)
    for columns in lists.values():
        # Of a snapshot with a fault only the clocks before that are recorded: it ties nothing.
        whole, *others = (c.snapshots for c in columns)
        if not all(np.array_equal(whole, other) for other in others):
            whole = reduce(np.intersect1d, others, whole)
        whole = whole[other.state.between.is_evidence(whole)]
        if not len(whole):
            continue
        rows = [np.searchsorted(c.snapshots, whole) for c in columns]
        units = np.array([facts[c.clock].unit_ns for c in columns], dtype=np.int64)
        values = np.stack([c.values_ns[k] for c, k in zip(columns, rows, strict=True)], axis=1)
        values //= units
        clocks = [renamed(c.clock) for c in columns]
        added, fault, position = kernel.add_snapshots(
            state.engine,
            [state.key(clock) for clock in clocks],
            np.ascontiguousarray(values),
            units,
            np.array([facts[c.clock].incremental for c in columns], dtype=np.uint8),
            None,
        )
        if fault:
            raise UsageError(SNAPSHOT_FAULTS[fault].format(clock=clocks[position]))
        end = kernel.version(state.engine)
        new = np.arange(end - added, end)
        numbers[whole] = new
        for column, clock, some in zip(columns, clocks, rows, strict=True):
            state.measured.take(
                clock,
                new,
                column.centre_ns[some],
                column.half_width_ns[some],
                other.state.measured.frequency(column.clock, whole),
            )
            if other.state.measured.knows(column.clock):
                state.measured.know(clock)
    return numbers


def _join_bounds(
    state: GraphState, other: GraphState, renamed: Renamed, numbers: Values
) -> Between:
    """The bounds of both graphs; those of a pair of clocks that both have, together."""
    found: dict[tuple[ClockId, ClockId], list[Boxes]] = {}
    for pair in state.between.pairs():
        boxes = state.between.of(*pair)
        assert boxes is not None
        found[pair] = [boxes]
    for one, two in other.between.pairs():
        boxes = other.between.of(one, two)
        assert boxes is not None
        boxes = boxes._replace(snapshots=numbers[boxes.snapshots])
        pair = renamed(one), renamed(two)
        if pair[0] == pair[1]:
            continue
        if pair[::-1] in found:
            pair, boxes = pair[::-1], boxes.swapped()
        found.setdefault(pair, []).append(boxes)
    if not found:
        return Between(worked_out=state.between.worked_out)
    parts = [Boxes(*map(np.concatenate, zip(*those, strict=True))) for those in found.values()]
    return Between(
        found,
        Boxes(*map(np.concatenate, zip(*parts, strict=True))),
        np.cumsum([len(part.snapshots) for part in parts]),
        state.between.worked_out,
    )


def _join_orders(state: GraphState, other: GraphState, renamed: Renamed) -> None:
    for one, two in other.orders.pairs():
        orders = other.orders.of(one, two)
        if orders is None:
            continue
        here, there = renamed(one), renamed(two)
        if here == there:
            continue  # Two machines of a file that are one of another's.
        for first in (True, False):
            some = orders.only(orders.one_first == first)
            ends = [(here, some.one_ts), (there, some.other_ts)]
            before, after = ends if first else ends[::-1]
            for known in (True, False):
                rows = (some.max_delay_ns >= 0) == known
                state.orders.add(
                    before[0],
                    after[0],
                    before[1][rows],
                    after[1][rows],
                    some.min_delay_ns[rows],
                    some.max_delay_ns[rows] if known else None,
                )


def _join_events(state: GraphState, other: GraphState, renamed: Renamed) -> None:
    events = dict(state.events)
    for clock, readings in other.events.items():
        new = renamed(clock)
        if new in events:
            before = events[new]
            readings = EventReadings(
                np.concatenate([before.some_ns, readings.some_ns]),
                before.differing + readings.differing,
                before.repeated + readings.repeated,
            )
        events[new] = readings
    state.events = events
