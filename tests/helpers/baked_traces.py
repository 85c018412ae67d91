"""Traces given as bytes, baked, and what an importer makes of them."""

from __future__ import annotations

import tempfile
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

from building import pb
from reading import opened
from twin import resolve

from tracetime.baking import BakeSummary, bake
from tracetime.graph.arguments import PolicyName

_EXTENSION = b"\xa2\xe9\x04"
"""The tag of field 9876."""

Event = tuple[str, str, int]
"""Kind, payload and trace time."""


class Baked(NamedTuple):
    data: bytes
    summary: BakeSummary


def baked(data: bytes, policy: PolicyName = "floor", **options: Any) -> Baked:
    """Bake a trace."""
    with tempfile.TemporaryDirectory() as directory, opened(data) as trace:
        out = Path(directory) / "baked.pftrace"
        summary = bake(trace, out, policy=policy, **options)
        return Baked(out.read_bytes(), summary)


def rows_by(data: bytes, policy: PolicyName) -> list[Event]:
    """The placed rows of a trace by a policy; the columns that do not matter are left out."""
    with opened(data) as trace:
        table = trace.read_all(policy)
    return [
        (kind, payload or "", time)
        for kind, payload, time in zip(
            *(table[name].to_pylist() for name in ("kind", "payload", "trace_time")), strict=True
        )
        if time is not None
    ]


def placed_by_twin(data: bytes) -> list[Event]:
    """What the plain importer places, in file order, but for packets that `bake` adds."""
    packets = pb.Trace.FromString(data).packet
    return [
        (row.kind, row.payload, row.trace_time)
        for row in resolve(data)
        if row.trace_time is not None and not _is_mark(packets[row.packet])
    ]


def _is_mark(packet: pb.TracePacket) -> bool:
    """Whether a packet has the extension and no event."""
    named = {field.name for field, _ in packet.ListFields()}
    is_empty = named <= {"timestamp", "timestamp_clock_id", "machine_id"}
    return is_empty and _EXTENSION in packet.SerializeToString()


def times(rows: list[Event]) -> Counter[int]:
    return Counter(time for *_, time in rows)
