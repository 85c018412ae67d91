"""A healthy trace, and the faults that clocks have, each put into it alone.

`FAULTS` maps a name to a function of (Model, Random) that does the harm and says what the doctor
ought to find: the code, and packets of which the finding has to name one (none: not a matter of
place).
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any, NamedTuple

from building import (
    BOOTTIME,
    MONOTONIC,
    MONOTONIC_RAW,
    REALTIME,
    event,
    packet,
    remote_sync,
    snapshot,
    trace,
)
from scheduling import bundles, woken_late

from tracetime.clocks.families import STOPS_IN_SUSPEND

S = 1_000_000_000
TSC = 9
GPU, NIC = 0x8A01B2C3, 0x9B02C3D4
SEQUENCE = 7
START = 5000 * S

Read = Callable[[int], int]


class Expected(NamedTuple):
    code: str
    packets: range | None = None


def drifting(ppm: int, offset: int) -> Read:
    return lambda t: t + offset + (t - START) * ppm // 1_000_000


class Model:
    """A minute of five clocks and a sequence's own, read together every second.

    Attributes:
        reads: by clock, what it reads at a time of BOOTTIME.
        units: of a clock, where that is not 1.
        edits: by snapshot, functions that change its readings {clock: value}.
        event_clocks: what events are read in, by snapshot interval.
        extra: packets to put before the snapshot of a number.
        late: by how many intervals snapshots but the first stand behind their place in the file.
        cut: bytes to leave out at the end.
        arrange: into which order the packets of the intervals between snapshots are brought.
        after: bytes to add at the end.
        primary: primary_trace_clock by snapshot.
    """

    def __init__(self) -> None:
        self.n = 60
        self.reads: dict[int, Read] = {
            BOOTTIME: lambda t: t,
            MONOTONIC: lambda t: t - 100 * S,
            MONOTONIC_RAW: drifting(12, -90 * S),
            REALTIME: lambda t: t + 1_700_000_000 * S,
            GPU: drifting(-20, -4000 * S),
            NIC: drifting(30, 77 * S),
            64: lambda t: (t - START) // 1000 + 5,
        }
        self.units: dict[int, int] = {64: 1000}
        self.edits: dict[int, list[Callable[[dict[int, Any]], None]]] = {}
        self.event_clocks = [BOOTTIME, MONOTONIC, MONOTONIC_RAW, GPU, NIC, 64]
        self.extra: dict[int, list[Any]] = {}
        self.primary: dict[int, int] = {}
        self.without: set[int] = set()
        self.snapshot_sequence: int | None = SEQUENCE
        self.event_sequence: int | None = SEQUENCE
        self.late = 0
        self.cut = 0
        self.arrange: Callable[[list[list[Any]]], list[list[Any]]] = lambda parts: parts
        self.after = b""

    def time(self, k: int) -> int:
        return START + k * S

    def edit(self, k: int, change: Callable[[dict[int, Any]], None]) -> None:
        self.edits.setdefault(k, []).append(change)

    def at_snapshot(self, k: int) -> range:
        """The packets that a finding about snapshot k may name: its own, and its events'."""
        each = 1 + len(self.event_clocks)
        before = sum(len(extra) for at, extra in self.extra.items() if at <= k)
        start = k * each + before
        return range(start - 1, start + each + 1)

    def build(self) -> bytes:
        parts: list[list[Any]] = []
        waiting: list[Any] = []
        for k in range(self.n):
            t = self.time(k)
            packets = [*self.extra.get(k, [])]
            parts.append(packets)
            if k not in self.without:
                readings: dict[int, Any] = {}
                for clock, read in self.reads.items():
                    unit = self.units.get(clock)
                    readings[clock] = read(t) if unit is None else (read(t), unit)
                for change in self.edits.get(k, []):
                    change(readings)
                pairs = readings.pop("pairs", None) or readings
                made = snapshot(pairs, self.snapshot_sequence, primary=self.primary.get(k))
                (waiting if self.late and k else packets).append(made)
            for i, clock in enumerate(self.event_clocks):
                at = t + (i + 1) * S // (len(self.event_clocks) + 2)
                read = self.reads.get(clock, self.reads[BOOTTIME])
                packets.append(event(read(at), clock, self.event_sequence))
            if self.late and k >= self.late and waiting:
                packets.append(waiting.pop(0))
        data = trace(*[packet for part in self.arrange(parts) for packet in part], *waiting)
        return data[: len(data) - self.cut] + self.after


