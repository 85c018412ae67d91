"""A slow, plain reader of Perfetto traces, after proto_trace_reader.cc and its modules."""

from __future__ import annotations

import io
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import pyarrow as pa
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import TracePacket

from .graph import (
    AS_IS,
    BOOTTIME,
    MONOTONIC,
    MONOTONIC_COARSE,
    MONOTONIC_RAW,
    OVERFLOW,
    REALTIME,
    RESOLVED,
    SKIPPED,
    TRACE_FILE,
    Key,
    Reading,
    Result,
    Tracker,
    TwinGraph,
    is_sequence_clock,
)
from .sorter import Sorter
from .wire import BYTES, U64, Message, as_bytes, fits, saturate, signed, varint

MAX_CPUS = 1024
FTRACE_CLOCK = 64
SYNC_ROUND_NS = 30_000_000_000

# TracePacket
FTRACE_EVENTS, PROCESS_TREE, CHROME_EVENTS, CLOCK_SNAPSHOT, TIMESTAMP = 1, 2, 5, 6, 8
SEQUENCE_ID, TRACK_EVENT, SEQUENCE_FLAGS, SYNC_MARKER, PROFILE_PACKET = 10, 11, 13, 36, 37
ANDROID_LOG, POWER_RAILS, STATE_CLEARED, PACKET_DROPPED = 39, 40, 41, 42
THREAD_DESCRIPTOR, COMPRESSED, CHROME_METADATA, STREAMING_PROFILE = 44, 50, 51, 54
TIMESTAMP_CLOCK_ID, PACKET_DEFAULTS, TRACK_DESCRIPTOR, SERVICE_EVENT = 58, 59, 60, 69
EXTENSION_DESCRIPTOR, STATSD_ATOM, ETW_EVENTS, MACHINE_ID = 72, 84, 95, 98
REMOTE_CLOCK_SYNC, ZSTD_COMPRESSED = 107, 133

NEEDS_STATE = 2
PAYLOADS = {one.number: one.name for one in TracePacket.DESCRIPTOR.oneofs_by_name["data"].fields}
# Packets that a module takes without handing anything to the sorter.
TAKEN_SILENTLY = {
    number
    for number, name in PAYLOADS.items()
    if name
    in {
        "chrome_benchmark_metadata",
        "chrome_metadata",
        "cpu_info",
        "gpu_info",
        "interrupt_info",
        "packages_list",
        "system_info",
        "trace_uuid",
        "track_event_range_of_interest",
        "translation_table",
        "ui_state",
        "user_list",
    }
}

# FtraceEvent: an event of its own time inside, as (field, field of that time)
GPU_WORK_PERIOD = 488
TIMES_INSIDE = {506: 11, 543: 3, 596: 1, 600: 1}


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
        sequence = key.sequence if key and is_sequence_clock(clock) else 0
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


