"""Make demo.pftrace: 1.4 s of a map application that drops a frame, recorded in six clocks.

    python demo/make_demo.py [-o demo/demo.pftrace]

The output is the same bytes every time. Needs only the `perfetto` package (its protobuf classes).

Who writes what, and in which clock:

    traced          snapshots of REALTIME, MONOTONIC and BOOTTIME every 100 ms; trace time BOOTTIME
    UI thread       frames, in MONOTONIC (default clock of its sequence)
    render thread   draw calls, as deltas in us: incremental clock 64 of its own sequence
    GPU             its queue, in the global clock com.example.gpu, which gains 38 ppm
    ftrace          compact sched, in BOOTTIME
    logd            the log, in REALTIME, which NTP sets back by 1.2 s at 1.05 s: it is then no
                    source any more, and later lines of the log stay unresolved
    camera          two events in clock 777, which is in no snapshot: unresolved too
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import (
    AndroidLogPriority,
    Trace,
    TracePacket,
    TrackEvent,
)

US = 1_000
MS = 1_000_000
S = 1_000_000_000

REALTIME, MONOTONIC, BOOTTIME = 1, 3, 6
RENDER_CLOCK = 64
UNKNOWN_CLOCK = 777


def named_clock(name: str) -> int:
    """Id of a named global clock: FNV-1a of the name, top bit set."""
    value = 0x811C9DC5
    for byte in name.encode():
        value = ((value ^ byte) * 0x01000193) & 0xFFFF_FFFF
    return value | 0x8000_0000


GPU_CLOCK = named_clock("com.example.gpu")

# Sequences (one writer each), threads and tracks.
TRACED, UI, RENDER, GPU, FTRACE, LOGD, CAMERA = range(1, 8)
PID, UI_TID, RENDER_TID, TILE_TID = 4201, 4201, 4217, 4223
CAMERA_PID = 911
PROCESS_TRACK, UI_TRACK, RENDER_TRACK, GPU_TRACK, CAMERA_TRACK = range(0x7A01, 0x7A06)

# The clocks, as functions of ns since the start of the trace. The phone has been up for 5 h 12 min
# and slept for 1 h 47 min of that, during which MONOTONIC did not advance.
LENGTH = 1_400 * MS
STEP_AT = 1_050 * MS
BOOT_0 = 18_723 * S + 418_307_112
SLEPT = 6_431 * S + 77_520_903
WALL_0 = 1_768_469_400 * S  # 2026-01-15T09:30:00Z
GPU_0 = 40_112 * MS
GPU_PPM = 38

FRAME = 16_666_667
SNAPSHOTS_EVERY = 100 * MS
SLOW_FRAME = 37  # its tiles come late


def boot(t: int) -> int:
    return BOOT_0 + t


def mono(t: int) -> int:
    return BOOT_0 - SLEPT + t


def wall(t: int) -> int:
    return WALL_0 + t - (1_200 * MS if t >= STEP_AT else 0)


def gpu(t: int) -> int:
    return GPU_0 + t + t * GPU_PPM // 1_000_000


class Recording:
    """Packets and when they were written; the file has them in that order."""

    def __init__(self) -> None:
        self._packets: list[tuple[int, int, TracePacket]] = []

    def packet(self, written: int, sequence: int, **fields: Any) -> TracePacket:
        packet = TracePacket(trusted_packet_sequence_id=sequence, **fields)
        self._packets.append((written, len(self._packets), packet))
        return packet

    def in_order(self) -> Iterator[TracePacket]:
        for _, _, packet in sorted(self._packets, key=lambda entry: entry[:2]):
            yield packet


class Writer:
    """One sequence of track events: its first packet opens the incremental state."""

    def __init__(
        self, out: Recording, sequence: int, clock: int, read: Callable[[int], int]
    ) -> None:
        self._out, self._sequence, self._read = out, sequence, read
        first = out.packet(0, sequence, sequence_flags=TracePacket.SEQ_INCREMENTAL_STATE_CLEARED)
        first.trace_packet_defaults.timestamp_clock_id = clock

    def event(self, t: int, track: int, kind: int, name: str = "") -> None:
        packet = self._out.packet(
            t,
            self._sequence,
            timestamp=self._read(t),
            sequence_flags=TracePacket.SEQ_NEEDS_INCREMENTAL_STATE,
        )
        event = packet.track_event
        event.type = kind
        event.track_uuid = track
        if name:
            event.name = name
            event.categories.append("map")

    def slice(self, start: int, end: int, track: int, name: str) -> None:
        self.event(start, track, TrackEvent.TYPE_SLICE_BEGIN, name)
        self.event(end, track, TrackEvent.TYPE_SLICE_END)


def snapshots(out: Recording) -> None:
    """Snapshots of the builtin clocks, and of the GPU's clock with BOOTTIME."""
    for t in range(0, LENGTH + 1, SNAPSHOTS_EVERY):
        shot = out.packet(t, TRACED).clock_snapshot
        shot.primary_trace_clock = BOOTTIME
        for clock, read in ((BOOTTIME, boot), (MONOTONIC, mono), (REALTIME, wall)):
            shot.clocks.add(clock_id=clock, timestamp=read(t))
        shot = out.packet(t, GPU).clock_snapshot
        for clock, read in ((GPU_CLOCK, gpu), (BOOTTIME, boot)):
            shot.clocks.add(clock_id=clock, timestamp=read(t))


