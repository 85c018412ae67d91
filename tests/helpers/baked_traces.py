"""Traces given as bytes, baked, and what an importer makes of them."""

from __future__ import annotations

import tempfile
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow.compute as pc
from building import pb
from reading import opened
from twin import resolve

from tracetime.graph.arguments import PolicyName
from tracetime.trace.trace import Trace
from tracetime.verbs.bake import BakeSummary, bake

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


def drawn_by(data: bytes, policy: PolicyName) -> list[Event]:
    """The rows that a trace baked by a policy has: what the tube cannot place, floor does."""
    with opened(data) as trace:
        return drawn(trace, policy)


def drawn(trace: Trace, policy: PolicyName) -> list[Event]:
    """As `drawn_by`, of an open trace."""
    floor, rows = trace.read_all(), trace.read_all(policy)
    by_floor = floor["trace_time"].to_pylist()
    found = []
    for row, other in zip(rows.to_pylist(), by_floor, strict=True):
        time, first = row["trace_time"], row.get("earliest")
        if time is None and (first is None or (other and first <= other <= row["latest"])):
            time = other
        if time is not None:
            found.append((row["kind"], row["payload"] or "", time))
    return found


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


def check_moves(wanted: list[Event], made: Baked) -> None:
    """That a baked trace has other rows only where its summary says so."""
    check_rows(wanted, placed_by_twin(made.data), made.summary)


def unwritten(trace: Trace) -> int:
    """The most rows that a packet has whose fault ends the trace: it cannot be written."""
    if trace.truncated is None:
        return 0
    return pc.sum(pc.equal(trace.read_all()["packet"], trace.truncated.packet)).as_py() or 0


def has_late_descriptor(trace: Trace) -> bool:
    """Whether the tube places a thread's descriptor that floor drops: once baked, it takes effect.

    Samples of a profile then count from its time, which the source by floor does not know.
    """
    floor, tube = (trace.read_all(policy) for policy in ("floor", "tube"))
    late = pc.and_(pc.is_null(floor["trace_time"]), pc.is_valid(tube["trace_time"]))
    return "thread_descriptor" in floor["payload"].filter(late).to_pylist()


def check_rows(
    wanted: list[Event], found: list[Event], summary: BakeSummary, unwritten: int = 0
) -> None:
    """That rows of a baked trace differ from those wanted only as its summary says.

    A packet may be where an item of it is, or be there for it alone. No item may go with it. What
    is moved is one row in the place of two: that of the packet and that of its legacy timestamp.

    unwritten: rows of a packet that cannot be written.
    """
    got = Counter(found)
    more, less = got - Counter(wanted), Counter(wanted) - got
    packets = sum(n for (kind, *_), n in more.items() if kind == "packet")
    assert packets <= summary.stamped + summary.moved + summary.kept_in_order
    assert more.total() - packets <= summary.rounded + summary.kept_in_order
    assert less.total() <= (
        unwritten
        + 2 * summary.moved
        + summary.rounded
        + summary.set_aside
        + summary.unresolved
        + summary.kept_in_order
    )


def times(rows: list[Event]) -> Counter[int]:
    return Counter(time for *_, time in rows)
