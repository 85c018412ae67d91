"""What VK_KHR_calibrated_timestamps promises, as checks of a device.

The assertions are those of Vulkan's own conformance test (VK-GL-CTS, vktPipelineTimestampTests.cpp:
the device's domain, the host's, calibration), and some that it lacks: that the deviation bounds the
distance across domains (`check_across`) and holds the largest tick, and that stamps of one
submission are in order. Each check returns findings, none where all is well; `PROMISES` are all
those of a device.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

import numpy as np

from tracetime.capture.sample import Finding
from tracetime.capture.sampling import Sampler
from tracetime.clocks.domain import ClockDomain
from tracetime.clocks.ids import ClockId
from tracetime.graph.tube.limits import Limits
from tracetime.sources.device import CalibratedDevice
from tracetime.sources.source import ClockSource

DEVIATION_ERROR_NS: Final = 100_000_000
DEVIATION_WARNING_NS: Final = 50_000_000
BATCH_NS: Final = 2_000_000_000
"""How long little work may take; what was read around it says nothing after that."""

SLEEP_NS: Final = 200_000_000
SLEEP_TOLERANCE_NS: Final = 100_000_000
ROUNDS: Final = 64
STAMPS: Final = 16
"""Written in one submission, to see that they are in order."""

Wait = Callable[[int], None]


def sleep(span_ns: int) -> None:
    """Let so many ns go by."""
    time.sleep(span_ns / 1e9)


def check_domains(device: CalibratedDevice) -> list[Finding]:
    """Its own clock and one of the host's are there; unknown ones are no fault."""
    found = []
    if not device.has_device_domain:
        found.append(_error("no_device_domain", device, "its own clock is not calibrated"))
    if not device.host_clocks:
        found.append(_error("no_host_domain", device, "no clock of the host is calibrated"))
    return found


def check_claims(device: CalibratedDevice, calls: int = 16) -> list[Finding]:
    """Deviations of at most 100 ms (a warning above 50 ms, or at 0); no bits above the valid."""
    found: dict[str, Finding] = {}
    for clock in device.host_clocks:
        for _ in range(calls):
            values, deviation_ns = device.calibrate((device.clock, clock))
            for finding in (*_claim(device, deviation_ns), *_bits(device, values[0])):
                found.setdefault(finding.code, finding)
    return list(found.values())


def check_tick(device: CalibratedDevice, hosts: ClockSource, calls: int = 16) -> list[Finding]:
    """Deviations of at least the larger tick of the two clocks.

    A reading is of a moment up to a tick before it was read. Error bars here hold the ticks
    besides: hence a warning.
    """
    for clock in device.host_clocks:
        deviation_ns = min(device.calibrate((device.clock, clock))[1] for _ in range(calls))
        tick_ns = _largest_tick_ns(device.domain(device.clock), hosts.domain(clock))
        if 0 < deviation_ns < tick_ns:
            message = (
                f"it claims a deviation of {deviation_ns} ns from {clock}, where the larger of "
                f"their ticks is {tick_ns} ns"
            )
            return [Finding("deviation_below_tick", device.name, message, "warning")]
    return []


def check_order(device: CalibratedDevice, submissions: int = 8) -> list[Finding]:
    """What the device writes in one submission does not fall from one stamp to the next."""
    for _ in range(submissions):
        for one, other in pairwise(device.stamp(STAMPS)):
            if _ahead(device, one, other) < 0:
                message = (
                    f"within one submission it wrote {one} and then {other}: durations of its "
                    "work cannot be relied on"
                )
                return [_error("stamps_fall", device, message)]
    return []


def check_group(sampler: Sampler, groups: int = 16) -> list[Finding]:
    """The deviation of the host's clocks read as a group bounds it, their ticks included.

    That is not 0, and at least the tick of the COARSE ones; which go with the clock that each is
    the coarse form of: their readings are no farther apart than it says.
    """
    for _ in range(groups):
        snapshot, deviation_ns = sampler.sample_group()
        clocks = {sampler.names[clock]: clock for clock in snapshot.clocks}
        tick_ns, coarsest = max(
            (math.ceil(sampler.domains[clock].tick_ns or 0), name) for name, clock in clocks.items()
        )
        if deviation_ns < max(tick_ns, 1):
            message = f"the group's deviation is {deviation_ns} ns, below a tick of {tick_ns} ns"
            return [Finding("deviation_below_tick", coarsest, message)]
        for name in clocks.keys() & {f"{name}_COARSE" for name in clocks}:
            fine = snapshot.readings[clocks[name.removesuffix("_COARSE")]].value
            coarse = snapshot.readings[clocks[name]].value
            assert isinstance(fine, int)
            assert isinstance(coarse, int)
            if abs(fine - coarse) > deviation_ns:
                message = (
                    f"it was {abs(fine - coarse)} ns from the clock that it is the coarse form of, "
                    f"where the group's deviation is {deviation_ns} ns"
                )
                return [Finding("deviation_across_coarse", name, message)]
    return []