class Importer:
    """One file."""

    def __init__(self) -> None:
        self.graph = TwinGraph(Key(TRACE_FILE))
        self.sorter = Sorter()
        self.packets: list[Packet] = []
        self.later: list[Callable[[], None]] = []
        self.file = 0
        self.codec: int | None = None
        self.adopted: int | None = None
        self.host_used = False
        self.host = Reader(self, 0)
        self.remotes: dict[int, Reader] = {}

    def run(self, data: bytes) -> list[Row]:
        while data[:2] == b"\x1f\x8b" or data[:4] == b"\x28\xb5\x2f\xfd":
            data = gunzip_file(data) if data[:2] == b"\x1f\x8b" else unzstd(data)
            self.file += 1
        if data and data[0] != 0x0A:
            raise TwinError("unknown trace type")
        for message in self.tokens(data):
            self.packet(message)
        self.host.finish()
        for reader in self.remotes.values():
            reader.finish()
        for convert in self.later:
            convert()
        return [row for packet in self.packets for row in packet.rows]

    def tokens(self, data: bytes) -> Iterator[Message | None]:
        """Every packet in place; None for one that the importer does not see."""
        pos, end = 0, len(data)
        while end - pos >= 2:
            header = min(end, pos + 20)
            tag = varint(data, pos, header)
            if tag is None:
                check_cut(header - pos)
                return
            wire, at = tag[0] & 7, tag[1]
            if wire == 5 or wire == 1:
                at += 4 if wire == 5 else 8
                if at > end:
                    return
            elif wire in (0, 2):
                size = varint(data, at, header)
                if size is None:
                    check_cut(header - pos)
                    return
                at = size[1]
                if wire == 2:
                    if size[0] > end - at:
                        return
                    content, at = data[at : at + size[0]], at + size[0]
                    if tag[0] == 0x0A:
                        yield from self.expand(content)
            else:
                raise TwinError("unknown field type in the trace")
            pos = at

    def expand(self, content: bytes) -> Iterator[Message | None]:
        if not content:
            yield None
            return
        message = Message(content)
        if message.has(COMPRESSED):
            inner, codec = message.bytes(COMPRESSED), COMPRESSED
        elif message.has(ZSTD_COMPRESSED):
            inner, codec = message.bytes(ZSTD_COMPRESSED), ZSTD_COMPRESSED
        else:
            yield message
            return
        if self.codec not in (None, codec):
            raise TwinError("a trace must not mix codecs")
        self.codec = codec
        data = inflate(inner) if codec == COMPRESSED else unzstd_frame(inner)
        pos, end = 0, len(data)
        while end - pos > 2:
            if data[pos] != 0x0A:
                raise TwinError("expected a packet inside compressed packets")
            size = varint(data, pos + 1, end)
            if size is None or size[0] > end - size[1]:
                raise TwinError("invalid packet size inside compressed packets")
            pos = size[1] + size[0]
            yield Message(data[size[1] : pos])

    def packet(self, message: Message | None) -> None:
        packet = Packet(len(self.packets), message or Message(b""), [], "")
        self.packets.append(packet)
        if message is None:
            return
        if not message.complete:
            raise TwinError("packet cannot be parsed fully")
        if message.has(COMPRESSED) or message.has(ZSTD_COMPRESSED):
            raise TwinError("compressed packets inside compressed packets")
        packet.payload = payload_of(message)
        self.reader_of(message).parse(packet)

    def reader_of(self, message: Message) -> Reader:
        machine = message.uint32(MACHINE_ID)
        if not machine:
            if not message.has(SYNC_MARKER):
                self.host_used = True
            return self.host
        if self.adopted is None:
            self.adopted = 0 if self.host_used else machine
        if machine == self.adopted:
            return self.host
        if machine not in self.remotes:
            reader = Reader(self, len(self.remotes) + 1)
            reader.tracker.default_clock = self.host.tracker.default_clock
            self.remotes[machine] = reader
        return self.remotes[machine]


