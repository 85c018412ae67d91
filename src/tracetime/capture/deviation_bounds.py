"""A check that the deviation that a device claims bounds the time between its readings.

Vulkan's conformance test does not check that; error bars rest on it.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from itertools import pairwise
from typing import Final

import numpy as np

from tracetime.capture.sample import Finding, device_error
from tracetime.clocks.domain import ClockDomain
from tracetime.clocks.ids import ClockId
from tracetime.graph.tube.limits import Limits
from tracetime.sources.device import CalibratedDevice
from tracetime.sources.source import ClockSource

ROUNDS: Final = 64
"""Calibrations to compare, each with each: 2,016 pairs, from some 10 ms."""

_PAUSE_NS: Final = 100_000
"""Between two calibrations: spreads them over several ms."""

Wait = Callable[[int], None]
"""Waits for so many ns."""


def sleep(span_ns: int) -> None:
    """Wait for so many ns."""
    time.sleep(span_ns / 1e9)


def check_across(
    device: CalibratedDevice, hosts: ClockSource, *, wait: Wait = sleep, rounds: int = ROUNDS
) -> list[Finding]:
    """The deviation really bounds how far apart the clocks of one call were read.

    Nobody knows the offset of the device from a host clock, but it changes by no more than the
    drift that both clocks are allowed. If the intervals of two calibrations do not meet within
    that, the deviation is too small. The offset of two host clocks is known from the host's own
    brackets. A stamp of the device, converted to the host's clock, is between the host's readings
    around that work.
    """
    found = []
    for clock in device.host_clocks:
        found += _across_device(device, hosts, clock, wait, rounds)
        found += _across_work(device, hosts, clock)
    for one, other in pairwise(device.host_clocks):
        found += _across_hosts(device, hosts, one, other)
    return found


def _across_device(
    device: CalibratedDevice, hosts: ClockSource, clock: ClockId, wait: Wait, rounds: int
) -> list[Finding]:
    host = hosts.domain(clock)
    own = device.domain(device.clock)
    drift = Limits.of(host.drift_ppm, own.drift_ppm).drift
    at, offsets, halves = [], [], []
    first = last = total = 0
    for number in range(rounds):
        (ticks, host_ns), deviation_ns = device.calibrate((device.clock, clock))
        if number == 0:
            first, last = host_ns, ticks
        total, last = total + device.ticks_between(last, ticks), ticks
        at.append(host_ns - first)
        offsets.append(math.floor(total * device.ns_per_tick) - (host_ns - first))
        halves.append(half_width_ns(deviation_ns, drift, own, host))
        wait(_PAUSE_NS)
    t, o, h = (np.array(column, dtype=np.int64) for column in (at, offsets, halves))
    allowed = h[:, None] + h + np.ceil(np.abs(t[:, None] - t) * drift).astype(np.int64)
    excess = np.abs(o[:, None] - o) - allowed
    worst = int(excess.max())
    if worst <= 0:
        return []
    i, j = (int(k) for k in np.unravel_index(int(excess.argmax()), excess.shape))
    message = (
        f"its offset from {clock} changed by {abs(offsets[i] - offsets[j])} ns within "
        f"{abs(at[i] - at[j])} ns, {worst} ns more than drift and the deviations claimed allow: "
        "they are too small; do not rely on its bars"
    )
    return [device_error("deviation_across", device, message)]


def _across_work(device: CalibratedDevice, hosts: ClockSource, clock: ClockId) -> list[Finding]:
    host, own = hosts.domain(clock), device.domain(device.clock)
    drift = Limits.of(host.drift_ppm, own.drift_ppm).drift
    (ticks, host_ns), deviation_ns = device.calibrate((device.clock, clock))
    before = hosts.read(clock)
    written = device.stamp()[0]
    after = hosts.read(clock)
    at = host_ns + math.floor(device.ticks_between(ticks, written) * device.ns_per_tick)
    bar_ns = (
        half_width_ns(deviation_ns, drift, own, host) + math.ceil((after - host_ns) * drift) + 1
    )
    if before - bar_ns <= at <= after + bar_ns:
        return []
    message = (
        f"work done between {before} and {after} of {clock} was stamped at what is {at}, more than "
        f"its bar of {bar_ns} ns away: stamps or calibrations are of another clock"
    )
    return [device_error("work_outside", device, message)]


def _across_hosts(
    device: CalibratedDevice, hosts: ClockSource, one: ClockId, other: ClockId
) -> list[Finding]:
    first, second = hosts.domain(one), hosts.domain(other)
    drift = Limits.of(first.drift_ppm, second.drift_ppm).drift
    before = hosts.read(one)
    between = hosts.read(other)
    after = hosts.read(one)
    (a, b), deviation_ns = device.calibrate((one, other))
    known = between - (before + after) // 2
    known_half_ns = (
        -(-(after - before) // 2) + math.ceil((after - before) * drift) + _ticks(first, second) + 1
    )
    bar_ns = known_half_ns + half_width_ns(deviation_ns, drift, first, second)
    bar_ns += math.ceil(abs(a - before) * drift)
    if abs(b - a - known) <= bar_ns:
        return []
    message = (
        f"{other} less {one} was {b - a} ns for the device and {known} ns for the host, farther "
        f"apart than {bar_ns} ns: the deviation claimed, {deviation_ns} ns, is too small"
    )
    return [device_error("deviation_across_hosts", device, message)]


def half_width_ns(deviation_ns: int, drift: float, one: ClockDomain, other: ClockDomain) -> int:
    """The half-width of two clocks read together: M (1 + D) and both ticks, ns, rounded up."""
    return deviation_ns + math.ceil(deviation_ns * drift) + _ticks(one, other)


def _ticks(one: ClockDomain, other: ClockDomain) -> int:
    return math.ceil((one.tick_ns or 0) + (other.tick_ns or 0))