def check_device_domain(device: CalibratedDevice) -> list[Finding]:
    """What the device writes while it works lies between two calibrations around that."""
    before = device.calibrate((device.clock,))[0][0]
    start_ns = time.perf_counter_ns()
    written = device.stamp()[0]
    if time.perf_counter_ns() - start_ns > BATCH_NS:
        return [_error("slow_batch", device, "a command buffer that stamps took over 2 s")]
    after = device.calibrate((device.clock,))[0][0]
    found = _bits(device, written)
    period = 1 << device.valid_bits
    if (written - before) % period > (after - before) % period:
        message = (
            f"it wrote {written} between readings of {before} and {after}: vkCmdWriteTimestamp and "
            "the device's time domain are different clocks; its work cannot be converted"
        )
        found.append(_error("stamps_differ", device, message))
    return found


def check_host_domains(device: CalibratedDevice, hosts: ClockSource) -> list[Finding]:
    """The host's clocks read through the device are those that an application reads."""
    found = []
    for clock in device.host_clocks:
        before = hosts.read(clock)
        shown = device.calibrate((clock,))[0][0]
        after = hosts.read(clock)
        if not before <= shown <= after:
            message = (
                f"{clock} was {shown} for the device, between {before} and {after} for the host: "
                "its driver reads another clock; do not rely on it"
            )
            found.append(_error("host_clock_differs", device, message))
    return found


def check_calibration(
    device: CalibratedDevice, hosts: ClockSource, wait: Wait = sleep
) -> list[Finding]:
    """After 200 ms both clocks have gone on by that, within 100 ms or the two deviations.

    How long it really was, the host's own readings say: a busy machine sleeps longer.
    """
    found = []
    for clock in device.host_clocks:
        outer_ns = hosts.read(clock)
        (ticks, host), first_ns = device.calibrate((device.clock, clock))
        inner_ns = hosts.read(clock)
        wait(SLEEP_NS)
        least_ns = hosts.read(clock) - inner_ns
        (later_ticks, later_host), second_ns = device.calibrate((device.clock, clock))
        most_ns = hosts.read(clock) - outer_ns
        tolerance_ns = max(SLEEP_TOLERANCE_NS, first_ns + second_ns)
        device_ns = math.floor(_ahead(device, ticks, later_ticks) * device.ns_per_tick)
        for code, what, passed_ns in (
            ("device_rate", "its clock", device_ns),
            ("host_rate", str(clock), later_host - host),
        ):
            if not least_ns - tolerance_ns <= passed_ns <= most_ns + tolerance_ns:
                message = f"in {least_ns} to {most_ns} ns {what} went on by {passed_ns} ns"
                found.append(_error(code, device, message))
    return found


