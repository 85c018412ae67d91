"""Small Perfetto traces from their packets: `trace`, `packet`, `snapshot`, ..."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb

REALTIME, MONOTONIC, MONOTONIC_COARSE, MONOTONIC_RAW, BOOTTIME, TRACE_FILE = 1, 3, 4, 5, 6, 11
UINT64 = (1 << 64) - 1
INT64_MAX = (1 << 63) - 1

Value = int | tuple[int, int] | tuple[int, int, bool]
Packet = Any  # pb.TracePacket, or the bytes of one


def trace(*packets: Packet) -> bytes:
    """A serialised Trace; a packet may be given as its bytes, to be malformed."""
    out = bytearray()
    for one in packets:
        content = one if isinstance(one, bytes) else one.SerializeToString()
        out += b"\x0a" + varint(len(content)) + content
    return bytes(out)


def varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def packet(
    ts: int | None = None,
    clock: int | None = None,
    seq: int | None = None,
    *,
    machine: int | None = None,
    cleared: bool = False,
    needs_state: bool = False,
    dropped: int = 0,
    default_clock: int | None = None,
    **fields: Any,
) -> Packet:
    """A TracePacket; `fields` are its other fields, messages included."""
    one = pb.TracePacket()
    if ts is not None:
        one.timestamp = ts & UINT64
    if clock is not None:
        one.timestamp_clock_id = clock
    if seq is not None:
        one.trusted_packet_sequence_id = seq
    if machine is not None:
        one.machine_id = machine
    flags = cleared | needs_state << 1
    if flags:
        one.sequence_flags = flags
    if dropped:
        one.previous_packet_dropped = dropped
    if default_clock is not None:
        one.trace_packet_defaults.timestamp_clock_id = default_clock
    for name, value in fields.items():
        if hasattr(value, "SerializeToString"):
            getattr(one, name).CopyFrom(value)
        else:
            setattr(one, name, value)
    return one


def event(ts: int | None = None, clock: int | None = None, seq: int | None = 1, **more: Any) -> Any:
    """A packet that is a track event."""
    return packet(ts, clock, seq, track_event=pb.TrackEvent(type=3), **more)


def clock_snapshot(
    clocks: Mapping[int, Value] | Iterable[tuple[int, Value]], primary: int | None = None
) -> Any:
    message = pb.ClockSnapshot()
    for clock, value in clocks.items() if isinstance(clocks, Mapping) else clocks:
        number, unit, incremental = (*as_tuple(value), None, None)[:3]
        one = message.clocks.add(clock_id=clock, timestamp=number & UINT64)
        if unit is not None:
            one.unit_multiplier_ns = unit
        if incremental is not None:
            one.is_incremental = incremental
    if primary is not None:
        # Written by hand: the classes refuse a value that the enum does not name.
        message.MergeFromString(b"\x10" + varint(primary))
    return message


def as_tuple(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)


def snapshot(
    clocks: Mapping[int, Value] | Iterable[tuple[int, Value]],
    seq: int | None = None,
    primary: int | None = None,
    **more: Any,
) -> Packet:
    """`snapshot({64: (value, unit, incremental), BOOTTIME: value})`; pairs may repeat a clock."""
    return packet(seq=seq, clock_snapshot=clock_snapshot(clocks, primary), **more)


def compressed(packets: Sequence[Packet], codec: str = "zlib") -> Packet:
    """One packet that holds others, by `zlib`, `gzip` or `zstd`."""
    content = trace(*packets)
    if codec == "zstd":
        return pb.TracePacket(zstd_compressed_packets=zstd(content))
    pack = gzip.compress if codec == "gzip" else zlib.compress
    return pb.TracePacket(compressed_packets=pack(content))


def zstd(data: bytes) -> bytes:
    return bytes(pa.compress(data, "zstd", asbytes=True))


def deltas(values: Sequence[int]) -> list[int]:
    return [(b - a) & UINT64 for a, b in zip((0, *values), values, strict=False)]


def ftrace(
    events: Sequence[int | Any] = (),
    *,
    switches: Sequence[int] = (),
    wakings: Sequence[int] = (),
    clock: int | None = None,
    snapshot: tuple[int, int] | None = None,
    cpu: int | None = 0,
    last_read: int | None = None,
    previous_end: int | None = None,
) -> Any:
    """A bundle; an event is its time or an FtraceEvent, scheduling is given by absolute times."""
    bundle = pb.FtraceEventBundle()
    if cpu is not None:
        bundle.cpu = cpu
    if clock is not None:
        bundle.ftrace_clock = clock
    if snapshot is not None:
        bundle.ftrace_timestamp, bundle.boot_timestamp = snapshot
    if last_read is not None:
        bundle.last_read_event_timestamp = last_read & UINT64
    if previous_end is not None:
        bundle.previous_bundle_end_timestamp = previous_end & UINT64
    for one in events:
        bundle.event.append(ftrace_event(one) if isinstance(one, int) else one)
    sched = bundle.compact_sched
    if switches or wakings:
        sched.intern_table.append("thread")
    for name, times in (("switch", switches), ("waking", wakings)):
        getattr(sched, f"{name}_timestamp").extend(deltas([t & UINT64 for t in times]))
    zeros = [0] * len(switches)
    for name in ("prev_state", "next_pid", "next_prio", "next_comm_index"):
        getattr(sched, f"switch_{name}").extend(zeros)
    zeros = [0] * len(wakings)
    for name in ("pid", "target_cpu", "prio", "comm_index"):
        getattr(sched, f"waking_{name}").extend(zeros)
    return bundle


def ftrace_event(ts: int | None = None, pid: int | None = 1, gpu_start: int | None = None) -> Any:
    one = pb.FtraceEvent()
    if ts is not None:
        one.timestamp = ts & UINT64
    if pid is not None:
        one.pid = pid
    if gpu_start is None:
        one.print.buf = "text"
    else:
        one.gpu_work_period.start_time_ns = gpu_start & UINT64
    return one


def service_event(*, flushed: bool = False, read: bool = False) -> Any:
    message = pb.TracingServiceEvent()
    if flushed:
        message.all_data_sources_flushed = True
    elif read:
        message.read_tracing_buffers_completed = True
    else:
        message.tracing_started = True
    return message


def remote_sync(rounds: Iterable[tuple[Mapping[int, int], Mapping[int, int]]]) -> Any:
    """Rounds of (client clocks, host clocks)."""
    message = pb.RemoteClockSync()
    for client, host in rounds:
        one = message.synced_clocks.add()
        one.client_clocks.CopyFrom(clock_snapshot(client))
        one.host_clocks.CopyFrom(clock_snapshot(host))
    return message


def thread_descriptor(reference_us: int | None = None) -> Any:
    message = pb.ThreadDescriptor(pid=1, tid=1)
    if reference_us is not None:
        message.reference_timestamp_us = reference_us
    return message


def thread_track(reference_us: int | None = None, uuid: int | None = 7) -> Any:
    return pb.TrackDescriptor(uuid=uuid, thread=thread_descriptor(reference_us))


def legacy(delta_us: int | None = None, absolute_us: int | None = None) -> Any:
    return pb.TrackEvent(type=3, timestamp_delta_us=delta_us, timestamp_absolute_us=absolute_us)


def streaming_profile(deltas_us: Sequence[int], samples: int | None = None) -> Any:
    count = len(deltas_us) if samples is None else samples
    return pb.StreamingProfilePacket(timestamp_delta_us=deltas_us, callstack_iid=[1] * count)


def statsd(times: Sequence[int], atoms: int | None = None) -> Any:
    message = pb.StatsdAtom(timestamp_nanos=times)
    for _ in range(len(times) if atoms is None else atoms):
        message.atom.add()
    return message


def power_rails(times_ms: Sequence[int | None]) -> Any:
    message = pb.PowerRails()
    for at in times_ms:
        one = message.energy_data.add(index=0, energy=1)
        if at is not None:
            one.timestamp_ms = at & UINT64
    return message


def heap_dumps(dumps: Sequence[tuple[int | None, int | None]]) -> Any:
    """Dumps of (timestamp, start_timestamp)."""
    message = pb.ProfilePacket()
    for at, start in dumps:
        one = message.process_dumps.add(pid=1)
        if at is not None:
            one.timestamp = at & UINT64
        if start is not None:
            one.start_timestamp = start & UINT64
    return message


def process_tree(starts: Sequence[int | None]) -> Any:
    message = pb.ProcessTree()
    for number, start in enumerate(starts):
        one = message.processes.add(pid=number + 1, cmdline=["program"])
        if start is not None:
            one.process_start_from_boot = start & UINT64
    return message


def android_log(times: Sequence[int]) -> Any:
    message = pb.AndroidLogPacket()
    for at in times:
        message.events.add(timestamp=at & UINT64)
    return message


def etw(times: Sequence[int | None], cpu: int | None = 0) -> Any:
    message = pb.EtwTraceEventBundle(cpu=cpu)
    for at in times:
        message.event.add(timestamp=None if at is None else at & UINT64)
    return message
