"""Random Perfetto traces: few clocks and small numbers, so that they meet often, and odd bytes.

`nasty_trace(random.Random(seed))` gives the trace of a seed; `traces()` is the same as a
Hypothesis strategy, which can shrink it.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable
from random import Random
from typing import Any

from building import (
    INT64_MAX,
    UINT64,
    Packet,
    Value,
    android_log,
    compressed,
    etw,
    event,
    ftrace,
    ftrace_event,
    heap_dumps,
    legacy,
    packet,
    power_rails,
    process_tree,
    remote_sync,
    service_event,
    snapshot,
    statsd,
    streaming_profile,
    thread_descriptor,
    thread_track,
    trace,
    varint,
    zstd,
)
from hypothesis import strategies as st
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb

SEQUENCES = (1, 2, 3)
GLOBAL = (200, 0x8A01B2C3)
UNITS = (1, 1, 1, 1000, 1000, 3, 0, 1 << 62)
EXTREMES = (
    INT64_MAX,
    INT64_MAX - 5,
    INT64_MAX // 2 + 10,
    1 << 63,
    (1 << 63) + 7,
    UINT64,
    UINT64 - 30,
    INT64_MAX // 1000,
)


class Nasty:
    """One random trace."""

    def __init__(self, rng: Random) -> None:
        self.rng = rng
        self.extreme = self.chance(0.1)
        self.with_machines = self.chance(0.3)
        self.broken = self.chance(0.05)
        self.odd_bytes = self.chance(0.1)
        self.flushing = self.chance(0.15)
        self.step = rng.choice((3, 30, 300))
        self.now = rng.choice((0, 50, 10_000))
        self.offsets: dict[object, int] = {}
        self.shapes: dict[object, tuple[int, bool]] = {}
        self.builtins = rng.sample((1, 2, 3, 4, 5, 6, 6, 6, 9, 11, *GLOBAL), 5)
        self.series: list[tuple[int | None, list[int]]] = []
        self.cleared: set[tuple[int | None, int]] = set()

    def chance(self, share: float) -> bool:
        return self.rng.random() < share

    def build(self) -> bytes:
        packets = [self.one() for _ in range(self.rng.randint(1, 30))]
        if self.chance(0.5):
            wide = self.rng.sample((1, 3, 4, 5, 6), self.rng.randint(3, 5))
            readings = {clock: self.value((clock, 1)) for clock in wide}
            packets.insert(self.rng.choice((0, 0, len(packets) // 2)), snapshot(readings))
        if self.flushing:
            packets = self.with_flushes(packets)
        if self.odd_bytes:
            packets = [self.odd(one) if self.chance(0.3) else one for one in packets]
        if self.chance(0.2):
            self.compress_some(packets)
            if self.broken:
                self.compress_some(packets)
        if self.broken and self.chance(0.1):
            packets.insert(self.rng.randint(0, len(packets)), self.bad_bundle())
        data = trace(*packets)
        if self.odd_bytes and self.chance(0.5):
            # Fields of Trace that are not packets.
            data += self.rng.choice((b"\x10\x05", b"\x1a\x01x", b"\x25abcd", b"\x29abcdefgh"))
            data += trace(*[self.one() for _ in range(self.rng.randint(0, 3))])
        if self.broken and self.chance(0.3):
            data = data[: self.rng.randint(1, len(data))]
        kind = self.rng.randrange(10)
        if kind == 0:
            data = gzip.compress(data)
        elif kind == 1:
            data = zstd(data)
        if self.broken and self.chance(0.1):
            data = data[:-1] if self.chance(0.5) else data + b"\x0f\x0f"
        return data

    def with_flushes(self, packets: list[Packet]) -> list[Packet]:
        """Flushes and reads, as of a trace that was written in pieces."""
        out: list[Packet] = []
        for one in packets:
            out.append(one)
            if self.chance(0.3):
                kinds = self.rng.choice(("ffr", "ffr", "fr", "r", "ff"))
                out += [
                    packet(service_event=service_event(flushed=kind == "f", read=kind == "r"))
                    for kind in kinds
                ]
        return out

    def compress_some(self, packets: list[Packet]) -> None:
        at = self.rng.randrange(len(packets))
        end = at + self.rng.randint(1, 8)
        codec = self.rng.choice(("zlib", "gzip", "zstd"))
        packets[at:end] = [compressed(packets[at:end], codec)]

    def bad_bundle(self) -> Packet:
        """Compressed packets that end the import."""
        good = trace(event(5))
        contents = (b"\x12\x01a", good + b"\x0a\x7f\x08", b"", good + b"\x0a")
        one = pb.TracePacket(compressed_packets=zlib.compress(self.rng.choice(contents)))
        if self.chance(0.5):
            one.compressed_packets += b"more"
        return one

    def odd(self, one: Packet) -> bytes:
        """The packet with its fields doubled, in another wire type, or followed by others."""
        content = one if isinstance(one, bytes) else one.SerializeToString()
        ts = self.value(6)
        more = self.rng.choice(
            (
                b"\x41" + (ts & UINT64).to_bytes(8, "little"),
                b"\x45" + (ts & 0xFFFFFFFF).to_bytes(4, "little"),
                b"\x40" + varint(ts)[:-1] + bytes((varint(ts)[-1] | 0x80, 0)),
                b"\xd0\x03" + varint(self.rng.choice((6, 3, 1 << 32 | 6))),
                varint((1 << 25) << 3) + b"\x01",
                b"\xda\x3e\x03odd",
                b"\x0a\x02\x08\x01",
                b"\x5a\x02\x08\x05",
                b"\xba\x02\x03\x2a\x01\x48",
            )
        )
        return content + more if self.chance(0.7) else more + content

    def one(self) -> Packet:
        if self.broken and self.chance(0.05):
            return self.rng.choice(
                (b"\x40", b"\x43\x08\x01", b"\x0a\x05\x01", b"", b"\x40\x01\x98")
            )
        machine = self.rng.choice((None, None, 1, 2)) if self.with_machines else None
        seq = self.rng.choice((*SEQUENCES, 1, None if self.chance(0.1) else 1))
        made = self.rng.choice(self.makers())(seq, machine)
        self.now += self.rng.choice((0, 1, self.step, self.step))
        return made

    def makers(self) -> list[Callable[[int | None, int | None], Packet]]:
        """How to make a packet, the likelier ones several times."""
        return [
            *[self.snapshot] * 6,
            *[self.event] * 8,
            self.state,
            self.defaults,
            self.service,
            self.ftrace,
            self.ftrace,
            self.legacy,
            self.items,
            self.items,
            self.chrome,
            self.sync if self.with_machines else self.event,
        ]

    # Numbers

    def value(self, clock: object = None) -> int:
        """A reading of a clock about now, sometimes far off."""
        if self.extreme and self.chance(0.15):
            return self.rng.choice(EXTREMES)
        offset = self.offsets.setdefault(clock, self.rng.choice((0, 0, 7, 100, 1_000_000)))
        return max(0, self.now + offset + self.rng.randint(-self.step, self.step))

    def small(self) -> int:
        if self.extreme and self.chance(0.1):
            return self.rng.choice((INT64_MAX, -INT64_MAX - 1, INT64_MAX // 1000 + 1, -5000))
        return self.rng.randint(-3, 40)

    def shape(self, clock: int, seq: int | None) -> tuple[int, bool]:
        """A clock's unit and whether it is incremental: mostly what it was before."""
        scoped = 64 <= clock < 128
        key = (clock, seq if scoped else 0)
        if key not in self.shapes or self.chance(0.02):
            unit = self.rng.choice(UNITS) if scoped or self.chance(0.1) else 1
            incremental = self.chance(0.5) if scoped else self.chance(0.01)
            if unit == 1 << 62 and not self.extreme:
                unit = 1000
            self.shapes[key] = (unit, incremental)
        return self.shapes[key]

    def some_clock(self, seq: int | None) -> int:
        if self.chance(0.35) and (seq or self.broken):
            return self.rng.choice((64, 64, 65, 66))
        return self.rng.choice((*self.builtins, 8 if self.chance(0.1) else 6))

    # Packets

    def snapshot(self, seq: int | None, machine: int | None) -> Packet:
        if self.series and self.chance(0.7):
            seq, clocks = self.rng.choice(self.series)
        else:
            clocks = [self.some_clock(seq) for _ in range(self.rng.randint(1, 4))]
            if self.chance(0.9):
                clocks = list(dict.fromkeys(clocks))
            self.series.append((seq, clocks))
        readings: list[tuple[int, Value]] = []
        for clock in clocks:
            unit, incremental = self.shape(clock, seq)
            value = self.value((clock, unit))
            back = self.chance(0.07)
            value = max(0, value - 3 * self.step) if back else value
            shaped = (unit, incremental) != (1, False) or self.chance(0.1)
            readings.append((clock, (value, unit, incremental) if shaped else value))
        primary = self.rng.choice((None, None, None, 0, *self.builtins))
        return snapshot(readings, seq, primary if self.chance(0.3) else None, machine=machine)

    def timed(self, seq: int | None, machine: int | None) -> dict[str, Any]:
        """Arguments of `packet`: when and in which clock, often none."""
        clock = self.rng.choice((None, None, 0, self.some_clock(seq), self.some_clock(seq)))
        unit, incremental = self.shape(clock or 6, seq)
        ts = self.rng.randint(0, 20) if incremental else self.value((clock or 6, unit))
        return {
            "ts": None if self.chance(0.08) else ts,
            "clock": clock,
            "seq": seq,
            "machine": machine,
        }

    def event(self, seq: int | None, machine: int | None) -> Packet:
        first = seq is not None and (machine, seq) not in self.cleared and self.chance(0.7)
        if first and seq is not None:
            self.cleared.add((machine, seq))
        return packet(
            **self.timed(seq, machine),
            cleared=first,
            needs_state=bool(seq or self.broken) and self.chance(0.4),
            dropped=int(self.chance(0.04)),
            track_event=pb.TrackEvent(type=3),
        )

    def state(self, seq: int | None, machine: int | None) -> Packet:
        """Incremental state cleared or lost, or a mere marker."""
        fields: dict[str, Any] = {}
        if self.chance(0.2):
            fields["synchronization_marker"] = b"mark"
        if self.chance(0.3):
            fields["incremental_state_cleared"] = True
        return packet(
            seq=seq,
            machine=machine,
            cleared=self.chance(0.5),
            dropped=int(self.chance(0.4)),
            **fields,
        )

    def defaults(self, seq: int | None, machine: int | None) -> Packet:
        clock = self.some_clock(seq) if seq else self.rng.choice(self.builtins)
        timed = self.timed(seq, machine) if self.chance(0.5) else {"seq": seq, "machine": machine}
        return packet(**timed, default_clock=self.rng.choice((clock, clock, clock, 0)))

    def service(self, seq: int | None, machine: int | None) -> Packet:
        kind = self.rng.choice(({"flushed": True}, {"flushed": True}, {"read": True}, {}))
        ts = self.value(6) if self.chance(0.9) else None
        clock = self.rng.choice((None, None, None, 0, self.some_clock(seq)))
        return packet(ts, clock, None, machine=machine, service_event=service_event(**kind))

    def ftrace(self, seq: int | None, machine: int | None) -> Packet:
        clock = self.rng.choice((None, None, 0, 2, 3, 4))
        if self.broken and self.chance(0.05):
            clock = 1
        source = {None: 6, 0: 6, 4: 5}.get(clock, ("ftrace", seq))
        times = [self.value(source) for _ in range(self.rng.randint(0, 3))]
        events: list[Any] = [
            ftrace_event(at, pid=self.rng.choice((1, 1, None)), gpu_start=self.gpu_start())
            for at in times
        ]
        if self.chance(0.1):
            events.append(ftrace_event(None))
        if self.chance(0.1):
            events.append(pb.FtraceEvent(timestamp=5, pid=1))
        if self.chance(0.1):
            bulk = pb.FtraceEvent(timestamp=self.value(source) & UINT64, pid=1)
            bulk.thermal_exynos_acpm_bulk.timestamp = self.value(0) & UINT64
            events.append(bulk)
        sched = sorted(self.value(source) for _ in range(self.rng.randint(0, 3)))
        has_snapshot = clock is not None and self.chance(0.7)
        pair = (signed(self.value(source)), signed(self.value(6))) if has_snapshot else None
        bundle = ftrace(
            events,
            switches=sched if self.chance(0.5) else (),
            wakings=sched if self.chance(0.3) else (),
            clock=clock,
            snapshot=pair,
            cpu=self.rng.choice((0, 0, 1, 1 if not self.broken else 2000, None)),
            last_read=self.value(source) if self.broken and self.chance(0.2) else None,
            previous_end=self.value(source) if self.broken and self.chance(0.2) else None,
        )
        timed = self.timed(seq, machine) if self.chance(0.2) else {"seq": seq, "machine": machine}
        return packet(**timed, ftrace_events=bundle)

    def gpu_start(self) -> int | None:
        return self.value(5) if self.chance(0.15) else None

    def legacy(self, seq: int | None, machine: int | None) -> Packet:
        fields: dict[str, Any]
        kind = self.rng.randrange(6)
        if kind == 0:
            fields = {"thread_descriptor": thread_descriptor(self.rng.choice((None, self.small())))}
        elif kind == 1:
            fields = {"track_descriptor": thread_track(self.rng.choice((None, self.small())))}
        elif kind in (2, 3):
            fields = {"track_event": legacy(delta_us=self.small())}
        elif kind == 4:
            fields = {"track_event": legacy(absolute_us=self.small())}
        else:
            steps = [self.small() for _ in range(self.rng.randint(0, 4))]
            count = max(0, len(steps) + self.rng.choice((-1, 0, 0, 1)))
            fields = {"streaming_profile_packet": streaming_profile(steps, count)}
        timed = self.timed(seq, machine) if self.chance(0.5) else {"seq": seq, "machine": machine}
        needs = seq is not None and self.chance(0.3)
        cleared = self.chance(0.5 if kind < 2 else 0.05)
        return packet(**timed, cleared=cleared, needs_state=needs, **fields)

    def items(self, seq: int | None, machine: int | None) -> Packet:
        """Messages that have timestamps of their own inside."""
        count = range(self.rng.randint(0, 3))
        kind = self.rng.randrange(6)
        fields: dict[str, Any]
        if kind == 0:
            fields = {"android_log": android_log([self.value(1) for _ in count])}
        elif kind == 1:
            times = [signed(self.value(0)) for _ in count]
            fields = {"statsd_atom": statsd(times, self.rng.randint(0, 3))}
        elif kind == 2:
            rails = [None if self.chance(0.3) else self.value("ms") for _ in count]
            fields = {"power_rails": power_rails(rails)}
        elif kind == 3:
            dumps = [
                (
                    self.value(4) if self.chance(0.8) else None,
                    self.value(4) if self.chance(0.4) else None,
                )
                for _ in count
            ]
            fields = {"profile_packet": heap_dumps(dumps)}
        elif kind == 4:
            starts = [self.value(6) if self.chance(0.8) else None for _ in count]
            fields = {"process_tree": process_tree(starts)}
        else:
            ticks = [self.value(0) if self.chance(0.8) else None for _ in count]
            fields = {"etw_events": etw(ticks, self.rng.choice((0, 1, None)))}
        timed = self.timed(seq, machine)
        if self.chance(0.3):
            timed.update(ts=None, clock=None)
        return packet(**timed, **fields)

    def chrome(self, seq: int | None, machine: int | None) -> Packet:
        timed = self.timed(seq, machine)
        if self.chance(0.5):
            timed["clock"] = self.rng.choice((None, 3))
        if self.chance(0.5):
            return packet(**timed, chrome_events=pb.ChromeEventBundle())
        return packet(**timed, chrome_metadata=pb.ChromeMetadataPacket())

    def sync(self, seq: int | None, machine: int | None) -> Packet:
        clocks = self.rng.sample((1, 3, 5, 6, 6, 64), self.rng.randint(1, 3))
        rounds = [
            (
                {clock: self.value(("client", clock)) for clock in clocks if self.chance(0.9)},
                {clock: self.value(clock) for clock in clocks if self.chance(0.9)},
            )
            for _ in range(self.rng.randint(1, 4))
        ]
        return packet(
            seq=seq,
            machine=machine if self.chance(0.1) else 1,
            remote_clock_sync=remote_sync(rounds),
        )


def signed(value: int) -> int:
    return value - (1 << 64) if value >> 63 else value


def nasty_trace(rng: Random) -> bytes:
    return Nasty(rng).build()


def traces() -> st.SearchStrategy[bytes]:
    """Small traces full of trouble."""
    return st.randoms(use_true_random=False).map(nasty_trace)
