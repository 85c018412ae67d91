"""Clocks of a simulated machine, sampled as a recording wants it: what is true is known."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

from tracetime import ClockDomain, ClockId, Snapshot, SourceError, record
from tracetime.clocks.kernel_clock import KernelClock, WallBound

START_NS = 5_000_000_000_000
_UNSTEERED = KernelClock(1_234_567, 10_000, 0, 16_000_000, 16_000_000, 64, 5, 0)


@dataclass
class Clock:
    """What one clock shows at a true time t, ns: rate_ppb faster, with an offset and steps."""

    domain: ClockDomain
    offset_ns: int = 0
    rate_ppb: int = 0
    steps: list[tuple[int, int]] = field(default_factory=list)
    lost: bool = False

    def ns(self, true_ns: int) -> int:
        """Its reading in ns, unwrapped, if a tick were one."""
        jumped = sum(size for when, size in self.steps if when <= true_ns)
        return true_ns + true_ns * self.rate_ppb // 10**9 + self.offset_ns + jumped

    def ticks(self, true_ns: int) -> int:
        assert self.domain.ns_per_tick is not None
        return int(self.ns(true_ns) / self.domain.ns_per_tick)

    def raw(self, true_ns: int) -> int:
        """What it says: ticks, wrapped."""
        return self.ticks(true_ns) % (1 << self.domain.valid_bits)


@dataclass
class Taken:
    """A Sample."""

    snapshot: Snapshot
    counts: dict[ClockId, tuple[int, int]]
    failed: dict[ClockId, str]
    adjtimex: KernelClock | None = _UNSTEERED
    findings: Sequence[Any] = ()
    wall_bound: WallBound | None = None


class Machine:
    """A Sampler; `now_ns` is the true time, moved on by whoever uses it."""

    def __init__(self, clocks: Sequence[Clock], seed: int = 1, half_ns: int = 50) -> None:
        self.clocks = {ClockId.parse(clock.domain.id): clock for clock in clocks}
        self.reference = next(iter(self.clocks))
        self.now_ns = START_NS
        self.random = Random(seed)
        self.half_ns = half_ns
        self.fails: str | None = None
        self.samples = 0
        self.closed = False

    @property
    def domains(self) -> Mapping[ClockId, ClockDomain]:
        return {clock: one.domain for clock, one in self.clocks.items()}

    @property
    def names(self) -> Mapping[ClockId, str]:
        return {clock: one.domain.name or str(clock) for clock, one in self.clocks.items()}

    @property
    def short_names(self) -> Mapping[ClockId, str]:
        return self.names

    def watch(self) -> Callable[[], None]:
        return lambda: None

    def close(self) -> None:
        self.closed = True

    def sample(self) -> Taken:
        """Read each clock somewhere in its bracket, which lies a little after the one before."""
        self.samples += 1
        if self.fails:
            raise SourceError(self.fails)
        first = self.clocks[self.reference]
        readings = {self.reference: first.ns(self.now_ns)}
        counts: dict[ClockId, tuple[int, int]] = {}
        halves, centres, failed = {}, {}, {}
        at_ns = self.now_ns
        for clock, one in self.clocks.items():
            if clock == self.reference:
                continue
            if one.lost:
                failed[clock] = f"{clock} is gone"
                continue
            half_ns = self.random.randint(self.half_ns // 2, self.half_ns)
            centre_ns = at_ns + half_ns
            read_ns = centre_ns + self.random.randint(-half_ns, half_ns)
            rate = one.domain.ns_per_tick
            assert rate is not None
            readings[clock] = one.ns(read_ns)
            if rate != 1 or one.domain.valid_bits != 64:
                counts[clock] = one.raw(read_ns), one.ticks(read_ns)
                readings[clock] = int(one.ticks(read_ns) * rate)
            centres[clock] = first.ns(centre_ns) - first.ns(self.now_ns)
            halves[clock] = half_ns + 2 + int(rate)
            at_ns = centre_ns + half_ns
        snapshot = Snapshot(
            readings, reference=self.reference, half_width_ns=halves, centre_ns=centres
        )
        self.now_ns = at_ns
        return Taken(snapshot, counts, failed)


GPU = "dev.tracetime.vulkan.00112233445566778899aabbccddeeff"
TSC = "dev.tracetime.tsc"


def usual_clocks() -> list[Clock]:
    """Seven clocks: five of the kernel's, the time stamp counter, and a device of 36 bits."""
    return [
        Clock(ClockDomain("MONOTONIC_RAW")),
        Clock(ClockDomain("MONOTONIC"), 77, 12_000),
        Clock(ClockDomain("BOOTTIME"), 3_600_000_000_077, 12_000),
        Clock(ClockDomain("REALTIME"), 1_755_000_000_000_000_000, 12_000),
        Clock(
            ClockDomain("dev.tracetime.tai", "dev.tracetime.tai"), 1_755_000_000_000_000_000, 12_000
        ),
        Clock(
            ClockDomain(TSC, TSC, ns_per_tick=Fraction(10**7, 24_449_733), max_drift_ppm=100),
            40_000_000_000,
            900,
        ),
        Clock(
            ClockDomain(
                GPU, GPU, 52.083, Fraction(625, 12), 36, max_drift_ppm=100, oscillator="gpu"
            ),
            -2_000_000_000_000,
            -21_000,
        ),
    ]


def recorded_trace(seed: int) -> bytes:
    """A small recording, with a step back and a clock of the user's own."""
    machine = Machine(usual_clocks(), seed)
    machine.clocks[ClockId(1)].steps.append((machine.now_ns + 3 * 10**9, -(10**10)))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "out.pftrace"
        with record(path, interval=None, sampler=machine) as rec:
            for n in range(6):
                rec.instant(f"event {n % 2}", timestamp=machine.now_ns, clock=5, track="t")
                rec.snapshot({64: n, "MONOTONIC": machine.now_ns})
                rec.counter("c", n, timestamp=n, clock=64)
                machine.now_ns += 10**9
                rec.snapshot()
        return path.read_bytes()
