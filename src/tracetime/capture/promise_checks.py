"""`calibrate --check`: checks of every promise of every device, and of the host."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, Final, NamedTuple

from tracetime.capture.deviation_bounds import ROUNDS, Wait, check_across, sleep
from tracetime.capture.sample import Finding, device_error
from tracetime.capture.sampling import Sampler
from tracetime.clocks.domain import ClockDomain
from tracetime.clocks.ids import ClockLike
from tracetime.clocks.json_facts import as_json
from tracetime.errors import SourceError
from tracetime.sources.device import CalibratedDevice
from tracetime.sources.local import LocalClocks
from tracetime.sources.names import HOST
from tracetime.sources.source import ClockSource, Unavailable

if TYPE_CHECKING:
    from msgspec import Meta

    from tracetime.clocks.json_types import NotEmpty

# The promises of VK_KHR_calibrated_timestamps, as checks of a device.
#
# The assertions are those of Vulkan's own conformance test (VK-GL-CTS,
# vktPipelineTimestampTests.cpp: the device's domain, the host's, calibration), and some that it
# lacks: that the deviation bounds the distance across domains (deviation_bounds.py) and holds the
# largest tick, and that stamps of one submission are in order. Each check returns findings, none
# if all is well; `PROMISES` are all those of a device.

# The conformance test's own limits. A stamp that takes longer than BATCH_NS says nothing: the
# readings around it are too far apart.
DEVIATION_ERROR_NS: Final = 100_000_000
DEVIATION_WARNING_NS: Final = 50_000_000
BATCH_NS: Final = 2_000_000_000
SLEEP_NS: Final = 200_000_000
SLEEP_TOLERANCE_NS: Final = 100_000_000

STAMPS: Final = 16
"""In one submission, to see whether they are in order: enough for a pattern, and soon written."""


def check_domains(device: CalibratedDevice) -> list[Finding]:
    """The device calibrates its own clock and one of the host's; unknown ones are no fault."""
    found = []
    if not device.has_device_domain:
        found.append(device_error("no_device_domain", device, "its own clock is not calibrated"))
    if not device.host_clocks:
        found.append(device_error("no_host_domain", device, "no clock of the host is calibrated"))
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

    A clock shows a moment up to a tick before it is read. Error bars here include the ticks
    anyway: hence only a warning.
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
    """The stamps that the device writes in one submission do not decrease."""
    for _ in range(submissions):
        for one, other in pairwise(device.stamp(STAMPS)):
            if device.ticks_between(one, other) < 0:
                message = (
                    f"within one submission it wrote {one} and then {other}: durations of its "
                    "work cannot be relied on"
                )
                return [device_error("stamps_fall", device, message)]
    return []


def check_group(sampler: Sampler, groups: int = 16) -> list[Finding]:
    """The deviation of the host's clocks read as a group bounds it, their ticks included.

    That is not 0, and at least the tick of the COARSE clocks. A COARSE clock and its fine form are
    no farther apart than it says.
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
    """A stamp that the device writes is between two calibrations around it."""
    before = device.calibrate((device.clock,))[0][0]
    start_ns = time.perf_counter_ns()
    written = device.stamp()[0]
    if time.perf_counter_ns() - start_ns > BATCH_NS:
        return [device_error("slow_batch", device, "work that it stamps took over 2 s")]
    after = device.calibrate((device.clock,))[0][0]
    found = _bits(device, written)
    period = 1 << device.valid_bits
    if (written - before) % period > (after - before) % period:
        message = (
            f"it wrote {written} between readings of {before} and {after}: its work is stamped in "
            "another clock than the one that is calibrated, and cannot be converted"
        )
        found.append(device_error("stamps_differ", device, message))
    return found


def check_host_domains(device: CalibratedDevice, hosts: ClockSource) -> list[Finding]:
    """The host's clocks read through the device are those that an application reads."""
    found = []
    for clock in device.host_clocks:
        before = hosts.read(clock)
        calibrated = device.calibrate((clock,))[0][0]
        after = hosts.read(clock)
        if not before <= calibrated <= after:
            message = (
                f"{clock} was {calibrated} for the device, between {before} and {after} for the "
                "host: its driver reads another clock; do not rely on it"
            )
            found.append(device_error("host_clock_differs", device, message))
    return found