class Reader:
    """The packets of one machine."""

    def __init__(self, importer: Importer, machine: int) -> None:
        self.importer = importer
        self.sorter = importer.sorter
        self.machine = machine
        self.tracker = Tracker(importer.graph, machine)
        self.sequences: dict[int, Sequence] = {}
        self.deferred: list[Packet] = []
        self.at_end = False
        self.latest = 0
        self.last_ftrace_snapshot = 0
        self.cpus_seen: set[int] = set()
        for queue in ("packet", "track_event", "stack_sample"):
            self.sorter.open((machine, queue))

    def push(self, queue: str, ts: int) -> None:
        self.sorter.push((self.machine, queue), ts)

    def sequence(self, sequence_id: int) -> Sequence:
        return self.sequences.setdefault(sequence_id, Sequence())

    def key(self, clock: int, sequence_id: int) -> Key:
        """An explicit clock id of a packet or a snapshot."""
        if not is_sequence_clock(clock):
            return Key(clock)
        if not sequence_id:
            raise TwinError("sequence-scoped clock on sequence 0")
        return Key(clock, sequence_id, self.importer.file)

    def parse(self, packet: Packet) -> None:
        message = packet.message
        sequence = self.sequence(packet.sequence_id)
        has_sequence = message.has(SEQUENCE_ID)
        flags = message.uint32(SEQUENCE_FLAGS)
        if message.flag(STATE_CLEARED) or flags & 1:
            if has_sequence:
                sequence.valid = True
                sequence.defaults = None
                sequence.references = References()
        elif message.uint32(PACKET_DROPPED) and has_sequence:
            sequence.valid = False
            sequence.references = References()
        if message.has(PACKET_DEFAULTS) and has_sequence:
            sequence.defaults = message.message(PACKET_DEFAULTS)

        if message.has(CLOCK_SNAPSHOT):
            self.clock_snapshot(message.message(CLOCK_SNAPSHOT), packet.sequence_id)
        elif message.has(REMOTE_CLOCK_SYNC):
            self.remote_clock_sync(message.message(REMOTE_CLOCK_SYNC))
        elif message.has(SERVICE_EVENT):
            self.service_event(packet)
        elif message.has(EXTENSION_DESCRIPTOR):
            pass
        elif flags & NEEDS_STATE and not packet.sequence_id:
            raise TwinError("packet needs incremental state, but is on sequence 0")
        elif flags & NEEDS_STATE and not sequence.valid:
            if message.has(TIMESTAMP):
                key = self.packet_clock(packet)
                packet.add("packet", 0, key, message.uint64(TIMESTAMP), Result(None, SKIPPED))
        else:
            self.timestamped(packet)

    def finish(self) -> None:
        self.at_end = True
        for packet in self.deferred:
            self.timestamped(packet)

    # Snapshots and service events

    def clock_snapshot(self, snapshot: Message, sequence_id: int) -> None:
        readings = [
            Reading(
                self.key(clock.uint32(1), sequence_id),
                clock.int64(2),
                clock.int64(4) or 1,
                clock.flag(3),
            )
            for clock in snapshot.messages(1)
        ]
        clocks = {reading.key.clock for reading in readings}
        primary = snapshot.uint32(2)
        if not primary and BOOTTIME in clocks and TRACE_FILE not in clocks:
            primary = BOOTTIME
        if primary:
            self.tracker.default_clock = Key(primary)
            self.tracker.set_global_clock(Key(primary))
        self.tracker.add_snapshot(readings)

    def remote_clock_sync(self, sync: Message) -> None:
        rounds: list[dict[int, tuple[int, int]]] = []
        for synced in sync.messages(1):
            host = {c.uint32(1): c.uint64(2) for c in synced.message(3).messages(1)}
            client_clocks = synced.message(2).messages(1)
            client = {c.uint32(1): c.uint64(2) for c in client_clocks}
            rounds.append(
                {c: (host.get(c, 0), client.get(c, 0)) for c in host.keys() | client.keys()}
            )
            self.tracker.add_snapshot(
                [Reading(Key(c.uint32(1)), c.int64(2)) for c in client_clocks]
            )
        host_machine = self.importer.graph.trace_clock.machine
        for clock, offset in sorted(clock_offsets(rounds).items()):
            anchors = [clocks[clock][0] for clocks in rounds if clocks.get(clock, (0, 0))[0]]
            anchor = signed(anchors[-1]) if anchors else 0
            self.tracker.add_qualified(
                [
                    Reading(Key(clock, machine=host_machine), anchor),
                    Reading(Key(clock, machine=self.machine), signed(anchor + offset)),
                ]
            )

    def service_event(self, packet: Packet) -> None:
        message = packet.message
        explicit = message.has(TIMESTAMP_CLOCK_ID)
        key = Key(message.uint32(TIMESTAMP_CLOCK_ID) if explicit else BOOTTIME)
        raw = message.int64(TIMESTAMP)
        result = self.raw_if_unknown(key, raw)
        if message.has(TIMESTAMP):
            packet.add("packet", 0, key, raw, result)
        event = message.message(SERVICE_EVENT)
        if event.flag(3):
            self.sorter.flush()
        if event.flag(4):
            self.sorter.read_buffers()

    # Packets with a timestamp, and what is in them

    def raw_if_unknown(self, key: Key, raw: int) -> Result:
        result = self.tracker.to_trace_time(key, raw)
        if result.status in (RESOLVED, OVERFLOW):
            return result
        return Result(raw, AS_IS)

    def packet_clock(self, packet: Packet) -> Key | None:
        clock = packet.message.uint32(TIMESTAMP_CLOCK_ID)
        defaults = self.sequence(packet.sequence_id).defaults
        if not clock and defaults:
            clock = defaults.uint32(TIMESTAMP_CLOCK_ID)
        if clock:
            return self.key(clock, packet.sequence_id)
        default = self.tracker.default_clock
        return default if default and default.clock else None

    def timestamped(self, packet: Packet) -> None:
        message = packet.message
        if not message.has(TIMESTAMP):
            self.contents(packet, max(self.latest, self.sorter.latest), None)
            return
        raw = message.int64(TIMESTAMP)
        key = self.packet_clock(packet)
        is_chrome = message.has(CHROME_EVENTS) or message.has(CHROME_METADATA)
        if is_chrome and (key is None or key.clock == MONOTONIC):
            key = Key(MONOTONIC)
            result = self.raw_if_unknown(key, raw)
        elif key is None:
            result = Result(raw, AS_IS)
        else:
            result = self.tracker.to_trace_time(key, raw)
            can_wait = result.status not in (RESOLVED, OVERFLOW) and not self.at_end
            if can_wait and self.sorter.sort_fully():
                self.deferred.append(packet)
                return
        packet.add("packet", 0, key, raw, result)
        if result.value is None:
            self.contents(packet, 0, result)
        else:
            self.contents(packet, result.value, None)

    def contents(self, packet: Packet, ts: int, dropped: Result | None) -> None:
        """Items inside, in the order of the packet's fields; the first that is taken ends it.

        `dropped` is the result of a packet that was dropped: its items get it too.
        """
        if dropped is None:
            self.latest = max(self.latest, ts)
        for number, wire, value in packet.message.fields:
            take = TAKERS.get(number)
            if take is None:
                continue
            content = as_bytes(value) if wire == BYTES else b""
            if take(self, packet, content, ts, dropped):
                return
        if dropped is None:
            self.push("packet", ts)

    def convert_later(
        self, packet: Packet, kind: str, item: int, key: Key, ts: int, dropped: Result | None
    ) -> None:
        if dropped:
            packet.add(kind, item, key, ts, dropped)
            return
        self.importer.later.append(
            lambda: packet.add(kind, item, key, ts, self.tracker.to_trace_time(key, ts))
        )

    def nothing(self, _p: Packet, _c: bytes, _ts: int, _d: Result | None) -> bool:
        return True

    def process_tree(self, packet: Packet, data: bytes, _ts: int, dropped: Result | None) -> bool:
        for item, process in enumerate(Message(data).messages(1)):
            if process.has(3) and process.has(7):
                key, start = Key(BOOTTIME), process.int64(7)
                self.convert_later(packet, "process_start", item, key, start, dropped)
        return False

    def heap_dumps(self, packet: Packet, data: bytes, _ts: int, dropped: Result | None) -> bool:
        item = 0
        for dump in Message(data).messages(5):
            values = [dump.int64(9)]
            if dump.has(15):
                values.append(dump.int64(15))
            for value in values:
                key = Key(MONOTONIC_COARSE)
                self.convert_later(packet, "heap_dump", item, key, value, dropped)
                item += 1
        return False

    def android_log(self, packet: Packet, _: bytes, _ts: int, dropped: Result | None) -> bool:
        log = packet.message.message(ANDROID_LOG)
        for item, event in enumerate(log.messages(1)):
            raw, key = event.int64(5), Key(REALTIME)
            result = dropped or self.tracker.to_trace_time(key, raw)
            packet.add("android_log", item, key, raw, result)
            self.push_result("packet", result)
        return True

    def power_rails(self, packet: Packet, _: bytes, ts: int, dropped: Result | None) -> bool:
        rails = packet.message.message(POWER_RAILS)
        for item, data in enumerate(rails.messages(2)):
            key: Key | None = None
            if data.has(2):
                key, raw = Key(BOOTTIME), data.int64(2)
                ns = raw * 1_000_000
                result = dropped or (
                    self.tracker.to_trace_time(key, ns) if fits(ns) else Result(None, OVERFLOW)
                )
            else:
                raw, result = ts, dropped or Result(ts, AS_IS)
            packet.add("power_rail", item, key, raw, result)
            self.push_result("packet", result)
        return True

    def statsd_atoms(self, packet: Packet, data: bytes, ts: int, dropped: Result | None) -> bool:
        message = Message(data)
        times = message.numbers(2)
        for item in range(len(message.messages(1))):
            raw = signed(times[item]) if item < len(times) else ts
            result = dropped or Result(raw, AS_IS)
            packet.add("statsd_atom", item, None, raw, result)
            self.push_result("packet", result)
        return True

    def etw_events(self, packet: Packet, data: bytes, _ts: int, dropped: Result | None) -> bool:
        bundle = Message(data)
        for item, event in enumerate(bundle.messages(2)):
            if not event.has(1) or not (event.has(4) or bundle.has(1)):
                continue
            cpu = event.uint32(4) if event.has(4) else bundle.uint32(1)
            if cpu >= MAX_CPUS:
                continue
            result = dropped or Result(event.int64(1), AS_IS)
            packet.add("etw_event", item, None, event.int64(1), result)
            self.push_result(f"etw {cpu}", result)
        return True

    def push_result(self, queue: str, result: Result) -> None:
        if result.value is not None:
            self.push(queue, result.value)

    # Legacy timestamps

    def thread_descriptor(self, packet: Packet, data: bytes, _t: int, dropped: object) -> bool:
        sequence = self.sequence(packet.sequence_id)
        if dropped or not packet.message.has(SEQUENCE_ID) or not sequence.valid:
            return True
        self.set_reference(sequence, Message(data))
        return False

    def track_descriptor(self, packet: Packet, data: bytes, _t: int, dropped: object) -> bool:
        track = Message(data)
        if not track.has(1) or (track.has(11) and not 0 <= track.int32(11) <= 3):
            return True
        if not track.has(4):
            return track.has(3) and not track.message(3).has(1)
        thread = track.message(4)
        if not thread.has(1) or not thread.has(2):
            return True
        sequence = self.sequence(packet.sequence_id)
        if sequence.valid and not dropped:
            self.set_reference(sequence, thread)
        return False

    @staticmethod
    def set_reference(sequence: Sequence, thread: Message) -> None:
        sequence.references.valid = True
        sequence.references.ns = saturate(thread.int64(6) * 1000)

    def track_event(self, packet: Packet, data: bytes, ts: int, dropped: Result | None) -> bool:
        if not packet.message.has(SEQUENCE_ID):
            return True
        event = Message(data)
        delta, absolute = event.int64(1), event.int64(16)
        if not event.has(1) and not absolute:
            if dropped is None and packet.message.has(TIMESTAMP) and ts >= 0:
                self.push("track_event", ts)
            return True
        raw = delta if event.has(1) else absolute
        references = self.sequence(packet.sequence_id).references
        if dropped:
            result = dropped
        elif event.has(1) and not references.valid:
            result = Result(None, SKIPPED)
        else:
            ns = saturate(raw * 1000)
            ns = references.advance(ns) if event.has(1) else ns
            result = self.legacy_time(ns)
        packet.add("track_event_legacy", 0, Key(MONOTONIC), raw, result)
        self.push_result("track_event", result)
        return True

    def legacy_time(self, ns: int) -> Result:
        if ns < 0:
            return Result(None, OVERFLOW)
        return self.raw_if_unknown(Key(MONOTONIC), ns)

    def streaming_profile(
        self, packet: Packet, data: bytes, _ts: int, dropped: Result | None
    ) -> bool:
        profile = Message(data)
        samples, key = len(profile.numbers(1)), Key(MONOTONIC)
        deltas = [signed(delta) for delta in profile.numbers(2)]
        references = self.sequence(packet.sequence_id).references
        start = dropped or self.legacy_time(references.ns)
        ended = start if start.value is None else None
        sample_ts = start.value or 0
        for item, delta in enumerate(deltas):
            delta_ns = saturate(delta * 1000)
            if ended is None and references.advance(delta_ns) < 0:
                ended = Result(None, OVERFLOW)
            result = ended
            if result is None:
                sample_ts = saturate(sample_ts + delta_ns)
                result = Result(sample_ts, start.status)
            if item < samples:
                packet.add("stack_sample", item, key, delta, result)
                self.push_result("stack_sample", result)
        return True

    # Ftrace

    def ftrace_bundle(self, packet: Packet, data: bytes, _ts: int, dropped: Result | None) -> bool:
        bundle = Message(data)
        if not bundle.has(1):
            return True
        cpu = bundle.uint32(1)
        key = self.ftrace_clock(bundle, packet.sequence_id)
        if dropped is None:
            if cpu >= MAX_CPUS:
                raise TwinError("ftrace cpu is too large")
            if key is None:
                raise TwinError("unknown ftrace clock")
            self.ftrace_snapshot(bundle, key)
        elif key is None:
            return True
        if bundle.has(4):
            self.compact_sched(packet, cpu, key, bundle.message(4), dropped)
        for item, (_, value) in enumerate(bundle.by_id.get(2, [])):
            self.ftrace_event(packet, cpu, key, item, as_bytes(value), dropped)
        if dropped is None and cpu not in self.cpus_seen:
            self.cpus_seen.add(cpu)
            if bundle.has(10) or bundle.has(9):
                start = bundle.int64(10) if bundle.has(10) else bundle.int64(9)
                if self.tracker.to_trace_time(key, start).status not in (RESOLVED, OVERFLOW):
                    raise TwinError("cannot convert the start of the data of a cpu")
        return True

    def ftrace_clock(self, bundle: Message, sequence_id: int) -> Key | None:
        if not bundle.has(5) or bundle.int32(5) == 0:
            return Key(BOOTTIME)
        if bundle.int32(5) in (2, 3):
            return Key(FTRACE_CLOCK, sequence_id, self.importer.file)
        return Key(MONOTONIC_RAW) if bundle.int32(5) == 4 else None

    def ftrace_snapshot(self, bundle: Message, key: Key) -> None:
        at = bundle.int64(6)
        if not (bundle.has(5) and bundle.has(6) and bundle.has(7)):
            return
        if at != self.last_ftrace_snapshot:
            self.tracker.add_snapshot([Reading(key, at), Reading(Key(BOOTTIME), bundle.int64(7))])
            self.last_ftrace_snapshot = at

    def compact_sched(
        self, packet: Packet, cpu: int, key: Key, sched: Message, dropped: Result | None
    ) -> None:
        comms = len(sched.messages(5))
        switches = [sched.packed(number) for number in (1, 2, 3, 4, 6)]
        wakings = [sched.packed(number) for number in (7, 8, 9, 10, 11)]
        for kind, arrays in (("sched_switch", switches), ("sched_waking", wakings)):
            raw = 0
            # Arrays of different lengths are read up to the shortest.
            for item, values in enumerate(zip(*arrays, strict=False)):
                raw = signed(raw + values[0])
                if values[4] & 0xFFFFFFFF >= comms:
                    break
                result = dropped or self.tracker.to_trace_time(key, raw)
                packet.add(kind, item, key, raw, result)
                self.push_result(f"{kind} {cpu}", result)

    def ftrace_event(
        self, packet: Packet, cpu: int, key: Key, item: int, data: bytes, dropped: Result | None
    ) -> None:
        found = ftrace_event_header(data)
        if found is None:
            return
        raw, event_id = found
        result = dropped or self.tracker.to_trace_time(key, raw)
        packet.add("ftrace_event", item, key, raw, result)
        queue = f"ftrace {cpu}"
        if event_id != GPU_WORK_PERIOD and event_id not in TIMES_INSIDE:
            self.push_result(queue, result)
            return
        if result.value is None and result.status != OVERFLOW and not dropped:
            return
        inside = first_message(data, event_id)
        if inside is None:
            return
        if event_id in TIMES_INSIDE:
            if inside.has(TIMES_INSIDE[event_id]):
                self.push_result(queue, result)
                self.push_result(queue, Result(inside.int64(TIMES_INSIDE[event_id]), AS_IS))
            return
        if inside.has(3):
            start = inside.int64(3)
            started = dropped or self.tracker.to_trace_time(Key(MONOTONIC_RAW), start)
            packet.add("gpu_work_period", item, Key(MONOTONIC_RAW), start, started)
            if started.value is not None:
                self.push_result(queue, result)
                self.push_result(queue, started)


