"""How far the other side's BOOTTIME is ahead, by the rounds: orders in a graph, and its bars."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Final, NamedTuple

import numpy as np

from tracetime.clocks.domain import ClockDomain
from tracetime.clocks.ids import BUILTIN_IDS, ClockId
from tracetime.errors import NoBoundError
from tracetime.graph.clock_graph import ClockGraph
from tracetime.hosts.rounds import Round
from tracetime.text import duration

HERE: Final = ClockId(BUILTIN_IDS["BOOTTIME"])
THERE: Final = ClockId(BUILTIN_IDS["BOOTTIME"], machine=1)

_APART: Final = 600
"""Two clocks get apart by less than one part of this, whatever NTP does to each: 1.5 per mille."""
_ROUNDING_NS: Final = 4

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

    Raises:
        NoBoundError: the rounds contradict each other: nothing is known then.
    """
    if not rounds:
        return None
    apart_ns = contradiction_ns(rounds)
    if apart_ns:
        raise NoBoundError(
            f"the rounds contradict each other by {duration(apart_ns)}: a clock of the two was "
            "set, or runs at another rate, or replies with what is no time; try again"
        )
    found = graph_of(rounds).convert(
        at_ns, HERE, THERE, policy="tube", bars="guaranteed", bounds=True
    )
    if found.earliest is None or found.latest is None:
        return None
    return Offset(at_ns, found.estimate - at_ns, found.earliest - at_ns, found.latest - at_ns)


def contradiction_ns(rounds: Sequence[Round]) -> int:
    """By how much rounds leave no offset that drifts as clocks may; 0 where they leave one.

    rounds: in the order in which they were sent.
    """
    low, high = _bounds(rounds[0])
    for before, made in pairwise(rounds):
        drift_ns = _drift_ns(made.sent_ns - before.returned_ns)
        least, most = _bounds(made)
        low, high = max(low - drift_ns, least), min(high + drift_ns, most)
        if low > high:
            return low - high
    return 0


def _bounds(made: Round) -> tuple[int, int]:
    """The least and the greatest offset, at any instant of a round."""
    drift_ns = _drift_ns(made.returned_ns - made.sent_ns)
    return made.replied_ns - made.returned_ns - drift_ns, made.received_ns - made.sent_ns + drift_ns


def _drift_ns(span_ns: int) -> int:
    return span_ns // _APART + _ROUNDING_NS
