"""The pairs and loops of clocks that are compared, to find where snapshots disagree."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from typing import Final

import numpy as np

from tracetime._kernels import graph as kernel
from tracetime.clocks.domain import ClockDomain
from tracetime.clocks.ids import ClockId
from tracetime.clocks.snapshot import INT64_MAX, INT64_MIN
from tracetime.graph.graph import Graph
from tracetime.graph.state import GraphState, tied_by_messages
from tracetime.graph.tube.evidence import FARTHEST
from tracetime.graph.tube.orders import NO_MAX_DELAY
from tracetime.graph.tube.results import Inconsistency
from tracetime.graph.values import Values, difference

_FEW: Final = 2
"""So many orders tell nothing of rates."""


def eventful(graph: Graph) -> list[tuple[ClockId, ClockId]]:
    """The pairs of `ClockGraph.compared` that may have a discontinuity, and those with orders.

    The other pairs need no tube.
    """
    with graph.lock:
        contents = graph.contents
        lists = contents.lists()
        ones, others = lists.compared()
        nodes = contents.nodes()
        steady = kernel.steady(graph.state.engine, nodes[ones], nodes[others])
        ordered = _ordered_pairs(graph)
    measured = np.array([graph.state.measured.has(clock) for clock in lists.clocks], dtype=bool)
    plain = np.array([_is_plain(graph.state, clock) for clock in lists.clocks], dtype=bool)
    # One snapshot shows no change, whatever was declared of its clocks.
    calm = (steady == 2) | ((steady == 1) & plain[ones] & plain[others])
    may_be = ~calm | measured[ones] | measured[others]
    pairs = zip(ones[may_be].tolist(), others[may_be].tolist(), strict=True)
    found = [(lists.clocks[one], lists.clocks[other]) for one, other in pairs]
    known = set(found)
    return [*found, *(pair for pair in ordered if known.isdisjoint((pair, pair[::-1])))]


def _ordered_pairs(graph: Graph) -> list[tuple[ClockId, ClockId]]:
    """The pairs with orders, but for those that share no snapshot and whose two orders agree.

    One offset explains one or two orders of clocks of one rate that do not cross.
    """
    orders, read = graph.state.orders, set(graph.contents.lists().clocks)
    pairs, first, one_ts, other_ts, *delays = orders.columns()
    offset, counts = other_ts - one_ts, orders.counts()
    least, most = np.full(len(counts), INT64_MIN), np.full(len(counts), INT64_MAX)
    np.maximum.at(least, pairs[~first], offset[~first])
    np.minimum.at(most, pairs[first], offset[first])
    known = (delays[0] != 0) | (delays[1] != NO_MAX_DELAY)
    known |= np.abs(difference(other_ts, one_ts)) > FARTHEST
    calm = (counts <= _FEW) & (least <= most) & ~np.isin(np.arange(len(counts)), pairs[known])
    ticks = {clock: graph.counts_ticks(clock) for clock in orders.clocks()}
    return [
        (one, other)
        for (one, other), is_calm in zip(orders.pairs(), calm.tolist(), strict=True)
        if not is_calm or ticks[one] or ticks[other] or (one in read and other in read)
    ]


def _is_plain(state: GraphState, clock: ClockId) -> bool:
    """Whether a clock counts ns, as nothing else is declared of it."""
    return clock not in state.domains and ClockDomain.rate_of_kind(clock) is not None


def inconsistencies(graph: Graph) -> tuple[list[Inconsistency], bool]:
    """The loops of clocks whose two paths disagree, and whether some were not compared."""
    with graph.lock:
        contents, messages = graph.contents, tied_by_messages(graph.state)
        loopless = contents.lists().loopless(messages)
        lists: Iterable[tuple[ClockId, ...]] = ()
        if not loopless.issuperset(contents.lists().clocks):
            lists = (clocks for clocks, _ in contents.series())
        tied = [clocks for clocks in chain(lists, messages) if loopless.isdisjoint(clocks)]
    return graph.tubes.inconsistencies(tied)


def shared_with_references(graph: Graph) -> tuple[Values, Values, Values]:
    """The readings of each clock, by place, in the snapshots with its reference.

    The number of readings, the least and the greatest; of none INT64_MAX and INT64_MIN.
    """
    contents = graph.contents
    references, nodes = contents.lists().references(), contents.nodes()
    has_one = references >= 0
    n, least, greatest = (np.full(len(nodes), v) for v in (0, INT64_MAX, INT64_MIN))
    found = kernel.extents(graph.state.engine, nodes[has_one], nodes[references[has_one]])
    n[has_one], least[has_one], greatest[has_one] = found.T
    return n, least, greatest
