"""Machines with imperfect clocks, services that err within their bounds, and true time itself.

A service measures now and then, each time with another error within another bound. In between it
steers or steps the clock towards what it takes for true; others step the clock, too, or the machine
suspends, and the service does not know.
"""

from __future__ import annotations

import random

from tracetime.errors import NoBoundError
from tracetime.sources.time_service.service import ClockReaders, TimeService
from tracetime.sources.time_service.statement import Statement

S = 10**9
MS = 10**6
DRIFT_PPB = 60_000
BEGIN = 1_700_000_000 * S


class World:
    """True time, ns; events of the machines happen as it passes."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.true_ns = BEGIN
        self.machines = []

    def advance(self, ns):
        end = self.true_ns + ns
        while True:
            machine = min(self.machines, key=lambda one: one.next_ns)
            if machine.next_ns > end:
                break
            self.true_ns = max(self.true_ns, machine.next_ns)
            machine.event()
        self.true_ns = max(self.true_ns, end)


class Machine:
    """A machine: its clocks, what keeps them, and its `TimeService`."""

    name = "simulated"
    retry_ns = 0

    def __init__(self, world, *, upset=True):
        self.world, self.random = world, world.random
        self.poll_ns = self.random.choice([0, MS, S])
        self.upset = upset
        self.rate_ppb = self.random.randint(-DRIFT_PPB // 2, DRIFT_PPB // 2)
        self.since_ns, self.slew_ppb = world.true_ns, 0
        self.raw_ns = self.random.randint(S, 10**15)
        self.measured, self.steered_ns, self.offset_ns = 0, 0, 0
        self.real_less_mono_ns = world.true_ns - self.mono() + self.random.randint(-5, 5) * MS
        self.measure()
        self.step_by_service()
        self.next_ns = world.true_ns + S
        world.machines.append(self)
        clocks = ClockReaders(
            lambda: self.read("real"),
            lambda: self.read("mono"),
            lambda: self.read("raw"),
            lambda: self.read("real") + 37 * S,
            lambda seconds: self.world.advance(int(seconds * S)),
        )
        self.service = TimeService(sources=[self], clocks=clocks)

    def go_on(self):
        """Bring the clocks to the present; a slew ends where the service takes the clock for true."""
        passed = self.world.true_ns - self.since_ns
        raw = passed + passed * self.rate_ppb // S
        slewed = min(raw * self.slew_ppb // S, abs(self.offset_ns))
        slewed = -slewed if self.offset_ns > 0 else slewed
        self.offset_ns += slewed
        self.steered_ns += slewed
        self.raw_ns += raw
        self.since_ns = self.world.true_ns

    def raw(self):
        self.go_on()
        return self.raw_ns

    def mono(self):
        return self.raw() + self.steered_ns

    def real(self):
        return self.mono() + self.real_less_mono_ns

    def read(self, clock):
        """As a program does: that takes a while, and now and then the thread waits."""
        wait = self.random.choice([20, 50, 100] if self.random.random() < 0.97 else [5_000, 3 * MS])
        self.world.advance(wait // 2)
        value = getattr(self, clock)()
        self.world.advance(wait - wait // 2)
        return value

    def measure(self):
        """Learn the time with an error within a bound, which may be worse than before."""
        real = self.real()
        self.half_ns = self.random.choice([1_000, 50_000, MS, 20 * MS])
        error = self.random.choice([-1, 1, self.random.uniform(-1, 1)])
        # What the service takes the clock to be ahead by: it changes by the service's work alone.
        self.offset_ns = real - self.world.true_ns - round(self.half_ns * error)
        self.measured_raw_ns = self.raw_ns
        self.measured += 1

    def slew(self):
        """For a while, by up to 1/12."""
        self.go_on()
        self.slew_ppb = self.random.choice([0, 10_000, 1_000_000, 83_000_000])

    def step_by_service(self):
        self.go_on()
        self.real_less_mono_ns -= self.offset_ns
        self.offset_ns = 0

    def step_by_others(self):
        self.go_on()
        # Never the same twice: two that cancel each other leave no trace.
        size = self.random.choice([20_000, MS, S, 3_600 * S]) * self.random.uniform(1, 2)
        self.real_less_mono_ns += round(self.random.choice([-size, size]))

    def suspend(self):
        """Only REALTIME goes on, by another clock."""
        asleep_ns = self.random.choice([S, 1_000 * S])
        self.go_on()
        self.since_ns += asleep_ns
        self.world.true_ns += asleep_ns
        self.real_less_mono_ns += asleep_ns + self.random.randint(-S, S)

    def event(self):
        kinds = ["measure", "measure", "slew", "slew", "step_by_service"]
        kinds += ["step_by_others", "suspend"] if self.upset else []
        kind = self.random.choice(kinds)
        if kind in ("measure", "step_by_service"):
            self.measure()
        if kind != "measure":
            getattr(self, kind)()
        pause = self.random.choice([1_000, MS, 200 * MS, 2 * S])
        self.next_ns = self.world.true_ns + pause

    def ask(self, monotonic_ns):
        """As chronyd: it knows how far it has yet to steer, not what others have done."""
        asked_ns = monotonic_ns()
        self.world.advance(self.random.choice([1_000, MS, 5 * MS]))
        since_ns = self.raw() - self.measured_raw_ns
        bound_ns = self.half_ns + since_ns * DRIFT_PPB // S + 10 + abs(self.offset_ns)
        said = Statement(bound_ns, asked_ns, DRIFT_PPB, DRIFT_PPB, str(self.measured))
        self.world.advance(self.random.choice([1_000, MS, 5 * MS]))
        if self.random.random() < 0.02:
            raise NoBoundError("not synchronised; wait")
        return said
