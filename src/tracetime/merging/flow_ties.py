"""Flows that cross files: an event that begins a flow comes before one that the flow passes.

Only where the caller asks for it: two programs may use one id for two flows.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tracetime.clocks.ids import ClockId
from tracetime.graph.adding import add_order
from tracetime.graph.graph import Graph
from tracetime.merging.boots import Boots
from tracetime.merging.files import MergedFile, of_file
from tracetime.merging.ties import Tie
from tracetime.text import count
from tracetime.trace.flows import FlowOrders, between_files, by_clocks, flow_orders, joined_steps


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
    steps, of = joined_steps(parts), np.concatenate(numbers)
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
    graph: Graph,
    files: tuple[int, int],
    clocks: list[tuple[ClockId, int]],
    found: FlowOrders,
) -> Tie:
    first = len(graph.state.orders)
    for before, after, sent, received in by_clocks(clocks, found):
        add_order(graph, (sent, before), (received, after))
    orders = range(first, len(graph.state.orders))
    said = f"flows from the one file to the other ({count(len(orders), 'order')})"
    return Tie(*files, "messages", len(orders), said, orders=orders)
