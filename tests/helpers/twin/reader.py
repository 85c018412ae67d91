"""A slow, plain reader of Perfetto traces, after proto_trace_reader.cc."""

from __future__ import annotations

from itertools import pairwise

from .container import Tokenizer, open_container
from .graph import (
    AS_IS,
    BOOTTIME,
    MONOTONIC,
    OVERFLOW,
    RESOLVED,
    SKIPPED,
    TRACE_FILE,
    Key,
    Reading,
    Result,
    TwinGraph,
    is_sequence_clock,
)
from .inside import Inside
from .records import (
    CHROME_EVENTS,
    CHROME_METADATA,
    CLOCK_SNAPSHOT,
    COMPRESSED,
    EXTENSION_DESCRIPTOR,
    MACHINE_ID,
    PACKET_DEFAULTS,
    PACKET_DROPPED,
    REMOTE_CLOCK_SYNC,
    SEQUENCE_FLAGS,
    SEQUENCE_ID,
    SERVICE_EVENT,
    STATE_CLEARED,
    SYNC_MARKER,
    TIMESTAMP,
    TIMESTAMP_CLOCK_ID,
    ZSTD_COMPRESSED,
    Packet,
    References,
    Row,
    Shared,
    TwinError,
    payload_of,
)
from .sorter import Sorter
from .wire import U64, Message, signed

SYNC_ROUND_NS = 30_000_000_000
NEEDS_STATE = 2


class Importer:
    """One file."""

    def __init__(self) -> None:
        self.shared = Shared(TwinGraph(Key(TRACE_FILE)), Sorter())
        self.packets: list[Packet] = []
        self.adopted: int | None = None
        self.host_used = False
        self.host = Reader(self.shared, 0)
        self.remotes: dict[int, Reader] = {}

    def run(self, data: bytes) -> list[Row]:
        data, self.shared.file = open_container(data)
        for message in Tokenizer().tokens(data):
            self.packet(message)
        self.finish()
        return [row for packet in self.packets for row in packet.rows]

    def finish(self) -> None:
        """The packets put aside, the host's first; then what is read after sorting."""
        for reader in (self.host, *self.remotes.values()):
            reader.finish()
        for _, convert in sorted(self.shared.later, key=lambda waiting: waiting[0]):
            convert()

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
            reader = Reader(self.shared, len(self.remotes) + 1)
            reader.tracker.default_clock = self.host.tracker.default_clock
            self.remotes[machine] = reader
        return self.remotes[machine]


class Reader(Inside):
    """The packets of one machine."""

    def __init__(self, shared: Shared, machine: int) -> None:
        super().__init__(shared, machine)
        self.deferred: list[Packet] = []
        self.at_end = False

    def key(self, clock: int, sequence_id: int) -> Key:
        """An explicit clock id of a packet or a snapshot."""
        if not is_sequence_clock(clock):
            return Key(clock)
        if not sequence_id:
            raise TwinError("sequence-scoped clock on sequence 0")
        return Key(clock, sequence_id, self.shared.file)

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
        host_machine = self.shared.graph.trace_clock.machine
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

    # Packets with a timestamp

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
        packet.placed = key, raw, result
        if result.value is None:
            self.contents(packet, raw, result)
        else:
            self.contents(packet, result.value, None)


def clock_offsets(rounds: list[dict[int, tuple[int, int]]]) -> dict[int, int]:
    offsets: dict[int, list[int]] = {}
    means: dict[int, int] = {}
    for ping, update in pairwise(rounds):
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


def resolve(data: bytes) -> list[Row]:
    """Every clocked item of a trace, resolved as trace_processor does, in file order."""
    return Importer().run(data)
