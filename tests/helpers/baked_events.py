"""Traces of other formats, baked and read again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
from reading import opened

from tracetime.verbs.bake import BakeSummary, bake

Slice = tuple[Any, ...]
COLUMNS = ("name", "ts", "dur", "depth", "thread_name", "process_name", "category")


class Baked(NamedTuple):
    data: bytes
    summary: BakeSummary

    @property
    def slices(self) -> list[Slice]:
        with opened(self.data) as trace:
            return plain(trace.slices().read_all())

    def events(self, kind: str) -> list[dict[str, Any]]:
        """The events of a type, in order of time."""
        with opened(self.data) as trace:
            rows = trace.read_all(names=True).to_pylist()
        return sorted((row for row in rows if row["type"] == kind), key=_time)


def _time(row: dict[str, Any]) -> int:
    return int(row["trace_time"])


def bake_file(path: Path, out: Path, policy: Any = "floor") -> Baked:
    import tracetime as tt

    with tt.open_trace(path) as trace:
        summary = bake(trace, out, policy=policy)
    return Baked(out.read_bytes(), summary)


def slices_of(path: Path, policy: Any = "floor") -> list[Slice]:
    import tracetime as tt

    with tt.open_trace(path) as trace:
        return plain(trace.slices(policy).read_all())


def plain(table: pa.Table) -> list[Slice]:
    """Slices as tuples, in one order; arguments as values, none where there is no member."""
    columns = [table[name].to_pylist() for name in (*COLUMNS, "args")]
    made = [(*row[:-1], _value(row[-1])) for row in zip(*columns, strict=True)]
    return sorted(made, key=repr)


def _value(args: str | None) -> str | None:
    read = json.loads(args) if args else None
    return json.dumps(read, sort_keys=True) if read else None


def packets_of(data: bytes) -> Any:
    """The packets, as the classes of the package perfetto read them."""
    from perfetto.protos.perfetto.trace import perfetto_trace_pb2

    trace = perfetto_trace_pb2.Trace()
    trace.ParseFromString(data)
    return trace.packet
