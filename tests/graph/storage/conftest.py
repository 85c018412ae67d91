"""Graphs to save, and a file with something of everything."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from building import BOOTTIME, MONOTONIC, REALTIME, snapshot, trace
from saved_graphs import of_trace

from tracetime import (
    ClockDomain,
    ClockGraph,
    Snapshot,
)
from tracetime.graph.clock_graph import to_bytes

S = 10**9


@pytest.fixture
def indirect() -> ClockGraph:
    """The page's: no snapshot has both the custom clock and BOOTTIME."""
    graph = ClockGraph("BOOTTIME")
    for one in (
        {200: 1000, "MONOTONIC": 1100},
        {"MONOTONIC": 1200, "BOOTTIME": 5200},
        {200: 3000, "MONOTONIC": 3200},
        {"MONOTONIC": 4000, "BOOTTIME": 9000},
    ):
        graph.add_snapshot(one)
    return graph


@pytest.fixture
def measured() -> ClockGraph:
    """Two clocks, one of them steered, whose readings have half-widths and centres."""
    n = np.arange(40, dtype=np.int64)
    graph = ClockGraph("BOOTTIME", [ClockDomain("TSC", "tsc", ns_per_tick=Fraction(125, 24))])
    graph.add_snapshot({"MONOTONIC": 1, "BOOTTIME": 2})
    graph.add_snapshot(
        Snapshot(
            {"MONOTONIC_RAW": n * S, "BOOTTIME": n * S + 7 * n + 500, "TSC": n * 192_000_000},
            reference="MONOTONIC_RAW",
            half_width_ns={"BOOTTIME": 40 + n, "TSC": 900 - n},
            centre_ns={"BOOTTIME": 20 - n, "TSC": -3 * n},
            frequency_scaled_ppm={"BOOTTIME": 65_536 * (n // 10)},
        )
    )
    graph.add_snapshot({"MONOTONIC": 50 * S, "BOOTTIME": 50 * S})
    return graph


@pytest.fixture(scope="module")
def example() -> bytes:
    """A file with something of everything."""
    graph = of_trace(
        trace(
            *(snapshot({BOOTTIME: 1000 + n, MONOTONIC: 2000 - n}) for n in range(3)),
            snapshot([(201, (5, 1, True))]),
            snapshot({64: (5, 1000, True), BOOTTIME: 5000}, seq=7),
            snapshot({BOOTTIME: 6000, REALTIME: 7}),
        )
    )
    graph.add_snapshot(
        Snapshot(
            {"BOOTTIME": 7000, "TSC": 7},
            reference="BOOTTIME",
            half_width_ns={"TSC": 5},
            centre_ns={"TSC": 6},
            frequency_scaled_ppm={"BOOTTIME": 3},
        )
    )
    graph.declare(ClockDomain("TSC", "tsc", 1.5, Fraction(125, 24), 36, 50, 0.25, "x", False, 9))
    graph.declare(ClockDomain("BOOTTIME"))
    return to_bytes(graph)