def names(out: Recording) -> None:
    """Names of processes, threads and tracks, for a viewer."""
    tree = out.packet(0, TRACED, timestamp=boot(0)).process_tree
    for pid, cmdline in ((PID, "com.example.map"), (CAMERA_PID, "camera.provider")):
        tree.processes.add(pid=pid, ppid=1, cmdline=[cmdline])
    for tid, name in ((UI_TID, "map.ui"), (RENDER_TID, "map.render"), (TILE_TID, "map.tiles")):
        tree.threads.add(tid=tid, tgid=PID, name=name)

    track = out.packet(0, TRACED).track_descriptor
    track.uuid = PROCESS_TRACK
    track.process.pid = PID
    track.process.process_name = "com.example.map"
    for uuid, tid, name in ((UI_TRACK, UI_TID, "map.ui"), (RENDER_TRACK, RENDER_TID, "map.render")):
        track = out.packet(0, TRACED).track_descriptor
        track.uuid = uuid
        track.thread.pid = PID
        track.thread.tid = tid
        track.thread.thread_name = name
    track = out.packet(0, TRACED).track_descriptor
    track.uuid = GPU_TRACK
    track.parent_uuid = PROCESS_TRACK
    track.name = "GPU queue"
    track = out.packet(0, TRACED).track_descriptor
    track.uuid = CAMERA_TRACK
    track.process.pid = CAMERA_PID
    track.process.process_name = "camera.provider"


class RenderClock:
    """Clock 64 of the render thread: microseconds since the last packet."""

    def __init__(self, out: Recording, t: int) -> None:
        self._last_us = mono(t) // US
        shot = out.packet(t, RENDER).clock_snapshot
        shot.clocks.add(
            clock_id=RENDER_CLOCK,
            timestamp=self._last_us,
            is_incremental=True,
            unit_multiplier_ns=US,
        )
        shot.clocks.add(clock_id=MONOTONIC, timestamp=self._last_us * US)

    def __call__(self, t: int) -> int:
        now_us = mono(t) // US
        delta, self._last_us = now_us - self._last_us, now_us
        return delta


class Sched:
    """An ftrace bundle for each CPU and period, in the compact form."""

    def __init__(self, out: Recording) -> None:
        self._out = out
        self._switches: dict[int, list[tuple[int, int, str]]] = {0: [], 1: [], 2: []}
        self._wakings: dict[int, list[tuple[int, int, str, int]]] = {0: [], 1: [], 2: []}

    def run(self, cpu: int, start: int, end: int, tid: int, comm: str, waker: int = 0) -> None:
        """`tid` is woken from CPU `waker`, runs from start to end on `cpu`, which then idles."""
        self._wakings[waker].append((start - 31 * US, tid, comm, cpu))
        self._switches[cpu].append((start, tid, comm))
        self._switches[cpu].append((end, 0, "swapper"))

    def flush(self, t: int) -> None:
        """Write what was collected so far, as when the kernel's buffers are emptied."""
        for cpu in self._switches:
            switches, self._switches[cpu] = sorted(self._switches[cpu]), []
            wakings, self._wakings[cpu] = sorted(self._wakings[cpu]), []
            if not switches and not wakings:
                continue
            bundle = self._out.packet(t, FTRACE).ftrace_events
            bundle.cpu = cpu
            compact = bundle.compact_sched
            comms = sorted({row[2] for row in [*switches, *wakings]})
            compact.intern_table.extend(comms)
            last = 0
            for time, tid, comm in switches:
                compact.switch_timestamp.append(boot(time) - last)
                compact.switch_prev_state.append(1)
                compact.switch_next_pid.append(tid)
                compact.switch_next_prio.append(120)
                compact.switch_next_comm_index.append(comms.index(comm))
                last = boot(time)
            last = 0
            for time, tid, comm, target in wakings:
                compact.waking_timestamp.append(boot(time) - last)
                compact.waking_pid.append(tid)
                compact.waking_target_cpu.append(target)
                compact.waking_prio.append(120)
                compact.waking_comm_index.append(comms.index(comm))
                compact.waking_common_flags.append(1)
                last = boot(time)


