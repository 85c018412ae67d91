"""Clocks that do what a test needs: drift, steps, wraps and failures, the same every time.

A `FakeTime` is the true time; every reading advances it by the next of its delays. Clocks are
functions of it; `truth` is the exact value of one at any instant.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import chain, repeat

from tracetime.clocks.domain import ClockDomain
from tracetime.clocks.ids import BUILTIN_IDS, ClockId
from tracetime.errors import SourceError
from tracetime.sources.device import CalibratedDevice
from tracetime.sources.names import named
from tracetime.sources.source import ClockSource


class FakeTime:
    """A true time, ns; every reading of a clock takes the next delay.

    Args:
        start_ns: when it begins.
        delays_ns: 0 or more each.
        usual_ns: the delay when these are used up.
    """

    def __init__(
        self, start_ns: int = 0, delays_ns: Iterable[int] = (), usual_ns: int = 25
    ) -> None:
        self.now_ns = start_ns
        self._delays: Iterator[int] = chain(delays_ns, repeat(usual_ns))

    def pass_ns(self, span_ns: int) -> None:
        """Advance by a span."""
        self.now_ns += span_ns

    def tick(self) -> int:
        """Take one delay; returns the true time after it."""
        self.now_ns += next(self._delays)
        return self.now_ns


@dataclass
class FakeClock:
    """A clock that reads, at a true time t, floor(t (1 + rate) + offset + steps) in its ticks.

    Attributes:
        name: a builtin name or that of a global clock.
        offset_ns: what it reads at 0.
        rate_ppb: how much faster than true time it runs, parts in 10^9.
        ns_per_tick: the length of a tick, nominal and true.
        step_ticks: how many ticks it advances at once.
        valid_bits: where it wraps; with 64 and more never within a test.
        steps: (true ns, ns): from then on it reads that much more.
        max_drift_ppm: what its domain declares.
        failing_at: which of its readings fail, counted from 0; and all after `lost_at`.
    """

    name: str
    offset_ns: int = 0
    rate_ppb: int = 0
    ns_per_tick: Fraction = Fraction(1)
    step_ticks: int = 1
    valid_bits: int = 64
    steps: Sequence[tuple[int, int]] = ()
    max_drift_ppm: float = 100.0
    failing_at: frozenset[int] = frozenset()
    lost_at: int | None = None
    reads: int = field(default=0, init=False)

    @property
    def clock(self) -> ClockId:
        return ClockId(BUILTIN_IDS[self.name]) if self.name in BUILTIN_IDS else named(self.name)

    def truth(self, true_ns: int | Fraction) -> Fraction:
        """The reading with unlimited resolution and bits, ns, exactly."""
        jumped = sum(size for when, size in self.steps if when <= true_ns)
        return true_ns * (1 + Fraction(self.rate_ppb, 10**9)) + self.offset_ns + jumped

    def value(self, true_ns: int) -> int:
        """The reading: ticks, wrapped."""
        ticks = self.truth(true_ns) // self.ns_per_tick
        return (ticks - ticks % self.step_ticks) % (1 << self.valid_bits)

    def read(self, time: FakeTime) -> int:
        """Return a reading; it takes one delay, and may fail."""
        number, self.reads = self.reads, self.reads + 1
        lost = self.lost_at is not None and number >= self.lost_at
        value = self.value(time.tick())
        if lost or number in self.failing_at:
            raise SourceError(f"{self.name} fails on demand at reading {number}")
        return value

    def domain(self) -> ClockDomain:
        return ClockDomain(
            self.clock,
            self.name,
            float(self.ns_per_tick * self.step_ticks),
            ns_per_tick=self.ns_per_tick,
            valid_bits=min(self.valid_bits, 64),
            max_drift_ppm=self.max_drift_ppm,
            oscillator=f"fake {self.name}",
        )


class FakeSource(ClockSource):
    """Clocks that are read alone, in Python.

    Args:
        time: the true time, shared with other sources.
        clocks: the clocks of this source.
    """

    def __init__(self, time: FakeTime, clocks: Iterable[FakeClock]) -> None:
        self.time = time
        self.fakes = {fake.clock: fake for fake in clocks}

    @property
    def clocks(self) -> Mapping[str, ClockId]:
        return {fake.name: clock for clock, fake in self.fakes.items()}

    def domain(self, clock: ClockId) -> ClockDomain:
        return self.fakes[clock].domain()

    def read(self, clock: ClockId) -> int:
        return self.fakes[clock].read(self.time)


@dataclass
class DeviceFaults:
    """The faults of a device; by default none.

    Attributes:
        deviation_ns: claims this deviation, whatever it is.
        shift_ns: reads its clock this much away from the host's, without a larger deviation.
        shift_every: the shift is at every so many'th reading only.
        garbage_bits: sets this bit above the valid ones.
        back_at, back_ticks: at which reading its clock goes back for good, and how far.
        rate_ppb: its clock runs that much faster than its period says.
        stamp_shift_ns: work is stamped by another clock, this far away.
        stamp_back_ns: each further stamp of one submission is that much earlier than it should be.
        host_shift_ns: the host clock that it reads is this far from the one the host reads.
        lost_at: the device is lost from that reading on.
    """

    deviation_ns: int | None = None
    shift_ns: int = 0
    shift_every: int = 1
    garbage_bits: int | None = None
    back_at: int | None = None
    back_ticks: int = 0
    rate_ppb: int = 0
    stamp_shift_ns: int = 0
    stamp_back_ns: int = 0
    host_shift_ns: int = 0
    lost_at: int | None = None


class FakeDevice(CalibratedDevice):
    """A device with calibrated timestamps.

    Args:
        time: the true time.
        own: its clock.
        hosts: the host's clocks that it calibrates.
        faults: its faults.
        unknown_domains: as `CalibratedDevice`.
        has_device_domain: as `CalibratedDevice`.
    """

    def __init__(
        self,
        time: FakeTime,
        own: FakeClock,
        hosts: Sequence[FakeClock],
        faults: DeviceFaults | None = None,
        *,
        unknown_domains: tuple[int, ...] = (),
        has_device_domain: bool = True,
    ) -> None:
        self.time = time
        self.own = own
        self.faults = faults or DeviceFaults()
        self.name, self.clock, self.label = own.name, own.clock, f"fake device {own.name}"
        self.ns_per_tick, self.valid_bits = own.ns_per_tick, own.valid_bits
        self.has_device_domain = has_device_domain
        self.unknown_domains = unknown_domains
        self._hosts = {host.clock: host for host in hosts}
        self.host_clocks = tuple(self._hosts)
        self.calls = 0

    def step_ticks(self) -> int:
        return self.own.step_ticks

    def calibrate(self, clocks: Sequence[ClockId]) -> tuple[list[int], int]:
        number, self.calls = self.calls, self.calls + 1
        faults = self.faults
        self._check_lost(number)
        values, begin_ns, longest_ns = [], self.time.tick(), Fraction(1)
        for clock in clocks:
            true_ns = self.time.tick()
            if clock == self.clock:
                shifted = faults.shift_ns and number % faults.shift_every == 0
                values.append(self._device(true_ns + (faults.shift_ns if shifted else 0), number))
                longest_ns = max(longest_ns, self.ns_per_tick * self.own.step_ticks)
            else:
                values.append(self._hosts[clock].value(true_ns + faults.host_shift_ns))
        # As drivers compute it: the span of the reads and the longest tick, rounded up.
        deviation_ns = self.time.tick() - begin_ns + 1 + -(-longest_ns // 1)
        return values, int(deviation_ns) if faults.deviation_ns is None else faults.deviation_ns

    def _check_lost(self, number: int) -> None:
        if self.faults.lost_at is not None and number >= self.faults.lost_at:
            raise SourceError(f"{self.label}: the device is lost")

    def stamp(self, count: int = 1) -> list[int]:
        self._check_lost(self.calls)
        shift_ns, back_ns = self.faults.stamp_shift_ns, self.faults.stamp_back_ns
        return [
            self._device(self.time.tick() + shift_ns - number * back_ns, self.calls)
            for number in range(count)
        ]

    def _device(self, true_ns: int, number: int) -> int:
        faults = self.faults
        ticks = self.own.value(true_ns + true_ns * faults.rate_ppb // 10**9)
        if faults.back_at is not None and number >= faults.back_at:
            ticks = (ticks - faults.back_ticks) % (1 << self.valid_bits)
        return ticks if faults.garbage_bits is None else ticks | 1 << faults.garbage_bits
