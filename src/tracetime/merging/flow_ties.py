"""Flows and calls that cross files: what begins one comes before what it leads to.

Flows count only where the caller asks for it: two programs may use one id for two flows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

import numpy as np

from tracetime.clocks.ids import BUILTIN_IDS, ClockId
from tracetime.formats.spans.calls import Order, orders_between
from tracetime.graph.adding import add_order
from tracetime.graph.graph import Graph
from tracetime.merging.boots import Boots
from tracetime.merging.files import MergedFile
from tracetime.merging.ties import Tie
from tracetime.text import count, of_file
from tracetime.trace.flows import (
    FlowOrders,
    between_files,
    by_clocks,
    concatenate_steps,
    flow_orders,
)


def add_flows_between(graph: Graph, files: Sequence[MergedFile], boots: Boots) -> list[Tie]:
    """Add the flows that pass from a file to another, of another machine, as orders.

    Raises:
        TraceError: a file is damaged.
    """
    ours = [file for file in files if "flows" in file.trace.shares]
    clocks: list[tuple[ClockId, int]] = []
    parts, numbers = [], []
    for file in ours if len(ours) > 1 else ():
        with of_file(file.name):
            events = file.trace.flow_events()
        if events is None:
            continue
        parts.append(events.steps._replace(clock=events.steps.clock + len(clocks)))
        numbers.append(np.full(len(events.steps.flow), file.number))
        clocks += ((boots.clock(file.number, clock), unit) for clock, unit in events.clocks)
    if not parts:
        return []
    steps, of = concatenate_steps(parts), np.concatenate(numbers)
    shared = between_files(steps, of)
    steps, of = steps.at(shared), of[shared]
    machines = np.array([clock.machine for clock, _ in clocks], dtype=np.int64)
    found = flow_orders(steps, machines[steps.clock])
    of = of[found.rows]
    ties = []
    pairs = np.sort(np.stack([of[found.before], of[found.after]]), axis=0)
    for one, other in np.unique(pairs, axis=1).T.tolist():
        if one != other:
            chosen = (pairs[0] == one) & (pairs[1] == other)
            ties.append(_tie(graph, (one, other), clocks, _only(found, chosen)))
    return ties


def _only(found: FlowOrders, chosen: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> FlowOrders:
    return found._replace(before=found.before[chosen], after=found.after[chosen])


def _tie(
    graph: Graph, files: tuple[int, int], clocks: list[tuple[ClockId, int]], found: FlowOrders
) -> Tie:
    first = len(graph.state.orders)
    for before, after, sent, received in by_clocks(clocks, found):
        add_order(graph, (sent, before), (received, after))
    orders = range(first, len(graph.state.orders))
    words = f"flows from the one file to the other ({count(len(orders), 'order')})"
    return Tie(*files, "messages", len(orders), words, orders=orders)


# Calls between files of spans: a span whose parent is in another file began after that did.
#
# Services often export their spans to a file each.

_REALTIME: Final = BUILTIN_IDS["REALTIME"]

Place = tuple[int, int]
"""The numbers of a file and of a host in it."""


def add_span_calls(graph: Graph, files: Sequence[MergedFile], boots: Boots) -> list[Tie]:
    """Add the calls between spans of different files as orders.

    Raises:
        TraceError: a file is damaged.
    """
    exported = [file for file in files if "calls" in file.trace.shares]
    if len(exported) < 2:
        return []
    places: list[Place] = []
    columns = []
    for file in exported:
        with of_file(file.name):
            found = file.trace.calls()
        if found is not None:
            columns.append(found | {"host": found["host"].astype(np.int64) + len(places)})
            places += ((file.number, host) for host in range(len(file.trace.machines)))
    begun, ended = orders_between(columns)
    by_files: dict[frozenset[int], list[Order]] = {}
    calls: Counter[frozenset[int]] = Counter()
    for order in begun + ended:
        pair = frozenset((places[order.before][0], places[order.after][0]))
        by_files.setdefault(pair, []).append(order)
    for order in begun:
        calls[frozenset((places[order.before][0], places[order.after][0]))] += len(order.sent)
    ties = []
    for pair, orders in by_files.items():
        added = _add(graph, boots, orders, places)
        if len(added):
            one, other = sorted(pair)
            words = f"spans whose parent is in the other file ({calls[pair]})"
            ties.append(Tie(one, other, "messages", calls[pair], words, orders=added))
    return ties


def _add(graph: Graph, boots: Boots, orders: list[Order], places: Sequence[Place]) -> range:
    """Add orders of two files, and return their numbers; orders of one clock say nothing."""
    first = len(graph.state.orders)
    for order in orders:
        before, after = (
            boots.clock(file, ClockId(_REALTIME, machine=host))
            for file, host in (places[order.before], places[order.after])
        )
        if before != after:
            add_order(graph, (order.sent, before), (order.received, after))
    return range(first, len(graph.state.orders))