def log(out: Recording) -> None:
    """Lines of the log, a packet every 200 ms."""
    lines = [
        (42 * MS, "map.ui", "camera at 52.5163,13.3777 zoom 15"),
        (118 * MS, "map.tiles", "17 tiles from the cache"),
        (391 * MS, "map.tiles", "2 tiles missing, asking the network"),
        (638 * MS, "map.tiles", "tile 15/17603/10747 late"),
        (652 * MS, "map.ui", "frame 37 dropped"),
        (903 * MS, "map.tiles", "19 tiles ready"),
        (1_052 * MS, "ntpd", "clock stepped by -1.200 s"),
        (1_130 * MS, "map.ui", "camera at 52.5206,13.4095 zoom 15"),
        (1_311 * MS, "map.ui", "idle"),
    ]
    for flush in range(200 * MS, LENGTH + 1, 200 * MS):
        batch = [line for line in lines if flush - 200 * MS <= line[0] < flush]
        if not batch:
            continue
        # Just before the snapshot of that moment, as from a service that flushes first.
        packet = out.packet(flush - 1, LOGD, timestamp=boot(flush - 1))
        for t, tag, message in batch:
            packet.android_log.events.add(
                log_id=0,
                pid=PID,
                tid=UI_TID,
                timestamp=wall(t),
                prio=AndroidLogPriority.PRIO_INFO,
                tag=tag,
                message=message,
            )


def frames(out: Recording) -> None:
    """The work of UI thread, render thread and GPU, frame by frame."""
    noise = random.Random(1104)

    def about(us: int) -> int:
        return int(us * US * (0.85 + 0.3 * noise.random()))

    ui = Writer(out, UI, MONOTONIC, mono)
    render = Writer(out, RENDER, RENDER_CLOCK, RenderClock(out, 0))
    gpu_queue = Writer(out, GPU, GPU_CLOCK, gpu)
    sched = Sched(out)
    submit = queued = 0
    for number, start in enumerate(range(8 * MS, LENGTH - 3 * FRAME, FRAME)):
        begin = start + about(120)
        layout = begin + about(900)
        done = layout + about(2_100)
        ui.event(begin, UI_TRACK, TrackEvent.TYPE_SLICE_BEGIN, f"frame {number}")
        ui.slice(begin + about(40), layout, UI_TRACK, "layout")
        ui.event(done, UI_TRACK, TrackEvent.TYPE_SLICE_END)
        sched.run(0, begin - 24 * US, done + 18 * US, UI_TID, "map.ui")

        draw = max(done + about(150), submit + 80 * US)  # one at a time
        if number == SLOW_FRAME:
            sched.run(2, draw, draw + 14 * MS, TILE_TID, "map.tiles", waker=0)
            draw += 14 * MS + about(200)
        submit = draw + about(3_200)
        render.slice(draw, submit, RENDER_TRACK, f"draw {number}")
        sched.run(1, draw - 22 * US, submit + 15 * US, RENDER_TID, "map.render")

        tiles = max(submit + about(260), queued)
        labels = tiles + about(3_900)
        queued = labels + about(1_300)
        gpu_queue.slice(tiles, labels, GPU_TRACK, f"tiles {number}")
        gpu_queue.slice(labels, queued, GPU_TRACK, f"labels {number}")
        if number % 12 == 11:
            sched.flush(start + FRAME - 1)
    sched.flush(LENGTH)


def camera(out: Recording) -> None:
    """Two events in a clock that is in no snapshot."""
    for t, name in ((500 * MS, "exposure start"), (520 * MS, "exposure end")):
        packet = out.packet(
            t, CAMERA, timestamp=7_700_000 + t // US, timestamp_clock_id=UNKNOWN_CLOCK
        )
        packet.track_event.type = TrackEvent.TYPE_INSTANT
        packet.track_event.track_uuid = CAMERA_TRACK
        packet.track_event.name = name


def make() -> bytes:
    """Return the trace as the bytes of its file."""
    out = Recording()
    snapshots(out)
    names(out)
    frames(out)
    log(out)
    camera(out)
    data: bytes = Trace(packet=list(out.in_order())).SerializeToString(deterministic=True)
    return data


def main() -> None:
    parser = argparse.ArgumentParser(description="Make the demo trace.")
    parser.add_argument(
        "-o", "--output", type=Path, default=Path(__file__).with_name("demo.pftrace")
    )
    output = parser.parse_args().output
    data = make()
    output.write_bytes(data)
    print(f"{output}: {len(data):,} bytes")


if __name__ == "__main__":
    main()
