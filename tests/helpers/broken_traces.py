"""A healthy recording of several producers, kinds of trouble with its clocks, and healthy oddities.

`KINDS` has what the first finding has to say of each kind of trouble, `CONTROLS` what has to have
none. `python tests/helpers/broken_traces.py` prints how the doctor does.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable
from random import Random
from typing import Any, NamedTuple

import numpy as np
from building import (
    BOOTTIME,
    MONOTONIC,
    MONOTONIC_RAW,
    REALTIME,
    android_log,
    packet,
    snapshot,
    thread_descriptor,
    trace,
)
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb
from scheduling import Switch, bundle

S = 1_000_000_000
MS = 1_000_000
APP, GPU, SENSOR, FTRACE, LOGS = range(2, 7)
SENSOR_CLOCK = 0x9B02C3D4
TID = 100
START = 5000 * S
SLEPT = 100 * S
WALL = 1_760_000_000 * S - START

Stamp = Callable[[int], int]


class Recording:
    """What a machine wrote in some seconds; all times are those of BOOTTIME.

    Attributes:
        snapshots: when the recorder takes them.
        reads: by clock, what it reads.
        clocks, stamps: by producer, which clock its events name, and what they have from it.
        kept: by producer, how long what it writes is kept until it stands in the file.
        skip: of the scheduler's switches, which part is lost.
        order: what the file's order follows: time and packet.
    """

    def __init__(self, random: Random, seconds: int = 20) -> None:
        self.random = random
        self.seconds = seconds
        self.snapshots = [START + k * S for k in range(seconds + 1)]
        self.reads: dict[int, Stamp] = {
            BOOTTIME: lambda t: t,
            MONOTONIC: lambda t: t - SLEPT,
            MONOTONIC_RAW: lambda t: t - SLEPT + (t - START) // 100_000,
            REALTIME: lambda t: t + WALL,
            SENSOR_CLOCK: lambda t: t - 4000 * S + (t - START) // 50_000,
        }
        self.clocks = {
            APP: MONOTONIC,
            GPU: 64,
            SENSOR: SENSOR_CLOCK,
            FTRACE: BOOTTIME,
            LOGS: REALTIME,
        }
        self.gpu: Stamp = lambda t: t - 4900 * S
        self.stamps: dict[int, Stamp] = {
            APP: lambda t: self.reads[MONOTONIC](t),
            GPU: lambda t: self.gpu(t),
            SENSOR: lambda t: self.reads[SENSOR_CLOCK](t),
            FTRACE: lambda t: t,
            LOGS: lambda t: self.reads[REALTIME](t),
        }
        self.kept: dict[int, Stamp] = {}
        self.written_last = False
        self.lost = 0.0
        self.extra: list[tuple[int, Any]] = []

    def shift(self, producer: int, by: int) -> None:
        """Let a producer's clock be ahead of what it names."""
        stamp = self.stamps[producer]
        self.stamps[producer] = lambda t: stamp(t) + by

    def bytes(self) -> bytes:
        """The trace."""
        parts = sorted(self._parts(), key=lambda part: part[0])
        return trace(*[one for _, one in parts])

    def _parts(self) -> Iterable[tuple[int, Any]]:
        yield from self.extra
        yield START - 2, packet(seq=APP, track_descriptor=_thread_track())
        for at in self.snapshots:
            pairs = {clock: read(at) for clock, read in self.reads.items()}
            end = START + (self.seconds + 1) * S
            yield (end if self.written_last else at), snapshot(pairs, 1, primary=BOOTTIME)
        for at in self.snapshots[:: max(1, len(self.snapshots) // 4)]:
            pairs = {64: self.gpu(at), BOOTTIME: at}
            yield self._place(GPU, at), snapshot(pairs, GPU)
        yield from self._runs()
        for producer, n in ((GPU, 8), (SENSOR, 10), (LOGS, 2)):
            for _ in range(n * self.seconds):
                at = START + self.random.randrange(self.seconds * S)
                yield self._place(producer, at), self._event(producer, at)

    def _place(self, producer: int, at: int) -> int:
        return self.kept.get(producer, lambda t: t)(at)

    def _event(self, producer: int, at: int) -> Any:
        if producer == LOGS:
            return packet(at, BOOTTIME, LOGS, android_log=android_log([self.stamps[LOGS](at)]))
        return packet(
            self.stamps[producer](at),
            self.clocks[producer],
            producer,
            track_event=pb.TrackEvent(type=3, track_uuid=producer),
        )

    def _runs(self) -> Iterable[tuple[int, Any]]:
        """A thread runs some 30 times a second, and writes a slice each time."""
        at = START + 10 * MS
        while at < START + self.seconds * S - 50 * MS:
            length = self.random.randrange(2 * MS, 8 * MS)
            for when, before, after in ((at, 0, TID), (at + length, TID, 0)):
                if self.random.random() >= self.lost:
                    one = Switch(self.stamps[FTRACE](when), 0, before, after)
                    yield self._place(FTRACE, when), bundle(0, [one], compact=True)
            for when, kind in ((at + 20_000, 1), (at + length - 20_000, 2)):
                event = pb.TrackEvent(
                    type=kind, track_uuid=APP, name="frame" if kind == 1 else None
                )
                made = packet(self.stamps[APP](when), self.clocks[APP], APP, track_event=event)
                yield self._place(APP, when), made
            at += length + self.random.randrange(20 * MS, 40 * MS)


def _thread_track() -> Any:
    track = pb.TrackDescriptor(uuid=APP, thread=thread_descriptor())
    track.thread.pid = track.thread.tid = TID
    return track


class Kind(NamedTuple):
    """A kind of trouble: what makes it, and what the first finding has to be and to say."""

    make: Callable[[Recording], None]
    code: str
    says: str


def _shift(producer: int, by: int) -> Callable[[Recording], None]:
    return lambda r: r.shift(producer, by)


def _reads(producer: int, names: int, reads: int) -> Callable[[Recording], None]:
    """A producer names one clock, and reads another."""

    def make(r: Recording) -> None:
        r.clocks[producer] = names
        r.stamps[producer] = lambda t: r.reads[reads](t)

    return make


def _slept(by: int, make: Callable[[Recording], None]) -> Callable[[Recording], None]:
    """The machine has slept for so long."""

    def made(r: Recording) -> None:
        r.reads[MONOTONIC] = lambda t: t - by
        r.reads[MONOTONIC_RAW] = lambda t: t - by + (t - START) // 100_000
        make(r)

    return made


def _zeros(n: int) -> Callable[[Recording], None]:
    def make(r: Recording) -> None:
        for k in range(n):
            event = pb.TrackEvent(type=3, track_uuid=APP)
            r.extra.append((START + (k + 1) * S, packet(0, MONOTONIC, APP, track_event=event)))

    return make


def _gpu_ticks(factor: float) -> Callable[[Recording], None]:
    def make(r: Recording) -> None:
        r.stamps[GPU] = lambda t: int(r.gpu(t) / factor)

    return make


def _unit(factor: int) -> Callable[[Recording], None]:
    def make(r: Recording) -> None:
        r.stamps[SENSOR] = lambda t: r.reads[SENSOR_CLOCK](t) // factor

    return make


def _rounded(producer: int, rounded: Stamp) -> Callable[[Recording], None]:
    """A producer's readings are rounded."""

    def make(r: Recording) -> None:
        stamp = r.stamps[producer]
        # The kernel's clocks are read one after another.
        reads = r.reads[MONOTONIC]
        r.reads[MONOTONIC] = lambda t: reads(t) + 180
        r.stamps[producer] = lambda t: rounded(stamp(t) + 180)

    return make


def _float32(ns: int, unit: int = 1) -> int:
    return int(float(np.float32(ns / unit)) * unit)


def _never_set(default: int) -> Callable[[Recording], None]:
    """The wall clock began with a default when the machine was booted."""

    def make(r: Recording) -> None:
        facts = pb.SystemInfo(num_cpus=4)
        facts.utsname.sysname, facts.utsname.release = "Linux", "6.1.21-v8+"
        facts.utsname.version = "#1642 SMP PREEMPT Mon Apr  3 17:24:16 BST 2023"
        r.extra.append((START - 5, packet(seq=1, system_info=facts)))
        r.reads[REALTIME] = lambda t: t + default

    return make


OTHER = "events-of-another-clock"
OFF = "threads-off-cpu"
FAR = "events-far-from-trace"

KINDS: dict[str, Kind] = {
    **{
        f"app_ahead_{name}": Kind(_shift(APP, by), OTHER, f"ahead.*{says}")
        for name, by, says in (
            ("tai", 37 * S, "TAI and UTC"),
            ("gps", 18 * S, "GPS and UTC"),
            ("wrap32", 1 << 32, r"2\^32 ns"),
            ("zone_1h", 3600 * S, "zone of 1 h"),
            ("zone_nepal", 20_700 * S, "zone of 5:45 h"),
            ("2_s", 2 * S, "of their"),
            ("300_ms", 300 * MS, "of their"),
        )
    },
    **{
        f"sensor_ahead_{name}": Kind(_shift(SENSOR, by), OTHER, "ahead")
        for name, by in (("500_ms", 500 * MS), ("11_s", 11 * S), ("3_d", 3 * 86_400 * S))
    },
    **{
        f"ftrace_behind_{name}": Kind(_shift(FTRACE, -by), OFF, says)
        for name, by, says in (
            ("100_ms", 100 * MS, "100 ms"),
            ("500_ms", 500 * MS, "500 ms"),
            ("5_s", 5 * S, "5 s"),
        )
    },
    **{
        f"ftrace_behind_{seconds}_s": Kind(
            _shift(FTRACE, -seconds * S), OFF, f"end .* before.*: {says}"
        )
        for seconds, says in ((80, "1 min 20 s apart"), (300, "5 min 0 s apart"))
    },
    **{
        f"app_rounded_to_{name}": Kind(_rounded(APP, rounded), "coarse-clock", says)
        for name, rounded, says in (
            ("ms", lambda t: t // MS * MS, "sequence 2: .* whole steps only, 1 ms"),
            ("10_ms", lambda t: t // (10 * MS) * 10 * MS, "whole steps only, 10 ms"),
            ("100_us", lambda t: round(t / 100_000) * 100_000, "whole steps only, 100 us"),
            ("float32_of_ns", _float32, "32-bit floats only, 524 us"),
            ("float32_of_us", lambda t: _float32(t, 1000), "32-bit floats only, 512 us"),
            ("float32_of_s", lambda t: _float32(t, S), "32-bit floats only, 488 us"),
        )
    },
    **{
        f"wall_clock_since_{year}": Kind(_never_set(ns), "wall-clock-unset", f"it reads {year}")
        for year, ns in ((1970, 300 * S), (2000, 946_684_800 * S), (2023, 1_675_000_000 * S))
    },
    "app_behind_700_ms": Kind(_shift(APP, -700 * MS), OFF, "700 ms"),
    "app_says_boottime_slept_100_s": Kind(_reads(APP, BOOTTIME, MONOTONIC), OTHER, "MONOTONIC"),
    "app_says_boottime_slept_4_s": Kind(
        _slept(4 * S, _reads(APP, BOOTTIME, MONOTONIC)), OTHER, "MONOTONIC|4 s"
    ),
    "app_says_monotonic_slept_100_s": Kind(_reads(APP, MONOTONIC, BOOTTIME), OTHER, "BOOTTIME"),
    "app_says_monotonic_slept_3_s": Kind(
        _slept(3 * S, _reads(APP, MONOTONIC, BOOTTIME)), OTHER, "BOOTTIME"
    ),
    "app_says_monotonic_is_unix": Kind(_reads(APP, MONOTONIC, REALTIME), OTHER, "REALTIME"),
    "sensor_says_boottime_is_monotonic": Kind(
        _reads(SENSOR, BOOTTIME, MONOTONIC), OTHER, "MONOTONIC"
    ),
    "logs_zone_-8h": Kind(_shift(LOGS, -28_800 * S), OTHER, "zone of 8 h"),
    "logs_zone_2h": Kind(_shift(LOGS, 7_200 * S), OTHER, "zone of 2 h"),
    "logs_in_boottime": Kind(_reads(LOGS, REALTIME, BOOTTIME), OTHER, "BOOTTIME"),
    "logs_in_gps_time": Kind(_shift(LOGS, 18 * S), OTHER, "GPS"),
    "one_event_at_0": Kind(_zeros(1), "odd-times", "1 event at 0"),
    "five_events_at_0": Kind(_zeros(5), "odd-times", "5 events at 0"),
    "gpu_ticks_19_2_mhz": Kind(_gpu_ticks(52.0833), FAR, "52"),
    "gpu_ticks_24_mhz": Kind(_gpu_ticks(41.6667), FAR, r"41\.[67]"),
    "gpu_ticks_100_mhz": Kind(_gpu_ticks(10), FAR, r" (10|9\.99) times"),
    "sensor_in_us": Kind(_unit(1_000), FAR, "in us"),
    "sensor_in_ms": Kind(_unit(1_000_000), FAR, "in ms"),
}


def _nothing(r: Recording) -> None:
    pass


def _set(**values: Any) -> Callable[[Recording], None]:
    def make(r: Recording) -> None:
        for name, value in values.items():
            setattr(r, name, value)

    return make


def _at_end(*producers: int) -> Callable[[Recording], None]:
    """Buffers that are read at the end, one after another."""

    def make(r: Recording) -> None:
        end = START + r.seconds * S
        for k, producer in enumerate(producers):
            r.kept[producer] = lambda t, k=k: end + k * S + (t - START) // r.seconds
        r.snapshots = [at for at in r.snapshots if at < end]

    return make


def _flushed(producer: int, every: int) -> Callable[[Recording], None]:
    def make(r: Recording) -> None:
        r.kept[producer] = lambda t: -(-t // every) * every + 1

    return make


def _deferred(producer: int, by: int) -> Callable[[Recording], None]:
    return lambda r: r.kept.update({producer: lambda t: t + by})


def _one_snapshot(r: Recording) -> None:
    r.snapshots = r.snapshots[:1]
    # A device that drifts is another matter.
    r.clocks[SENSOR], r.stamps[SENSOR] = BOOTTIME, lambda t: t


def _of_startup(r: Recording) -> None:
    for k in range(50):
        at = START - 120 * S + k * MS
        event = pb.TrackEvent(type=3, track_uuid=APP)
        made = packet(r.reads[MONOTONIC](at), MONOTONIC, APP, track_event=event)
        r.extra.append((START + 2 * S + k, made))


CONTROLS: dict[str, Callable[[Recording], None]] = {
    "plain": _nothing,
    "wall_clock_set": _never_set(WALL),
    "rings_read_at_the_end": _at_end(APP, GPU, SENSOR, FTRACE, LOGS),
    "one_ring_read_at_the_end": _at_end(FTRACE),
    "flushed_every_5_s": _flushed(APP, 5 * S),
    "logs_buffered_for_8_s": _flushed(LOGS, 8 * S),
    "commits_deferred_by_2_s": _deferred(APP, 2 * S),
    "one_snapshot_at_the_start": _one_snapshot,
    "events_of_startup": _of_startup,
    "half_of_the_switches_lost": _set(lost=0.5),
    "most_of_the_switches_lost": _set(lost=0.8),
}


def found_in(recording: Recording) -> list[Any]:
    """The findings that are of interest here."""
    from diagnosed import findings

    usual = ("no-realtime", "rate-unproven")
    return [one for one in findings(recording.bytes()) if one.code not in usual]


def judge(kind: Kind, seconds: int = 20, seed: int = 1) -> tuple[str, str]:
    """Whether the first finding is right, misleading, or the doctor calm; and what it says."""
    recording = Recording(Random(seed), seconds)
    kind.make(recording)
    found = found_in(recording)
    if not found:
        return "calm", ""
    first = found[0]
    is_right = first.code == kind.code and re.search(kind.says, first.title)
    return "right" if is_right else "misleading", f"[{first.code}] {first.title}"


def main() -> None:
    """Print a table of how the doctor does."""
    verdicts = Counter[str]()
    for name, kind in KINDS.items():
        for seconds in (10, 20, 60):
            verdict, says = judge(kind, seconds)
            verdicts[verdict] += 1
            sys.stdout.write(f"{name:36} {seconds:3} s  {verdict:10} {says}\n")
    for name, make in CONTROLS.items():
        for seconds in (10, 20, 60):
            recording = Recording(Random(1), seconds)
            make(recording)
            says = "; ".join(one.title for one in found_in(recording))
            verdicts["silent" if not says else "loud"] += 1
            sys.stdout.write(f"control {name:28} {seconds:3} s  {says or 'silent'}\n")
    sys.stdout.write(f"{dict(verdicts)}\n")


if __name__ == "__main__":
    main()