Taker = Callable[[Reader, Packet, bytes, int, Result | None], bool]
TAKERS: dict[int, Taker] = {
    FTRACE_EVENTS: Reader.ftrace_bundle,
    PROCESS_TREE: Reader.process_tree,
    TRACK_EVENT: Reader.track_event,
    PROFILE_PACKET: Reader.heap_dumps,
    ANDROID_LOG: Reader.android_log,
    POWER_RAILS: Reader.power_rails,
    THREAD_DESCRIPTOR: Reader.thread_descriptor,
    STREAMING_PROFILE: Reader.streaming_profile,
    TRACK_DESCRIPTOR: Reader.track_descriptor,
    STATSD_ATOM: Reader.statsd_atoms,
    ETW_EVENTS: Reader.etw_events,
    **dict.fromkeys(TAKEN_SILENTLY, Reader.nothing),
}


def ftrace_event_header(data: bytes) -> tuple[int, int] | None:
    """(raw timestamp, event id), or None where the tokenizer gives up on the event."""
    timestamp: int | None = None
    event_id = 0
    if len(data) > 10 and data[0] == 0x08:
        read = varint(data, 1, 11)
        if read is not None:
            timestamp = read[0]
            event_id = event_id_after(data, read[1])
    message = Message(data)
    if timestamp is None:
        if not message.has(1):
            return None
        value = message.by_id[1][0][1]
        timestamp = value if isinstance(value, int) else 0
    if not event_id:
        delimited = [number for number, wire, _ in message.fields if wire == BYTES]
        if not delimited:
            return None
        event_id = delimited[0]
    return signed(timestamp), event_id


