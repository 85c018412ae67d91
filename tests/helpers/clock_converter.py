"""What Perfetto shows as the wall-clock time of an instant of trace time.

Its `to_realtime`, `to_monotonic` and `abs_time_str` do not use the clock graph but a table of the
snapshots (src/trace_processor/importers/common/clock_converter.cc): the latest snapshot before,
plus the time since, but never past the next snapshot's reading.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tracetime._kernels.graph import pairs
from tracetime.errors import ConversionError, UsageError
from tracetime.graph.arguments import clock_of_caller
from tracetime.graph.clock_graph import ClockGraph


def displayed(graph: ClockGraph, trace_time: int, clock: Any = "REALTIME") -> int:
    """Return the reading of `clock`, ns, that Perfetto shows for an instant of trace time, ns.

    Raises:
        UsageError: the graph has no trace clock.
        ConversionError: no snapshot has both `clock` and the trace clock.
    """
    if graph.trace_clock is None:
        raise UsageError("this graph has no trace clock: make it with ClockGraph(trace_clock=...)")
    target = clock_of_caller(clock)
    _, times, readings = pairs(
        graph._graph.state.engine,
        graph._graph.state.key(graph.trace_clock),
        graph._graph.state.key(target),
    )
    if not len(times):
        raise ConversionError(
            f"no snapshot has both {target} and the trace clock, {graph.trace_clock}", "no_path"
        )
    # Of snapshots at one instant the first counts, as in a std::map that is only added to.
    times, kept = np.unique(times, return_index=True)
    readings = readings[kept]
    after = int(np.searchsorted(times, trace_time))
    if after < len(times) and (after == 0 or times[after] == trace_time):
        return int(readings[after])
    reached = int(readings[after - 1]) + trace_time - int(times[after - 1])
    return reached if after == len(times) else min(reached, int(readings[after]))