def _after(k: int, read: Read, by: Callable[[int, int], int], model: Model) -> Read:
    """`read` until just before snapshot k, `by(t, reading)` from then on."""
    begin = model.time(k) - S // 3
    return lambda t: read(t) if t < begin else by(t, read(t))


def clock_without_snapshot(m: Model, r: Random) -> Expected:
    clock = r.choice([GPU, NIC, MONOTONIC_RAW])
    for k in range(m.n):
        m.edit(k, lambda readings: readings.pop(clock))
    return Expected("clock-without-snapshot", m.at_snapshot(0))


def without_sequence(m: Model, r: Random) -> Expected:
    m.event_sequence = None
    return Expected("sequence-clock-without-sequence", m.at_snapshot(0))


def of_another_sequence(m: Model, r: Random) -> Expected:
    m.event_sequence = r.choice([1, 8, 2**32 - 1])
    return Expected("sequence-clock-of-another-sequence", m.at_snapshot(0))


def ad_hoc_id(m: Model, r: Random) -> Expected:
    number = r.choice([128, 129, 1000, 2**31 - 1])
    m.reads = {number if c == GPU else c: read for c, read in m.reads.items()}
    m.event_clocks = [number if c == GPU else c for c in m.event_clocks]
    return Expected("ad-hoc-clock-id", m.at_snapshot(0))


def id_collision(m: Model, r: Random) -> Expected:
    apart = r.choice([-1, 1]) * r.randint(20 * S, 1000 * S)
    first, every = r.randint(4, 8), r.randint(3, 5)
    for k in range(first, m.n, 2 * every):
        for at in range(k, min(k + every, m.n)):
            m.edit(at, lambda readings: readings.update({GPU: readings[GPU] + apart}))
    return Expected("clock-id-collision", m.at_snapshot(first))


def set_back(m: Model, r: Random) -> Expected:
    k, size = r.randint(5, 50), r.randint(2 * S, 5000 * S)
    m.reads[REALTIME] = _after(k, m.reads[REALTIME], lambda t, v: v - size, m)
    m.event_clocks.append(REALTIME)
    return Expected("realtime-set-back", m.at_snapshot(k))


def counter_wraps(m: Model, r: Random) -> Expected:
    bits = r.choice([32, 33, 34, 35])
    read, start = m.reads[GPU], r.randint(0, 2**bits - 1)
    m.reads[GPU] = lambda t: (read(t) - read(START) + start) % 2**bits
    return Expected("counter-wraps")