def event_id_after(data: bytes, pos: int) -> int:
    """The event id where pid and event follow the timestamp; else 0."""
    end = len(data)
    if end - pos <= 5 or data[pos] != 0x10:
        return 0
    pid = varint(data, pos + 1, end)
    tag = varint(data, pid[1], end) if pid else None
    return (tag[0] >> 3) & 0xFFFFFFFF if tag and tag[0] & 7 == BYTES else 0


def first_message(data: bytes, number: int) -> Message | None:
    found = Message(data).by_id.get(number)
    return Message(as_bytes(found[0][1])) if found else None


def clock_offsets(rounds: list[dict[int, tuple[int, int]]]) -> dict[int, int]:
    offsets: dict[int, list[int]] = {}
    means: dict[int, int] = {}
    for ping, update in zip(rounds, rounds[1:], strict=False):
        elapsed = update.get(BOOTTIME, (0, 0))[1] - ping.get(BOOTTIME, (0, 0))[1]
        if elapsed % U64 >= SYNC_ROUND_NS:
            continue
        for clock, (h1, c1) in ping.items():
            h2, c2 = update.get(clock, (0, 0))
            if h1 and c1 and h2 and c2:
                first = signed(truncated(signed(c1 + c2), 2) - signed(h1))
                second = signed(signed(c2) - truncated(signed(h1 + h2), 2))
                offsets.setdefault(clock, []).extend((first, second))
        for clock, values in offsets.items():
            means[clock] = truncated(signed(sum(values)), len(values))
    return means


