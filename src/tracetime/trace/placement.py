"""Rows on trace time by the floor policy, for formats whose readers do not place them."""

from __future__ import annotations

from fractions import Fraction
from typing import Final

import numpy as np

from tracetime.clocks.ids import ClockId
from tracetime.errors import AS_IS, OVERFLOW, RESOLVED
from tracetime.graph.clock_graph import ClockGraph, inner
from tracetime.graph.ticks import saturated_ns
from tracetime.trace.event_clocks import by_clock, machine_indexes
from tracetime.trace.events_table import Columns

_DEFAULTS: Final = {
    "kind": np.uint8,
    "item": np.uint32,
    "payload": np.uint16,
    "packet_sequence": np.uint32,
    "sequence": np.uint32,
    "machine": np.uint32,
}
"""Columns that a format may leave out: they are 0 then, which for payload is null."""


def placed_by_floor(
    columns: Columns, clocks: ClockGraph, trace_clock: ClockId, machines: list[int]
) -> Columns:
    """Return rows with all that a format's columns need, on trace time with every snapshot.

    Args:
        columns: packet (uint64, the index of the record), clock (uint32, 0 where none is given:
            such a row stays as it is), timestamp (int64, absolute, in the clock's unit), offset
            (uint64, the first byte of the record); and any of kind, item, payload, packet_sequence,
            sequence and machine (the machine_id), which are 0 where they are not there.
        clocks: with every snapshot of the trace.
        trace_clock: what to convert to.
        machines: machine_id by index, as `Trace.machines` has them.
    """
    graph, n = inner(clocks), len(columns["timestamp"])
    rows = {name: np.zeros(n, kind) for name, kind in _DEFAULTS.items()} | columns
    rows["source_ns"] = columns["timestamp"].copy()
    rows["trace_time"] = columns["timestamp"].copy()
    rows["status"] = np.full(n, AS_IS, dtype=np.uint8)
    rows["snapshots"] = np.full(n, len(graph.contents.packets()), dtype=np.uint32)
    floor = graph.floor
    units = {info.clock: info.unit_ns for info in graph.clocks()}
    for clock, group in by_clock(
        rows, np.flatnonzero(columns["clock"] != 0), machine_indexes(machines)
    ):
        raw = columns["timestamp"][group]
        if units.get(clock, 1) != 1:
            rows["source_ns"][group], _ = saturated_ns(raw, Fraction(units[clock]))
        if clock == trace_clock:
            rows["trace_time"][group], overflowed = raw, None
        elif status := floor.refused(clock, trace_clock):
            rows["status"][group] = status
            continue
        else:
            rows["trace_time"][group], overflowed = floor.route(clock, trace_clock).convert(raw)
        rows["status"][group] = RESOLVED
        if overflowed is not None:
            rows["status"][group[overflowed != 0]] = OVERFLOW
    return rows