def counter_reset(m: Model, r: Random) -> Expected:
    k = r.randint(5, 50)
    begin = m.time(k) - r.randint(1, S // 2)
    read = m.reads[GPU]
    m.reads[GPU] = lambda t: read(t) if t < begin else t - begin
    return Expected("clock-reset", m.at_snapshot(k))


def ran_backwards(m: Model, r: Random) -> Expected:
    k, size = r.randint(5, 50), r.randint(100 * S, 400 * S)
    m.reads[NIC] = _after(k, m.reads[NIC], lambda t, v: v - size, m)
    return Expected("clock-ran-backwards", m.at_snapshot(k))


def suspend(m: Model, r: Random) -> Expected:
    k, size = r.randint(5, 50), r.randint(S // 10, 3600 * S)
    for clock in STOPS_IN_SUSPEND & m.reads.keys():
        m.reads[clock] = _after(k, m.reads[clock], lambda t, v: v - size, m)
    begin = m.time(k) - S // 3
    # While it sleeps BOOTTIME goes on; everything happens later by that much.
    for clock, read in list(m.reads.items()):
        m.reads[clock] = lambda t, read=read: read(t if t < begin else t + size)
    return Expected("suspend", m.at_snapshot(k))


def stepped(m: Model, r: Random) -> Expected:
    k, size = r.randint(5, 50), r.randint(S // 10, 3600 * S)
    m.reads[REALTIME] = _after(k, m.reads[REALTIME], lambda t, v: v + size, m)
    return Expected("clock-stepped", m.at_snapshot(k))


def misread(m: Model, clock: int, k: int, size: int) -> None:
    """One reading of one clock, off by so many ns."""

    def change(readings: dict[int, Any]) -> None:
        if clock in m.units:
            value, unit = readings[clock]
            readings[clock] = value + size // unit, unit
        else:
            readings[clock] += size

    m.edit(k, change)


def outlier(m: Model, r: Random) -> Expected:
    k, size = r.randint(1, m.n - 2), r.choice([-1, 1]) * r.randint(S // 200, S // 2)
    misread(m, r.choice(list(m.reads)), k, size)
    return Expected("snapshot-outlier", m.at_snapshot(k))


def rate_changed(m: Model, r: Random) -> Expected:
    k, ppm = r.randint(15, 45), r.choice([-1, 1]) * r.randint(30, 300)
    begin, read = m.time(k), m.reads[NIC]
    m.reads[NIC] = lambda t: read(t) + max(t - begin, 0) * ppm // 1_000_000
    return Expected("rate-changed", range(m.at_snapshot(k)[0] - 7, m.at_snapshot(k)[-1] + 8))


def unit_changed(m: Model, r: Random) -> Expected:
    k = r.randint(5, 50)
    m.edit(k, lambda readings: readings.update({GPU: (readings[GPU], r.choice([10, 1000]))}))
    return Expected("clock-properties-changed", m.at_snapshot(k))


def incremental_changed(m: Model, r: Random) -> Expected:
    k = r.randint(5, 50)
    m.edit(k, lambda readings: readings.update({64: (*readings[64], True)}))
    return Expected("clock-properties-changed", m.at_snapshot(k))


def incremental_global(m: Model, r: Random) -> Expected:
    for k in range(m.n):
        m.edit(k, lambda readings: readings.update({GPU: (readings[GPU], 1, True)}))
    return Expected("incremental-clock-not-of-a-sequence", m.at_snapshot(0))


def clock_twice(m: Model, r: Random) -> Expected:
    k = r.randint(5, 50)

    def twice(readings: dict[int, Any]) -> None:
        readings["pairs"] = [*readings.items(), (NIC, readings[NIC] + 5)]  # type: ignore[index]

    m.edit(k, twice)
    return Expected("clock-twice-in-snapshot", m.at_snapshot(k))


def trace_clock_backwards(m: Model, r: Random) -> Expected:
    k = r.randint(5, 50)
    m.edit(k, lambda readings: readings.update({BOOTTIME: readings[BOOTTIME] - 5 * S}))
    return Expected("trace-clock-ran-backwards", m.at_snapshot(k))


def trace_clock_unit(m: Model, r: Random) -> Expected:
    k = r.randint(5, 50)
    m.edit(k, lambda readings: readings.update({BOOTTIME: (readings[BOOTTIME] // 1000, 1000)}))
    return Expected("clock-properties-changed", m.at_snapshot(k))


def reading_overflow(m: Model, r: Random) -> Expected:
    k = r.randint(5, 50)
    m.edit(k, lambda readings: readings.update({64: (2**62, 1000)}))
    return Expected("reading-overflow", m.at_snapshot(k))


def late_trace_clock(m: Model, r: Random) -> Expected:
    k = r.randint(5, 50)
    m.primary[k] = MONOTONIC
    return Expected("trace-clock-changed-late", m.at_snapshot(k))


def sparse(m: Model, r: Random) -> Expected:
    gap = r.randint(12, 18)
    m.without = {k for k in range(m.n) if k % gap}
    m.reads[NIC] = drifting(r.choice([-1, 1]) * r.randint(150, 280), 77 * S)
    return Expected("snapshots-too-sparse")


def snapshots_late(m: Model, r: Random) -> Expected:
    m.late = r.randint(10, 50)
    m.reads[NIC] = drifting(r.choice([-1, 1]) * r.randint(150, 280), 77 * S)
    return Expected("snapshots-late")


def drifts_far(m: Model, r: Random) -> Expected:
    m.reads[NIC] = drifting(r.choice([-1, 1]) * r.randint(700, 9_000), 77 * S)
    return Expected("drift-beyond-healthy", m.at_snapshot(0))


def ticks_for_ns(m: Model, r: Random) -> Expected:
    read, period = m.reads[GPU], r.choice([(52_083, 1000), (1, 38), (3, 100)])
    m.reads[GPU] = lambda t: read(t) * period[1] // period[0]
    return Expected("rate-not-nominal", m.at_snapshot(0))


def stands_still(m: Model, r: Random) -> Expected:
    value = r.randint(0, 2**40)
    m.reads[NIC] = lambda t: value
    return Expected("clock-stands-still", m.at_snapshot(0))


def tsc(m: Model, r: Random) -> Expected:
    tenths = r.randint(18, 55)
    m.reads[TSC] = lambda t: (t - START) * tenths // 10 + 12345
    m.event_clocks.append(TSC)
    return Expected("tsc-without-rate", m.at_snapshot(0))


def no_realtime(m: Model, r: Random) -> Expected:
    del m.reads[REALTIME]
    return Expected("no-realtime")


def no_snapshots(m: Model, r: Random) -> Expected:
    m.without = set(range(m.n))
    m.event_clocks = [0, 0]
    return Expected("no-snapshots")


def lost_state(m: Model, r: Random) -> Expected:
    k = r.randint(5, 50)
    m.extra[k] = [event(m.time(k), BOOTTIME, 99, needs_state=True)]
    return Expected("lost-incremental-state", m.at_snapshot(k))


def negative(m: Model, r: Random) -> Expected:
    k = r.randint(5, 50)
    at = -r.randint(5100 * S, 9000 * S)
    m.extra[k] = [event(at, MONOTONIC, SEQUENCE)]
    return Expected("negative-trace-time", m.at_snapshot(k))


def overflow(m: Model, r: Random) -> Expected:
    k = r.randint(5, 50)
    m.extra[k] = [event(2**63 - r.randint(1, 50 * S), MONOTONIC, SEQUENCE)]
    return Expected("timestamp-overflow", m.at_snapshot(k))


def before_first(m: Model, r: Random) -> Expected:
    early = m.reads[NIC](START - r.randint(60 * S, 3600 * S))
    m.extra[1] = [event(early, NIC, SEQUENCE)]
    m.without = set(range(1, m.n))
    m.event_clocks = [BOOTTIME]
    return Expected("used-before-first-snapshot")


def after_last(m: Model, r: Random) -> Expected:
    m.without = set(range(1, m.n))
    m.event_clocks = [BOOTTIME, NIC]
    return Expected("used-after-last-snapshot")


def not_tied(m: Model, r: Random) -> Expected:
    for k in range(m.n):
        m.edit(k, lambda readings: readings.pop(GPU))
    m.extra = {
        k: [snapshot({GPU: m.reads[GPU](m.time(k)), 0x8888_0001: k * S})] for k in range(m.n)
    }
    return Expected("clock-not-tied", m.at_snapshot(0))


def not_synchronised(m: Model, r: Random) -> Expected:
    k, machine = r.randint(5, 50), r.randint(1, 2**31)
    m.extra[k] = [event(m.time(k), MONOTONIC, 3, machine=machine)]
    return Expected("machine-not-synchronised", m.at_snapshot(k))


def _other_machine(m: Model, machine: int, there_ns: int, stopped: bool = False) -> None:
    """Another machine that exchanges messages with this one, each 4 ms there and as long back."""

    def read(t: int) -> int:
        return t * 1_000_007 // 1_000_000 + 77 * S

    for k in range(0, m.n, 10):
        t = m.time(k)
        rounds = [
            ({BOOTTIME: read(t if stopped else t + at)}, {BOOTTIME: t + at + there_ns})
            for at in (0, 2 * there_ns)
        ]
        m.extra[k] = [
            packet(machine=machine, remote_clock_sync=remote_sync(rounds)),
            event(read(t + S // 2), BOOTTIME, 3, machine=machine),
        ]
    # Ahead of them, this machine's own first snapshot: theirs would settle whose trace time is.
    first = m.extra.pop(0)
    m.extra[1] = first


def round_trip(m: Model, r: Random) -> Expected:
    _other_machine(m, r.randint(1, 2**31), r.randint(S // 1000, S // 50))
    return Expected("round-trip-limits")


def sync_unusable(m: Model, r: Random) -> Expected:
    _other_machine(m, r.randint(1, 2**31), S // 1000, stopped=True)
    return Expected("machine-sync-unusable", m.at_snapshot(0))


def disagree(m: Model, r: Random) -> Expected:
    wrong = r.choice([-1, 1]) * r.randint(S // 10, 100 * S)
    for k in range(m.n):
        t = m.time(k)
        m.edit(k, lambda readings: readings.pop(GPU))
        m.extra[k] = [
            snapshot({MONOTONIC: m.reads[MONOTONIC](t), GPU: m.reads[GPU](t) + 100 * S}),
            snapshot({NIC: m.reads[NIC](t), GPU: m.reads[GPU](t) + 100 * S + wrong}),
        ]
    m.event_clocks.remove(GPU)
    return Expected("paths-disagree")


def truncated(m: Model, r: Random) -> Expected:
    m.cut = r.randint(1, 5)
    return Expected("trace-truncated")


def trace_clock_missing(m: Model, r: Random) -> Expected:
    m.primary[0] = 0x8765_4321
    return Expected("trace-clock-without-snapshot", m.at_snapshot(0))


def long_path(m: Model, r: Random) -> Expected:
    first, second = 0xA000_0001, 0xA000_0002
    for k in range(m.n):
        t = m.time(k)
        m.edit(k, lambda readings: readings.pop(GPU))
        m.extra[k] = [
            snapshot({NIC: m.reads[NIC](t), first: t + 5 * S}),
            snapshot({first: t + 5 * S, second: t + 9 * S}),
            snapshot({second: t + 9 * S, GPU: m.reads[GPU](t)}),
        ]
    return Expected("long-path")


def coarse(m: Model, r: Random) -> Expected:
    m.reads[4] = lambda t: (t - 100 * S) // 4_000_000 * 4_000_000
    m.event_clocks.append(4)
    return Expected("coarse-clock")


def far(m: Model, r: Random) -> Expected:
    k, clock = r.randint(5, 50), r.choice([BOOTTIME, MONOTONIC, GPU, 64])
    read, late = m.reads[clock], r.randint(1, 50) * 3600 * S
    m.extra[k] = [event(read(m.time(k) + late + i), clock, SEQUENCE) for i in range(5)]
    return Expected("events-far-from-trace", range(m.at_snapshot(k)[0] - 5, m.at_snapshot(k)[0]))


def joined(m: Model, r: Random) -> Expected:
    """With another recording, of another time, of another boot or of the same one twice."""
    other, apart = Model(), [r.randint(-4900, 10**6) * S for _ in m.reads]
    if r.random() < 0.3:
        apart = r.choice([[0], [-3600 * S]]) * len(apart)
    for by, (clock, read) in zip(apart, list(other.reads.items()), strict=True):
        by //= m.units.get(clock, 1)
        other.reads[clock] = lambda t, read=read, by=by: max(read(t) + by, 0)
    m.after = other.build()
    return Expected("recordings-joined", range(m.n * (1 + len(m.event_clocks)), 10**6))


def disordered(m: Model, r: Random) -> Expected:
    k = r.randint(5, 50)
    m.arrange = r.choice(
        [
            lambda parts: parts[k:] + parts[:k],
            lambda parts: parts[::-1],
            lambda parts: r.sample(parts, len(parts)),
            lambda parts: [*parts[:k], parts[k + 1], parts[k], *parts[k + 2 :]],
            lambda parts: [*parts[:k], *parts[k + 1 :], parts[k]],
        ]
    )
    return Expected("file-out-of-order")


def taken_for_the_host(m: Model, r: Random) -> Expected:
    """Another machine's packet is the first of the file: what names none counts as its."""
    machine, ahead = r.randint(1, 2**31), r.choice([-1, 1]) * r.randint(10, 2000) * S
    for k in range(m.n):
        t = m.time(k) + S // 2
        m.extra[k] = [snapshot({BOOTTIME: t + ahead, REALTIME: t + 7 * ahead}, machine=machine)]
    return Expected("machines-mixed", m.at_snapshot(0))


def trace_clock_moved(m: Model, r: Random) -> Expected:
    """Another machine's first snapshot comes behind events, and trace time becomes its clock."""
    k, machine = r.randint(5, 50), r.randint(1, 2**31)
    m.extra[k] = [
        snapshot({BOOTTIME: m.time(k) + r.randint(10, 2000) * S}, machine=machine),
    ]
    return Expected("trace-clock-moved", m.at_snapshot(k))


def exchanged(m: Model, r: Random) -> Expected:
    """Two clocks in one snapshot: not a sequence's own, which counts in another unit."""
    one, other = r.sample([clock for clock in m.reads if clock not in m.units], 2)
    first = r.randint(5, 50)
    m.primary = dict.fromkeys(range(m.n), r.choice([BOOTTIME, MONOTONIC]))

    def change(readings: dict[int, Any]) -> None:
        readings[one], readings[other] = readings[other], readings[one]

    for k in range(first, first + r.choice([1, 1, 3])):
        m.edit(k, change)
    return Expected("clocks-exchanged", m.at_snapshot(first))


def below(m: Model, r: Random) -> Expected:
    by = r.choice([r.randint(2_000_000, S), r.randint(S, 10**6 * S)])
    if r.random() < 0.5:
        m.reads[MONOTONIC] = lambda t: t + by
        return Expected("boottime-below-monotonic")
    m.reads[MONOTONIC], m.reads[BOOTTIME] = m.reads[BOOTTIME], lambda t: t - 100 * S
    return Expected("boottime-below-monotonic")


def woken_too_late(m: Model, r: Random) -> Expected:
    k = r.randrange(1, m.n - 1)
    events = woken_late(4, r.randrange(100, 450_000), start=m.time(k), target=r.choice([0, 3]))
    # At even times BOOTTIME would look coarse.
    events = [one._replace(ns=one.ns + 13 * i) for i, one in enumerate(events)]
    m.extra[k] = bundles(events, compact=r.random() < 0.5)
    return Expected("effect-before-cause")


def two_snapshots(m: Model, r: Random) -> Expected:
    m.reads[NIC] = drifting(r.choice([-1, 1]) * r.randint(2, 5), 77 * S)
    for k in range(1, m.n - 1):
        m.edit(k, lambda readings: readings.pop(NIC))
    return Expected("rate-unproven")


def slewed_alone(m: Model, r: Random) -> Expected:
    m.reads[REALTIME] = drifting(r.choice([-1, 1]) * r.randint(20, 400), 1_700_000_000 * S)
    return Expected("ticks-apart")


FAULTS: dict[str, Callable[[Model, Random], Expected]] = {
    function.__name__: function
    for function in (
        clock_without_snapshot,
        without_sequence,
        of_another_sequence,
        ad_hoc_id,
        id_collision,
        set_back,
        counter_wraps,
        counter_reset,
        ran_backwards,
        suspend,
        stepped,
        outlier,
        rate_changed,
        unit_changed,
        incremental_changed,
        incremental_global,
        clock_twice,
        trace_clock_backwards,
        trace_clock_unit,
        reading_overflow,
        late_trace_clock,
        sparse,
        snapshots_late,
        drifts_far,
        ticks_for_ns,
        stands_still,
        tsc,
        no_realtime,
        no_snapshots,
        lost_state,
        negative,
        overflow,
        before_first,
        after_last,
        not_tied,
        not_synchronised,
        round_trip,
        sync_unusable,
        disagree,
        truncated,
        trace_clock_missing,
        long_path,
        coarse,
        far,
        joined,
        disordered,
        taken_for_the_host,
        trace_clock_moved,
        exchanged,
        below,
        woken_too_late,
        two_snapshots,
        slewed_alone,
    )
}