def truncated(a: int, b: int) -> int:
    """Division as in C++, towards zero."""
    return a // b if a >= 0 else -(-a // b)


def payload_of(message: Message) -> str:
    found = [PAYLOADS[number] for number, _, _ in message.fields if number in PAYLOADS]
    return found[-1] if found else ""


def check_cut(size: int) -> None:
    """A header that cannot be read is the end of a cut-off file if it is short."""
    if size >= 20:
        raise TwinError("cannot parse a field of the trace")


def inflate(data: bytes) -> bytes:
    """One zlib or gzip stream, and nothing after it."""
    stream = zlib.decompressobj(47)
    try:
        content = stream.decompress(data)
    except zlib.error as error:
        raise TwinError("cannot decompress packets") from error
    if not stream.eof or stream.unused_data:
        raise TwinError("cannot decompress packets")
    return content


def gunzip_file(data: bytes) -> bytes:
    """One or more gzip streams."""
    parts = []
    while data:
        stream = zlib.decompressobj(47)
        try:
            parts.append(stream.decompress(data))
        except zlib.error as error:
            raise TwinError("cannot decompress the trace") from error
        if not stream.eof:
            raise TwinError("compressed stream incomplete")
        data = stream.unused_data
    return b"".join(parts)


def unzstd(data: bytes) -> bytes:
    try:
        return pa.CompressedInputStream(io.BytesIO(data), "zstd").read()
    except (OSError, pa.ArrowException) as error:
        raise TwinError("cannot decompress zstd") from error


