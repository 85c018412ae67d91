"""Clock graphs of few snapshots, among them those of Perfetto's clock-sync page."""

from __future__ import annotations

from typing import Any

import pytest

from tracetime import (
    ClockGraph,
    ConversionError,
)

LOW, HIGH = -(2**63), 2**63 - 1
S = 10**9
HOUR = 3600 * S


def graph_of(*snapshots: dict[Any, Any], trace_clock: Any = None) -> ClockGraph:
    graph = ClockGraph(trace_clock)
    for snapshot in snapshots:
        graph.add_snapshot(snapshot)
    return graph


def refused(reason: str, graph: ClockGraph, ts: Any, src: Any, dst: Any) -> str:
    """The message of a conversion that fails for that reason."""
    with pytest.raises(ConversionError) as info:
        graph.convert(ts, src, dst)
    assert info.value.reason == reason
    return str(info.value)
