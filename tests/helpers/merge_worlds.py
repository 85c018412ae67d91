"""Files of several machines, made with a truth that is known."""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from building import BOOTTIME, MONOTONIC, event, snapshot, trace
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace as Proto

S = 1_000_000_000

BOOTS = 3_000_000_000
"""BOOTTIME where a trace begins, unless told otherwise."""

_REALTIME = 1_700_000_000_000_000_000
_EXTENSION = 9876


def trace_of(
    path: Path,
    start_ns: int = BOOTS,
    *,
    kernel: str = "",
    version: str = "",
    boot_id: bytes = b"",
    later_ns: int = 0,
    booted_ns: int = 0,
    set_ns: int = 0,
) -> Path:
    """A Perfetto trace of ten seconds: snapshots of BOOTTIME and REALTIME, and an event each.

    later_ns: how much later it was recorded. booted_ns: how much later its machine was booted.
    set_ns: by how much its wall clock is set in the middle.
    """
    proto = Proto()
    if kernel:
        info = proto.packet.add().system_info
        info.utsname.release = kernel
        info.utsname.version = version
        info.num_cpus = 4
    for second in range(11):
        at = start_ns + later_ns + second * 1_000_000_000
        packet = proto.packet.add()
        packet.timestamp = at
        wall_ns = _REALTIME + at + booted_ns + (set_ns if second > 5 else 0)
        for clock, value in ((6, at), (1, wall_ns)):
            one = packet.clock_snapshot.clocks.add()
            one.clock_id, one.timestamp = clock, value
        event = proto.packet.add()
        event.timestamp = at
        event.trusted_packet_sequence_id = 1
        event.track_event.type = 3
    data = proto.SerializeToString()
    if boot_id:
        data = _packet_with(bytes([9 << 3 | 2, len(boot_id)]) + boot_id) + data
    path.write_bytes(data)
    return path


def _packet_with(extension: bytes) -> bytes:
    packet = _varint(_EXTENSION << 3 | 2) + _varint(len(extension)) + extension
    return b"\x0a" + _varint(len(packet)) + packet


def _varint(value: int) -> bytes:
    out = b""
    while value > 0x7F:
        out += bytes([value & 0x7F | 0x80])
        value >>= 7
    return out + bytes([value])


def talk(folder: Path, early_us: int = 0, late: int = 0) -> tuple[Path, Path]:
    """Two files that send each other 40 messages each way, by id.

    Number 20 is heard too early by `early_us`. Or answers begin with number `late`, and all of
    them are heard too early.
    """
    asked = [1_000_000 + 10_007 * k for k in range(40)]  # no steps to stand on
    heard = [at + 300 - (early_us if k == 20 and not late else 0) for k, at in enumerate(asked)]
    paths = folder / "a.json", folder / "b.json"
    events = (
        [("ask", asked), ("hear_back", [at + 900 - (early_us if late else 0) for at in asked])],
        [("hear", heard), ("answer", [at + 600 for at in asked])],
    )
    for path, kinds in zip(paths, events, strict=True):
        made = [
            {"ph": "X", "name": name, "ts": at, "dur": 1, "pid": 1, "tid": 1, "args": {"id": k}}
            for name, times in kinds
            for k, at in enumerate(times)
            if name in ("ask", "hear") or k >= late
        ]
        path.write_text(json.dumps(made))
    return paths


