"""Files of graphs: their members, taken apart and put together."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from saved_graphs import answers, content, feed

from tracetime import (
    ClockGraph,
    Snapshot,
    TraceError,
)
from tracetime.graph.clock_graph import from_bytes
from tracetime.graph.storage.save import FACTS


def members_of(data: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def zipped(members: list[tuple[str, bytes]], compression: int = zipfile.ZIP_STORED) -> bytes:
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w") as archive:
        for name, content in members:
            member = zipfile.ZipInfo(name)
            member.compress_type = compression
            with archive.open(member, "w", force_zip64=name != FACTS) as file:
                file.write(content)
    return sink.getvalue()


def array(values: Any, kind: str = "<i8") -> bytes:
    sink = io.BytesIO()
    np.lib.format.write_array(sink, np.array(values, kind), version=(1, 0))
    return sink.getvalue()


def remade(data: bytes, facts: Any = None, **columns: bytes | None) -> bytes:
    """The file with other facts (an object, or bytes), or other columns."""
    members = members_of(data)
    if facts is not None:
        members[FACTS] = facts if isinstance(facts, bytes) else json.dumps(facts).encode()
    for name, column in columns.items():
        if column is None:
            del members[f"{name}.npy"]
        else:
            members[f"{name}.npy"] = column
    return zipped(list(members.items()))


def facts_of(data: bytes) -> dict[str, Any]:
    return json.loads(members_of(data)[FACTS])


def column_of(data: bytes, name: str) -> list[int]:
    return np.load(io.BytesIO(members_of(data)[f"{name}.npy"])).tolist()


def refused(path: Path, data: bytes, match: str) -> None:
    path.write_bytes(data)
    with pytest.raises(TraceError, match=match) as info:
        ClockGraph.load(path)
    assert repr(str(path)) in str(info.value)


def survives(data: bytes) -> ClockGraph | None:
    """A graph, or a TraceError, and that graph answers queries."""
    try:
        graph = from_bytes(data)
    except TraceError:
        return None
    answers(graph, 2)
    content(graph)
    feed(graph, [Snapshot({"BOOTTIME": 9000, "TSC": 9}), Snapshot({"64@seq7": 1, "MONOTONIC": 2})])
    answers(graph, 2)
    return graph