def unzstd_frame(data: bytes) -> bytes:
    """One zstd frame, and nothing after it."""
    if zstd_frame_size(data) != len(data):
        raise TwinError("cannot decompress packets")
    return unzstd(data)


def zstd_frame_size(data: bytes) -> int:
    """The size of the first frame (RFC 8878); -1 where it is cut off or not one."""
    magic = int.from_bytes(data[:4], "little")
    if magic & 0xFFFFFFF0 == 0x184D2A50 and len(data) >= 8:
        return 8 + int.from_bytes(data[4:8], "little")
    if magic != 0xFD2FB528 or len(data) < 5:
        return -1
    descriptor = data[4]
    single = descriptor >> 5 & 1
    content_size = (single, 2, 4, 8)[descriptor >> 6]
    pos = 5 + (not single) + (0, 1, 2, 4)[descriptor & 3] + content_size
    while pos + 3 <= len(data):
        block = int.from_bytes(data[pos : pos + 3], "little")
        is_rle = block >> 1 & 3 == 1
        pos += 3 + (1 if is_rle else block >> 3)
        if block & 1:
            return pos + 4 * (descriptor >> 2 & 1)
    return -1


def resolve(data: bytes) -> list[Row]:
    """Every clocked item of a trace, resolved as trace_processor does, in file order."""
    return Importer().run(data)