class Ranks(NamedTuple):
    """Ranks of one job: a rank's clock reads true + offset + drift * true.

    paths: of their files. offsets_ns, drifts: of their clocks. firsts_ns: their first event each.
    """

    paths: list[Path]
    offsets_ns: list[int]
    drifts: list[float]
    firsts_ns: list[int]

    def on_first(self, number: int, times: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """What the first rank's clock reads where another's reads `times`."""
        true = (times - self.offsets_ns[number]) / (1 + self.drifts[number])
        return np.round(true * (1 + self.drifts[0])).astype(np.int64) + self.offsets_ns[0]

    def by_minimum(self, number: int, times: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """The same by who takes the files to begin at one instant."""
        return times - self.firsts_ns[number] + self.firsts_ns[0]


def kineto_ranks(
    folder: Path, seed: int, *, ranks: int = 4, jitter: bool = True, steps: int = 600
) -> Ranks:
    """Ranks that meet in an all-reduce every 50 ms, each from its own start on, for 30 s.

    They arrive with a lognormal jitter of median 300 us, and leave together within 5 us.
    """
    random = np.random.default_rng(seed)
    waits = (
        random.lognormal(np.log(300e3), 1, (steps, ranks)) if jitter else np.full((steps, 1), 3e5)
    )
    begins = np.cumsum(50e6 + (random.normal(0, 2e6, steps) if jitter else 0)) + 1e9
    arrivals = begins[:, None] + np.broadcast_to(waits, (steps, ranks))
    leaves = (
        arrivals.max(axis=1)[:, None] + 400e3 + random.uniform(-5e3, 5e3, (steps, ranks)) * jitter
    )
    world = Ranks([], [], [], [])
    for rank in range(ranks):
        offset, drift = int(random.integers(-50_000_000, 50_000_000)), random.uniform(-30e-6, 30e-6)
        first = int(random.integers(0, 40))
        events = [
            _all_reduce(*((1 + drift) * np.array([arrivals[k, rank], leaves[k, rank]]) + offset))
            for k in range(first, steps)
        ]
        path = folder / f"rank{rank}.json"
        path.write_text(_kineto(rank, events))
        world.paths.append(path)
        world.offsets_ns.append(offset)
        world.drifts.append(drift)
        world.firsts_ns.append(round(json.loads(events[0])["ts"] * 1e3))
    return world


def set_back(path: Path, back_ns: float) -> Path:
    """Set the clock of a rank of `kineto_ranks` back in the middle of its file."""
    head, *lines, end = path.read_text().splitlines()
    for k in range(len(lines) // 2, len(lines)):
        event = json.loads(lines[k].removesuffix(","))
        event["ts"] = round(event["ts"] - back_ns / 1e3, 3)
        lines[k] = json.dumps(event) + "," * lines[k].endswith(",")
    path.write_text("\n".join([head, *lines, end]) + "\n")
    return path


def _kineto(rank: int, events: list[str]) -> str:
    head = f'{{"schemaVersion": 1, "distributedInfo": {{"rank": {rank}}}, "traceEvents": [\n'
    return head + ",\n".join(events) + "\n]}\n"


def _all_reduce(start_ns: float, end_ns: float) -> str:
    args = (
        '{"Collective name": "allreduce", "In msg nelems": 64, "dtype": "Float", "Group size": 4}'
    )
    return (
        '{"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce", "pid": 0, "tid": 7, '
        f'"ts": {start_ns / 1e3:.3f}, "dur": {(end_ns - start_ns) / 1e3:.3f}, "args": {args}}}'
    )


def kineto_of_one_rank(path: Path) -> Path:
    """Three steps of one rank, with four collectives each, of which one waits for nobody."""
    events = []
    for step in range(3):
        begin = 7_000_000.0 + 200_000 * step
        events.append(_slice(f"ProfilerStep#{step}", "user_annotation", begin, 200_000))
        for k, (name, after, size) in enumerate(
            [
                ("broadcast", 5_000, 8),
                ("allreduce", 60_000, 64),
                ("allreduce", 90_000, 128),
                ("_reduce_scatter_base", 150_000, 64),
            ]
        ):
            kernel = _slice(f"nccl {k}", "kernel", begin + after, 2_000 + 100 * k)
            kernel["args"] = {"Collective name": name, "In msg nelems": size, "dtype": "Float"}
            events.append(kernel)
            events.append(_slice("gemm", "kernel", begin + after + 10_000, 3_000, tid=9))
    path.write_text(json.dumps({"traceEvents": events}))
    return path


def _slice(name: str, category: str, ts: float, dur: float, tid: int = 7) -> dict[str, object]:
    return {"ph": "X", "name": name, "cat": category, "pid": 0, "tid": tid, "ts": ts, "dur": dur}


def two_recordings(folder):
    """A recording on MONOTONIC and BOOTTIME, which drift apart, and a JSON trace."""
    packets = []
    for second in range(8):
        packets.append(snapshot({MONOTONIC: second * S, BOOTTIME: 5 * S + second * (S + 40_000)}))
        for k in range(200):
            one = event(second * S + k * 5_000_003, MONOTONIC, 1 + k % 3)
            one.track_event.type = 1 + k // 3 % 2
            one.track_event.track_uuid = 1 + k % 3
            one.track_event.name = f"work {k}"
            packets.append(one)
    (folder / "a.pftrace").write_bytes(trace(*packets))
    events = [
        {"ph": "X", "name": "load", "ts": 1000 + 100 * k, "dur": 10, "pid": 1, "tid": 1}
        for k in range(50)
    ]
    (folder / "b.json").write_text(json.dumps(events))
    sync = "a.pftrace:BOOTTIME=b.json:0xf7110476+5s+-1ms"
    return [folder / "a.pftrace", folder / "b.json"], {"sync": [sync]}
