"""The items inside packets: what the importer's modules do while tokenizing."""

from __future__ import annotations

from collections.abc import Callable

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
    Key,
    Reading,
    Result,
    Tracker,
)
from .records import (
    ANDROID_LOG,
    ETW_EVENTS,
    FTRACE_EVENTS,
    PAYLOADS,
    POWER_RAILS,
    PROCESS_TREE,
    PROFILE_PACKET,
    SEQUENCE_ID,
    STATSD_ATOM,
    STREAMING_PROFILE,
    THREAD_DESCRIPTOR,
    TIMESTAMP,
    TRACK_DESCRIPTOR,
    TRACK_EVENT,
    Packet,
    Sequence,
    Shared,
    TwinError,
)
from .wire import BYTES, Message, as_bytes, fits, saturate, signed, varint

MAX_CPUS = 1024
FTRACE_CLOCK = 64
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


class Inside:
    """One machine's state, and its items inside packets.

    In the methods that take a packet's field, `ts` is the trace time of the packet, and
    `dropped` the result of a packet that was dropped, which its items then get too. They
    return whether the field ends the reading of the packet.
    """

    def __init__(self, shared: Shared, machine: int) -> None:
        self.shared = shared
        self.sorter = shared.sorter
        self.machine = machine
        self.tracker = Tracker(shared.graph, machine)
        self.sequences: dict[int, Sequence] = {}
        self.latest = 0
        self.last_ftrace_snapshot = 0
        self.cpus_seen: set[int] = set()
        for queue in ("packet", "track_event", "stack_sample"):
            self.sorter.open((machine, queue))

    def push(self, queue: str, ts: int) -> None:
        self.sorter.push((self.machine, queue), ts)

    def sequence(self, sequence_id: int) -> Sequence:
        return self.sequences.setdefault(sequence_id, Sequence())

    def raw_if_unknown(self, key: Key, raw: int) -> Result:
        result = self.tracker.to_trace_time(key, raw)
        if result.status in (RESOLVED, OVERFLOW):
            return result
        return Result(raw, AS_IS)

    def contents(self, packet: Packet, ts: int, dropped: Result | None) -> None:
        """Items inside, in the order of the packet's fields; the first that is taken ends it.

        `dropped` is the result of a packet that was dropped: its items get it too.
        """
        if dropped is None:
            self.latest = max(self.latest, ts)
        read_later = []
        for number, wire, value in packet.message.fields:
            take = TAKERS.get(number)
            if take is None:
                continue
            content = as_bytes(value) if wire == BYTES else b""
            if number in (PROCESS_TREE, PROFILE_PACKET):
                read_later.append((take, content))
            elif take(self, packet, content, ts, dropped):
                return
        # Only of packets that reach the sorter.
        for take, content in read_later:
            take(self, packet, content, ts, dropped)
        if dropped is None:
            self.push("packet", ts)

    def convert_later(
        self, packet: Packet, kind: str, item: int, key: Key, ts: int, dropped: Result | None
    ) -> None:
        if dropped:
            packet.add(kind, item, key, ts, dropped)
            return

        def convert() -> None:
            packet.add(kind, item, key, ts, self.tracker.to_trace_time(key, ts))

        self.shared.later.append((packet.index, convert))

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
            if data.has(2):
                key, raw = Key(BOOTTIME), data.int64(2)
                ns = raw * 1_000_000
                result = Result(None, OVERFLOW)
                if fits(ns):
                    result = dropped or self.tracker.to_trace_time(key, ns)
                packet.add("power_rail", item, key, raw, result)
            else:
                result = packet.add_as_packet("power_rail", item, ts)
            self.push_result("packet", result)
        return True

    def statsd_atoms(self, packet: Packet, data: bytes, ts: int, dropped: Result | None) -> bool:
        message = Message(data)
        times = message.numbers(2)
        for item in range(len(message.messages(1))):
            if item < len(times):
                raw = signed(times[item])
                result = dropped or Result(raw, AS_IS)
                packet.add("statsd_atom", item, None, raw, result)
            else:
                result = packet.add_as_packet("statsd_atom", item, ts)
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
        # The reference does not follow what is dropped.
        key = None if dropped and event.has(1) else Key(MONOTONIC)
        packet.add("track_event_legacy", 0, key, raw, result)
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
        samples, key = len(profile.numbers(1)), None if dropped else Key(MONOTONIC)
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
            return Key(FTRACE_CLOCK, sequence_id, self.shared.file)
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
        inside = first_message(data, event_id)
        if inside is None:
            return
        if event_id in TIMES_INSIDE:
            if inside.has(TIMES_INSIDE[event_id]) and result.value is not None:
                self.push_result(queue, result)
                self.push_result(queue, Result(inside.int64(TIMES_INSIDE[event_id]), AS_IS))
            return
        if inside.has(3):
            start, key = inside.int64(3), Key(MONOTONIC_RAW)
            # What is in a dropped event is dropped with it.
            started = result if result.value is None else self.tracker.to_trace_time(key, start)
            packet.add("gpu_work_period", item, key, start, started)
            if started.value is not None:
                self.push_result(queue, result)
                self.push_result(queue, started)


Taker = Callable[[Inside, Packet, bytes, int, Result | None], bool]
TAKERS: dict[int, Taker] = {
    FTRACE_EVENTS: Inside.ftrace_bundle,
    PROCESS_TREE: Inside.process_tree,
    TRACK_EVENT: Inside.track_event,
    PROFILE_PACKET: Inside.heap_dumps,
    ANDROID_LOG: Inside.android_log,
    POWER_RAILS: Inside.power_rails,
    THREAD_DESCRIPTOR: Inside.thread_descriptor,
    STREAMING_PROFILE: Inside.streaming_profile,
    TRACK_DESCRIPTOR: Inside.track_descriptor,
    STATSD_ATOM: Inside.statsd_atoms,
    ETW_EVENTS: Inside.etw_events,
    **dict.fromkeys(TAKEN_SILENTLY, Inside.nothing),
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
