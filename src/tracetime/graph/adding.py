"""Snapshots, into a graph."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from tracetime._kernels import graph as kernel
from tracetime.clocks.ids import ClockId
from tracetime.clocks.snapshot import ReadingsByClock, Snapshot
from tracetime.errors import UsageError
from tracetime.graph.arguments import SNAPSHOT_FAULTS
from tracetime.graph.graph import Graph
from tracetime.graph.state import GraphState

Values = npt.NDArray[np.int64]


def add_snapshot(graph: Graph, given: Snapshot | ReadingsByClock) -> None:
    """Add a snapshot; see `ClockGraph.add_snapshot`."""
    snapshot = given if isinstance(given, Snapshot) else Snapshot(given)
    with graph.lock:
        if not isinstance(given, Snapshot):
            graph.state.take_names(*(clock for clock, _ in given.items()))
        _add(graph.state, snapshot)


def add_readings(graph: Graph, clocks: Sequence[ClockId], values_ns: Values) -> None:
    """Add snapshots of clocks that count ns, of whose reading nothing more is known.

    values_ns: int64, a row each, a column for each clock.
    """
    n = len(clocks)
    with graph.lock:
        _add_rows(
            graph.state, clocks, values_ns, np.ones(n, dtype=np.int64), np.zeros(n, dtype=np.uint8)
        )


def _add(state: GraphState, snapshot: Snapshot) -> None:
    clocks, readings = snapshot.clocks, snapshot.readings.values()
    values = np.empty((len(snapshot), len(clocks)), dtype=np.int64)
    for column, reading in enumerate(readings):
        values[:, column] = reading.value
    units = np.array([reading.unit_ns for reading in readings], dtype=np.int64)
    incremental = np.array([reading.incremental for reading in readings], dtype=np.uint8)
    first = kernel.version(state.engine)
    try:
        _add_rows(state, clocks, values, units, incremental)
    finally:
        state.measured.add(first, kernel.version(state.engine), snapshot)


def _add_rows(
    state: GraphState,
    clocks: Sequence[ClockId],
    values: Values,
    units: Values,
    incremental: npt.NDArray[np.uint8],
) -> None:
    trace_key = None if state.trace_clock is None else state.key(state.trace_clock)
    keys = [state.key(clock) for clock in clocks]
    added, fault, position = kernel.add_snapshots(
        state.engine, keys, values, units, incremental, trace_key
    )
    if fault:
        which = f"snapshot {added} of {len(values)}: " if len(values) > 1 else ""
        raise UsageError(which + SNAPSHOT_FAULTS[fault].format(clock=clocks[position]))
