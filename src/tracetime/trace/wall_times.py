"""Trace times as wall-clock time: the column `wall_time`, in UTC, whole nanoseconds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pyarrow as pa

from tracetime.clocks.ids import BUILTIN_IDS, ClockId

if TYPE_CHECKING:
    from tracetime.graph.arguments import PolicyName
    from tracetime.graph.clock_graph import ClockGraph
    from tracetime.graph.tube.bars import Bars

REALTIME: Final = ClockId(BUILTIN_IDS["REALTIME"])

WALL_TIME: Final = pa.field("wall_time", pa.timestamp("ns"))
"""The column. It has no time zone, as DuckDB's TIMESTAMP_NS has none; its values are UTC."""


def wall_times(
    trace_time: pa.Array, graph: ClockGraph, trace_clock: ClockId, policy: PolicyName, bars: Bars
) -> pa.Array:
    """Return the reading of REALTIME at each trace time; null where that is not known."""
    ns = graph.convert(trace_time, trace_clock, REALTIME, policy=policy, bars=bars, errors="mask")
    return ns.view(WALL_TIME.type)