def check_across(
    device: CalibratedDevice, hosts: ClockSource, *, wait: Wait = sleep, rounds: int = ROUNDS
) -> list[Finding]:
    """The deviation really bounds how far apart the clocks of one call were read.

    Of the device and a host clock nobody knows the offset; but whatever it is, it changes by no
    more than the drift that both clocks are allowed. Two calibrations whose intervals do not meet
    within that are a deviation too small. Of two host clocks the offset is known, from brackets of
    the host's own. And what the device stamps at work, brought to the host's clock, lies between
    the host's readings around that work.
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
        (ticks, shown), deviation_ns = device.calibrate((device.clock, clock))
        if number == 0:
            first, last = shown, ticks
        total, last = total + _ahead(device, last, ticks), ticks
        at.append(shown - first)
        offsets.append(math.floor(total * device.ns_per_tick) - (shown - first))
        halves.append(half_width_ns(deviation_ns, drift, own, host))
        wait(100_000)
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
    return [_error("deviation_across", device, message)]


def _across_work(device: CalibratedDevice, hosts: ClockSource, clock: ClockId) -> list[Finding]:
    host, own = hosts.domain(clock), device.domain(device.clock)
    drift = Limits.of(host.drift_ppm, own.drift_ppm).drift
    (ticks, shown), deviation_ns = device.calibrate((device.clock, clock))
    before = hosts.read(clock)
    written = device.stamp()[0]
    after = hosts.read(clock)
    at = shown + math.floor(_ahead(device, ticks, written) * device.ns_per_tick)
    bar_ns = half_width_ns(deviation_ns, drift, own, host) + math.ceil((after - shown) * drift) + 1
    if before - bar_ns <= at <= after + bar_ns:
        return []
    message = (
        f"work done between {before} and {after} of {clock} was stamped at what is {at}, more than "
        f"its bar of {bar_ns} ns away: stamps or calibrations are of another clock"
    )
    return [_error("work_outside", device, message)]


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
    return [_error("deviation_across_hosts", device, message)]


def half_width_ns(deviation_ns: int, drift: float, one: ClockDomain, other: ClockDomain) -> int:
    """Of two clocks read together: M (1 + D) and both ticks, ns, rounded up."""
    return deviation_ns + math.ceil(deviation_ns * drift) + _ticks(one, other)


def _ticks(one: ClockDomain, other: ClockDomain) -> int:
    return math.ceil((one.tick_ns or 0) + (other.tick_ns or 0))


def _ahead(device: CalibratedDevice, before: int, after: int) -> int:
    """Ticks from one reading to another, the shorter way round its wrap."""
    period = 1 << device.valid_bits
    ahead = (after - before) % period
    return ahead - period if ahead > period // 2 else ahead


def _largest_tick_ns(*domains: ClockDomain) -> int:
    return max(math.ceil(domain.tick_ns or 0) for domain in domains)


def _claim(device: CalibratedDevice, deviation_ns: int) -> Sequence[Finding]:
    if deviation_ns > DEVIATION_ERROR_NS:
        message = f"its deviation of {deviation_ns} ns is over 100 ms: it says nothing"
        return (_error("deviation_long", device, message),)
    if deviation_ns > DEVIATION_WARNING_NS:
        message = f"its deviation of {deviation_ns} ns is over 50 ms"
        return (Finding("deviation_long", device.name, message, "warning"),)
    if deviation_ns == 0:
        message = "it claims no deviation at all between two clocks"
        return (Finding("deviation_zero", device.name, message, "warning"),)
    return ()


def _bits(device: CalibratedDevice, ticks: int) -> list[Finding]:
    if not ticks >> device.valid_bits:
        return []
    message = f"{ticks:#x} has bits set above the {device.valid_bits} valid ones"
    return [_error("bits_above", device, message)]


def _error(code: str, device: CalibratedDevice, message: str) -> Finding:
    return Finding(code, device.name, f"{device.label}: {message}")


class Promise(NamedTuple):
    """Something that a device promises.

    Attributes:
        name: of the promise, for machines.
        says: what it is.
        check: takes the device, the host's clocks, how to wait, and how many rounds to compare.
    """

    name: str
    says: str
    check: Callable[[CalibratedDevice, ClockSource, Wait, int], list[Finding]]


PROMISES: Final = (
    Promise(
        "domains",
        "its own clock and one of the host's are calibrated",
        lambda device, hosts, wait, rounds: check_domains(device),
    ),
    Promise(
        "claims",
        "deviations are above 0 and up to 100 ms, and readings have their valid bits alone",
        lambda device, hosts, wait, rounds: check_claims(device),
    ),
    Promise(
        "tick",
        "deviations are not below the larger tick of the clocks",
        lambda device, hosts, wait, rounds: check_tick(device, hosts),
    ),
    Promise(
        "device_clock",
        "its work is stamped in the clock that is calibrated",
        lambda device, hosts, wait, rounds: check_device_domain(device),
    ),
    Promise(
        "stamp_order",
        "stamps of one submission do not fall",
        lambda device, hosts, wait, rounds: check_order(device),
    ),
    Promise(
        "host_clocks",
        "the host's clocks are those that applications read",
        lambda device, hosts, wait, rounds: check_host_domains(device, hosts),
    ),
    Promise(
        "rates",
        "over 200 ms both clocks go on by that",
        lambda device, hosts, wait, rounds: check_calibration(device, hosts, wait),
    ),
    Promise(
        "across",
        "the deviation bounds how far apart the clocks were read",
        lambda device, hosts, wait, rounds: check_across(device, hosts, wait=wait, rounds=rounds),
    ),
)
