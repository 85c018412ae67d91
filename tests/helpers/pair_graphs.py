"""Pairs of clocks from a few snapshots."""

from __future__ import annotations

from typing import Any

from tracetime import (
    ClockGraph,
    ClockId,
    Snapshot,
)
from tracetime.graph.tube.pair import Pair

S = 1_000_000_000
A, B, C = ClockId(200), ClockId(201), ClockId(202)
BOOT, MONO = ClockId(6), ClockId(3)
FAR_BOOT, FAR_MONO = ClockId(6, machine=4), ClockId(3, machine=4)


def measured(a: Any, b: Any, half: Any, one: ClockId = A, other: ClockId = B) -> Snapshot:
    return Snapshot({one: a, other: b}, reference=one, half_width_ns={other: half})


def pair_of(*snapshots: Any, domains: Any = (), one: ClockId = A, other: ClockId = B) -> Pair:
    graph = ClockGraph(domains=domains)
    for snapshot in snapshots:
        graph.add_snapshot(snapshot)
    return graph._graph.tubes.pair(one, other)