def check_calibration(
    device: CalibratedDevice, hosts: ClockSource, wait: Wait = sleep
) -> list[Finding]:
    """After 200 ms both clocks have advanced by that, within 100 ms or the two deviations.

    The host's own readings say how long the sleep was: a busy machine sleeps longer.
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
        device_ns = math.floor(device.ticks_between(ticks, later_ticks) * device.ns_per_tick)
        for code, what, passed_ns in (
            ("device_rate", "its clock", device_ns),
            ("host_rate", str(clock), later_host - host),
        ):
            if not least_ns - tolerance_ns <= passed_ns <= most_ns + tolerance_ns:
                message = f"in {least_ns} to {most_ns} ns {what} went on by {passed_ns} ns"
                found.append(device_error(code, device, message))
    return found


def _largest_tick_ns(*domains: ClockDomain) -> int:
    return max(math.ceil(domain.tick_ns or 0) for domain in domains)


def _claim(device: CalibratedDevice, deviation_ns: int) -> Sequence[Finding]:
    if deviation_ns > DEVIATION_ERROR_NS:
        message = f"its deviation of {deviation_ns} ns is over 100 ms: it says nothing"
        return (device_error("deviation_long", device, message),)
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
    return [device_error("bits_above", device, message)]


class Promise(NamedTuple):
    """A promise of a device.

    Attributes:
        name: of the promise, for machines.
        says: the promise, for people.
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


_GROUP: Final = ("group", "the deviation of the host's clocks read as a group holds their ticks")


@as_json("promise says holds findings error")
class PromiseResult(NamedTuple):
    """The result of checking one promise.

    Attributes:
        promise: its name.
        says: the promise in words.
        findings: how it is broken.
        error: why it was not checked; null where it was.
    """

    promise: Annotated[
        str, Meta(extra_json_schema={"enum": ["group", *(one.name for one in PROMISES)]})
    ]
    says: str
    findings: tuple[Finding, ...] = ()
    error: str | None = None

    @property
    def holds(self) -> bool | None:
        """Whether the promise is kept; null: it was not checked."""
        return None if self.error is not None else not self.findings

    @property
    def fails(self) -> bool:
        """Whether results cannot be relied on, or it is unknown."""
        return self.error is not None or any(one.severity == "error" for one in self.findings)


class DeviceResult(NamedTuple):
    """A device, or the host, and its promises.

    Attributes:
        name: the name of its clock; `host` for the host.
        short_name: what --clock may call it, too: `vulkan:0`.
        label: what its maker calls it.
        promises: what it promises.
    """

    name: str
    short_name: str
    label: str
    promises: Annotated[tuple[PromiseResult, ...], NotEmpty]

    @property
    def fails(self) -> bool:
        """Whether any promise fails."""
        return any(one.fails for one in self.promises)


def check(
    clocks: Iterable[ClockLike] | None = None,
    *,
    sources: Sequence[ClockSource] | None = None,
    wait: Wait = sleep,
    rounds: int = ROUNDS,
) -> tuple[list[DeviceResult], list[Unavailable]]:
    """Check the devices among these clocks, and the host.

    Args:
        clocks, sources: as `Sampler`; all devices if None.
        wait: waits for so many ns.
        rounds: calibrations to compare.

    Returns:
        what was checked, the host first; and which clocks are not available.

    Raises:
        UsageError: a name that is no clock.
        SourceError: a requested clock is not available.
    """
    local = LocalClocks(sources)
    try:
        if clocks is None:
            found, missing = local.everything(), [*local.unavailable]
        else:
            found, missing = [one for clock in clocks for one in local.find(clock)], []
        devices = {
            one.clock: one.source for one in found if isinstance(one.source, CalibratedDevice)
        }
        checked = [DeviceResult(HOST, HOST, HOST, (_group(sources),))]
        for device in devices.values():
            hosts = local.find(device.host_clocks[0])[0].source if device.host_clocks else device
            kept = tuple(
                _check_promise(promise, device, hosts, wait, rounds) for promise in PROMISES
            )
            checked.append(
                DeviceResult(device.name, local.short_name(device.name), device.label, kept)
            )
        return checked, missing
    finally:
        local.close()


def _check_promise(
    promise: Promise, device: CalibratedDevice, hosts: ClockSource, wait: Wait, rounds: int
) -> PromiseResult:
    return _result_of(
        promise.name, promise.says, lambda: promise.check(device, hosts, wait, rounds)
    )


def _group(sources: Sequence[ClockSource] | None) -> PromiseResult:
    def group() -> list[Finding]:
        with Sampler([HOST] if sources is None else None, sources=sources) as sampler:
            return check_group(sampler)

    return _result_of(*_GROUP, group)


def _result_of(name: str, says: str, findings: Callable[[], list[Finding]]) -> PromiseResult:
    try:
        return PromiseResult(name, says, tuple(findings()))
    except SourceError as error:
        return PromiseResult(name, says, error=str(error))
