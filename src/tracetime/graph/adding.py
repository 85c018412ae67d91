"""Snapshots, into a graph."""

from __future__ import annotations

import numpy as np

from tracetime._kernels.graph import view
from tracetime.clocks.snapshot import ReadingsByClock, Snapshot
from tracetime.errors import UsageError
from tracetime.graph.arguments import SNAPSHOT_FAULTS
from tracetime.graph.parts import GraphParts
from tracetime.graph.state import GraphState


def add_snapshot(parts: GraphParts, given: Snapshot | ReadingsByClock) -> None:
    """Add a snapshot; see `ClockGraph.add_snapshot`."""
    snapshot = given if isinstance(given, Snapshot) else Snapshot(given)
    with parts.lock:
        if not isinstance(given, Snapshot):
            parts.state.take_names(*(clock for clock, _ in given.items()))
        _add(parts.state, snapshot)


def _add(state: GraphState, snapshot: Snapshot) -> None:
    clocks, readings = snapshot.clocks, snapshot.readings.values()
    n = len(snapshot)
    values = np.empty((n, len(clocks)), dtype=np.int64)
    for column, reading in enumerate(readings):
        values[:, column] = reading.value
    added, fault, position = view.add_snapshots(
        state.engine,
        [state.key(clock) for clock in clocks],
        values,
        np.array([reading.unit_ns for reading in readings], dtype=np.int64),
        np.array([reading.incremental for reading in readings], dtype=np.uint8),
        None if state.trace_clock is None else state.key(state.trace_clock),
    )
    end = view.version(state.engine)
    state.measured.add(end - added, end, snapshot)
    if fault:
        which = f"snapshot {added} of {n}: " if n > 1 else ""
        raise UsageError(which + SNAPSHOT_FAULTS[fault].format(clock=clocks[position]))
