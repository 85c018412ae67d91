"""How far the other side's BOOTTIME is ahead, by the rounds: orders in a graph, and its bars."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np

from tracetime.clocks.domain import ClockDomain
from tracetime.clocks.ids import BUILTIN_IDS, ClockId
from tracetime.graph.graph import ClockGraph
from tracetime.hosts.rounds import Round

HERE: Final = ClockId(BUILTIN_IDS["BOOTTIME"])
THERE: Final = ClockId(BUILTIN_IDS["BOOTTIME"], machine=1)

_DOMAINS: Final = (ClockDomain(HERE), ClockDomain(THERE))


class Offset(NamedTuple):
    """How far the other side's BOOTTIME is ahead of this machine's, ns.

    Attributes:
        at_ns: when, BOOTTIME of this machine.
        offset_ns: the estimate.
        earliest_ns, latest_ns: it is neither less nor more than that.
    """

    at_ns: int
    offset_ns: int
    earliest_ns: int
    latest_ns: int


def graph_of(rounds: Sequence[Round]) -> ClockGraph:
    """The clocks of both sides, tied by one or more rounds."""
    graph = ClockGraph(domains=_DOMAINS)
    columns = np.array(rounds, dtype=np.int64)
    graph.add_pings(HERE, THERE, *(np.ascontiguousarray(column) for column in columns.T))
    return graph


def estimate(rounds: Sequence[Round], at_ns: int) -> Offset | None:
    """Bound the offset at an instant; None where the rounds do not bound it.

    The bars are guaranteed: they hold as long as neither clock's rate is off by more than its
    domain says, 500 ppm.
    """
    if not rounds:
        return None
    found = graph_of(rounds).convert(
        at_ns, HERE, THERE, policy="tube", bars="guaranteed", bounds=True
    )
    if found.earliest is None or found.latest is None:
        return None
    return Offset(at_ns, found.estimate - at_ns, found.earliest - at_ns, found.latest - at_ns)
