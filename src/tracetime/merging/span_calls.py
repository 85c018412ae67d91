"""Calls between files of spans: a span whose parent is in another file began after that did.

Services often export their spans to a file each.
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
from tracetime.merging.files import MergedFile, of_file
from tracetime.merging.ties import Tie

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
            said = f"spans whose parent is in the other file ({calls[pair]})"
            ties.append(Tie(one, other, "messages", calls[pair], said, orders=added))
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
