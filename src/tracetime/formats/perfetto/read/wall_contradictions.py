"""Where what a time service said of a wall clock contradicts what it said before."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np
import numpy.typing as npt

from tracetime.clocks.ids import BUILTIN_IDS, ClockId
from tracetime.clocks.wall_bound import contradiction
from tracetime.graph.graph import Graph
from tracetime.trace.facts import WallClockContradiction

_READ_APART_NS: Final = 10_000_000
"""A recorder that is held up reads two clocks so far apart; beyond, one was set, or slept."""

Values = npt.NDArray[np.int64]


def wall_clock_contradictions(graph: Graph, bounds: Values) -> Iterator[WallClockContradiction]:
    """Yield one for each machine whose bounds no course of REALTIME fits.

    A clock that was set, and a machine that slept, have findings of their own.

    Args:
        bounds: the rows of `PerfettoTrace.wall_bounds`.
    """
    for machine in sorted(set(bounds[1].tolist())):
        numbers, _, earliest, latest, _ = bounds[:, bounds[1] == machine]
        realtime, boottime, monotonic = (
            ClockId(BUILTIN_IDS[name], machine=machine)
            for name in ("REALTIME", "BOOTTIME", "MONOTONIC")
        )
        moved_ns = [_moved_ns(graph, boottime, other) for other in (realtime, monotonic)]
        snapshots, wall, _ = graph.shared(realtime, boottime)
        _, here, there = np.intersect1d(snapshots, numbers, return_indices=True)
        if not len(here) or max(moved_ns) > _READ_APART_NS:
            continue
        found = contradiction(
            wall[here], earliest[there] - moved_ns[0], latest[there] + moved_ns[0]
        )
        if found is not None:
            place, apart_ns = found
            yield WallClockContradiction(realtime, apart_ns, int(snapshots[here[place]]))


def _moved_ns(graph: Graph, one: ClockId, other: ClockId) -> int:
    """By how much the offset of two clocks moved, in all snapshots."""
    _, here, there = graph.shared(one, other)
    return int(np.ptp(there - here)) if len(here) else 0
