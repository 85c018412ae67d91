"""What a graph holds and answers, to compare it with the one that was saved."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
from reading import opened

from tracetime import (
    Bounds,
    ClockGraph,
    Snapshot,
    TracetimeError,
)
from tracetime._kernels import graph as kernel
from tracetime._kernels.saved_graph import state_of
from tracetime.graph.clock_graph import from_bytes, to_bytes

S = 10**9
LOW, HIGH = -(2**63), 2**63 - 1


def content(graph: ClockGraph) -> dict[str, Any]:
    """Everything that a graph says of itself, and everything that its engine holds."""
    reads = list(graph.readings())
    clocks = [info.clock for info in graph.clocks()]
    return {
        "clocks": graph.clocks(),
        "series": graph.series(),
        "edges": graph.edges(),
        "names": graph.names,
        "declared": graph.declared,
        "trace_clock": graph.trace_clock,
        "file": graph._graph.state.file,
        "readings": [[r.clock, *(v.tolist() for v in r[1:])] for r in reads],
        "frequency": [
            graph._graph.state.measured.frequency(r.clock, r.snapshots).tolist() for r in reads
        ],
        "known": [graph._graph.state.measured.knows(clock) for clock in clocks],
        "packets": kernel.snapshot_packets(graph._graph.state.engine).tolist(),
        "engine": [np.asarray(part).tolist() for part in state_of(graph._graph.state.engine)],
    }


def answer(ask: Callable[..., Any], *args: Any, **options: Any) -> str:
    try:
        result = ask(*args, **options)
    except TracetimeError as error:
        return f"{type(error).__name__}: {error}"
    if isinstance(result, Bounds):
        return repr([column.to_pylist() for column in result])
    return repr(result.to_pylist() if isinstance(result, pa.Array) else result)


def answers(graph: ClockGraph, most: int = 5) -> list[str]:
    """What a graph makes of some values of some clocks, by either policy; and what it finds."""
    infos = graph.clocks()[:most]
    found = []
    for source in infos:
        edges = {source.first_ns or 0, source.last_ns or 0}
        values = sorted({edge + more for edge in edges for more in (-S, 0, 77, S)})
        values = [value // source.unit_ns for value in values if LOW <= value <= HIGH]
        for target in infos:
            pair = source.clock, target.clock
            found.append(answer(graph.convert, values, *pair, errors="mask"))
            found.append(answer(graph.path, *pair))
            found.append(answer(graph.explain, values[0], *pair))
            for bars in ("estimated", "guaranteed"):
                options = {"policy": "tube", "bars": bars, "bounds": True, "errors": "mask"}
                found.append(answer(graph.convert, values, *pair, **options))
            found.append(answer(graph.explain, values[-1], *pair, policy="tube"))
    found.append(answer(graph.discontinuities))
    found.append(answer(graph.inconsistencies))
    return found


def assert_same(graph: ClockGraph, other: ClockGraph, most: int = 5) -> None:
    assert content(other) == content(graph)
    assert answers(other, most) == answers(graph, most)


def saved(graph: ClockGraph) -> ClockGraph:
    return from_bytes(to_bytes(graph))


def of_trace(data: bytes, **options: Any) -> ClockGraph:
    with opened(data, **options) as one:
        return one.clocks


def feed(graph: ClockGraph, fed: list[Snapshot]) -> list[str]:
    return [answer(graph.add_snapshot, one) for one in fed]
