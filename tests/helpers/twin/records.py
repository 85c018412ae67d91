"""What is read from a trace and what comes out of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import TracePacket

from .graph import AS_IS, Key, Result, TwinGraph, is_sequence_clock
from .sorter import Sorter
from .wire import Message, saturate, signed

# TracePacket
FTRACE_EVENTS, PROCESS_TREE, CHROME_EVENTS, CLOCK_SNAPSHOT, TIMESTAMP = 1, 2, 5, 6, 8
SEQUENCE_ID, TRACK_EVENT, SEQUENCE_FLAGS, SYNC_MARKER, PROFILE_PACKET = 10, 11, 13, 36, 37
ANDROID_LOG, POWER_RAILS, STATE_CLEARED, PACKET_DROPPED = 39, 40, 41, 42
THREAD_DESCRIPTOR, COMPRESSED, CHROME_METADATA, STREAMING_PROFILE = 44, 50, 51, 54
TIMESTAMP_CLOCK_ID, PACKET_DEFAULTS, TRACK_DESCRIPTOR, SERVICE_EVENT = 58, 59, 60, 69
EXTENSION_DESCRIPTOR, STATSD_ATOM, ETW_EVENTS, MACHINE_ID = 72, 84, 95, 98
REMOTE_CLOCK_SYNC, ZSTD_COMPRESSED = 107, 133

PAYLOADS = {one.number: one.name for one in TracePacket.DESCRIPTOR.oneofs_by_name["data"].fields}
COMMON = {one.number for one in TracePacket.DESCRIPTOR.fields} - PAYLOADS.keys()


class TwinError(Exception):
    """The import ends with an error."""


class Row(NamedTuple):
    packet: int
    kind: str
    item: int
    payload: str
    packet_sequence: int
    sequence: int
    machine: int
    clock: int
    timestamp: int
    trace_time: int | None
    status: str


@dataclass
class References:
    """The running reference of legacy delta timestamps."""

    valid: bool = False
    ns: int = 0

    def advance(self, delta_ns: int) -> int:
        self.ns = saturate(self.ns + delta_ns)
        return self.ns


@dataclass
class Sequence:
    valid: bool = False
    defaults: Message | None = None
    references: References = field(default_factory=References)


@dataclass
class Packet:
    index: int
    message: Message
    rows: list[Row]
    payload: str
    # Clock, value and result of its own timestamp.
    placed: tuple[Key | None, int, Result] | None = None

    @property
    def sequence_id(self) -> int:
        return self.message.uint32(SEQUENCE_ID)

    def add(
        self,
        kind: str,
        item: int,
        key: Key | None,
        timestamp: int,
        result: Result,
    ) -> None:
        clock = key.clock if key else 0
        sequence = self.sequence_id if is_sequence_clock(clock) else 0
        self.rows.append(
            Row(
                self.index,
                kind,
                item,
                self.payload,
                self.sequence_id,
                sequence,
                self.message.uint32(MACHINE_ID),
                clock,
                signed(timestamp),
                result.value,
                result.status,
            )
        )

    def add_as_packet(self, kind: str, item: int, ts: int) -> Result:
        """An item without a time of its own; ts: the latest time, which such a packet has."""
        key, timestamp, result = self.placed or (None, ts, Result(ts, AS_IS))
        self.add(kind, item, key, timestamp, result)
        return result


@dataclass
class Shared:
    """What the machines of a file share."""

    graph: TwinGraph
    sorter: Sorter
    file: int = 0
    # Conversions that wait for the whole file, with their packet's index.
    later: list[tuple[int, Callable[[], None]]] = field(default_factory=list)


def payload_of(message: Message) -> str:
    """The first field that is not one of those that every packet can have."""
    for number, _, _ in message.fields:
        if number not in COMMON:
            return PAYLOADS.get(number, "unknown")
    return ""
