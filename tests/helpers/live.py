"""A sampler of this machine's clocks, as exact as Python reads, and waiting for what it does."""

from __future__ import annotations

import time

from simulated import Clock, Machine, Taken

import tracetime as tt
from tracetime import ClockDomain, ClockId

# What trace time is: BOOTTIME, and MONOTONIC where there is none.
TRACE_TIME = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
LIVE = {
    ClockId.parse(name): getattr(time, f"CLOCK_{name}")
    for name in ("MONOTONIC", "BOOTTIME", "REALTIME")
    if hasattr(time, f"CLOCK_{name}")
}


class Live(Machine):
    """A sampler of this machine, as exact as Python reads."""

    def __init__(self) -> None:
        super().__init__([Clock(ClockDomain(clock)) for clock in ("MONOTONIC_RAW", *LIVE)])
        self.offset_ns = 0

    def sample(self):
        self.samples += 1
        first = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
        readings = {self.reference: first}
        halves, centres = {}, {}
        before = first
        for clock, number in LIVE.items():
            readings[clock] = time.clock_gettime_ns(number)
            after = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
            centres[clock] = (before + after) // 2 - first
            halves[clock] = (after - before) // 2 + 20
            before = after
        readings[ClockId(1)] += self.offset_ns
        snapshot = tt.Snapshot(
            readings, reference=self.reference, half_width_ns=halves, centre_ns=centres
        )
        return Taken(snapshot, {}, {})


def wait_for(condition, seconds: float = 600) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not come about"
        time.sleep(0.005)
