"""The result of sampling: a snapshot with its half-widths, and the faults that were seen."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from tracetime.clocks.domain import ClockDomain
from tracetime.clocks.ids import BUILTIN_IDS, ClockId
from tracetime.clocks.kernel_clock import KernelClock, WallBound
from tracetime.clocks.snapshot import Snapshot, single
from tracetime.errors import SourceError, UsageError
from tracetime.graph.tube.limits import Limits
from tracetime.graph.tube.results import Bounds
from tracetime.sources.device import CalibratedDevice
from tracetime.sources.time_service.service import TimeService

if TYPE_CHECKING:
    from tracetime.clocks.json_types import FaultCode


class Finding(NamedTuple):
    """A fault of a clock.

    Attributes:
        code: its kind.
        clock: the name of the clock.
        message: what happened, with numbers, and what to do.
        severity: what uses this clock is wrong, or may be.
    """

    code: FaultCode
    clock: str
    message: str
    severity: Literal["error", "warning"] = "error"


def device_error(code: str, device: CalibratedDevice, message: str) -> Finding:
    """A finding of a device; its message begins with the device's label."""
    return Finding(code, device.name, f"{device.label}: {message}")


class Count(NamedTuple):
    """A counter's reading: raw, and with its wraps undone."""

    raw: int
    ticks: int

    def ns(self, domain: ClockDomain) -> int:
        """The nominal ns, by the exact fraction of the clock's domain, rounded down."""
        assert domain.ns_per_tick is not None
        return math.floor(self.ticks * domain.ns_per_tick)


@dataclass(frozen=True, slots=True)
class Sample:
    """A reading of all clocks at nearly one instant.

    Attributes:
        snapshot: readings in ns (counters unwrapped, by their exact fraction; all but those of
            coarse ticks taken back to when the reference was read), half-widths and centres against
            its reference. A half-width includes the bracket, how far the clocks' rates may differ
            within it and in the time taken back, and both ticks.
        counts: the readings of the clocks that count ticks.
        domains: the properties of each clock.
        adjtimex: what steers the clocks, read right after; None if the system has no such call.
        failed: clocks that could not be read this time, and why.
        findings: faults of the clocks.
        wall_bound: how far UTC is from the snapshot's REALTIME, as the sampler's `TimeService` has
            it; None without one, where nothing states a bound, or where REALTIME or MONOTONIC_RAW
            is not sampled.
    """

    snapshot: Snapshot
    counts: Mapping[ClockId, Count]
    domains: Mapping[ClockId, ClockDomain]
    adjtimex: KernelClock | None
    failed: Mapping[ClockId, str]
    findings: tuple[Finding, ...]
    wall_bound: WallBound | None = None

    def nominal_ns(self, clock: ClockId, raw_ticks: int) -> int:
        """A raw count of a clock in ns as the snapshots have it, rounded down.

        Its wraps are undone: the result is within half a wrap of this sample's own count.

        Raises:
            UsageError: the clock counts no ticks.
            SourceError: it was not read in this sample.
        """
        count, domain, rate = self._counter(clock)
        period = 1 << domain.valid_bits
        ahead = (raw_ticks - count.raw) % period
        if ahead >= period // 2:
            ahead -= period
        return math.floor((count.ticks + ahead) * rate)

    def predict(
        self, device: ClockId, host_time_ns: int, host: ClockId | None = None
    ) -> Bounds[int, int]:
        """The count that a device's clock will read when a host's clock reads `host_time_ns`.

        That is the calibrated count and the time since, divided by the nominal length of a tick
        (Vulkan's timestampPeriod). Its bar holds while both clocks keep their declared limits, and
        grows with the time since this sample: calibrate again to shrink it.

        Args:
            device: a clock that counts ticks.
            host_time_ns: ns of the host's clock, before or after the sample.
            host: which; None for the reference.

        Returns:
            estimate, earliest, latest: ticks, unwrapped. The device reads these modulo
            2 ** valid_bits.

        Raises:
            SourceError: one of the clocks could not be read in this sample.
            UsageError: `device` does not count ticks.
        """
        reference = self.snapshot.reference
        assert reference is not None
        host = reference if host is None else host
        count, other, rate = self._counter(device)
        self._check(host)
        read_ns, centre_ns, half_ns = self._read(host)
        device_ns, device_centre_ns, device_half_ns = self._read(device)
        # The count is of when the device was read; the snapshot's reading may be taken back.
        device_centre_ns += count.ns(other) - device_ns
        passed_ns = host_time_ns - read_ns
        apart_ns = centre_ns - device_centre_ns
        drift = Limits.of(self.domains[host].drift_ppm, other.drift_ppm).drift
        bar_ns = (
            half_ns
            + device_half_ns
            + math.ceil(abs(apart_ns) * drift)
            + math.ceil(abs(passed_ns) * drift)
            + 1
        )
        ticks = count.ticks
        since = passed_ns + apart_ns
        return Bounds(
            ticks + round(since / rate),
            ticks + math.floor((since - bar_ns) / rate),
            ticks + math.ceil((since + bar_ns) / rate),
        )

    def _check(self, clock: ClockId) -> None:
        if clock not in self.snapshot.readings:
            reason = self.failed.get(clock, "it was not requested")
            raise SourceError(f"{clock} is not in this sample: {reason}")

    def _counter(self, clock: ClockId) -> tuple[Count, ClockDomain, Fraction]:
        self._check(clock)
        domain = self.domains[clock]
        if clock not in self.counts or domain.ns_per_tick is None:
            raise UsageError(f"{clock} counts no ticks: what it reads is ns")
        return self.counts[clock], domain, domain.ns_per_tick

    def _read(self, clock: ClockId) -> tuple[int, int, int]:
        """The reading, centre and half-width of one clock, ns."""
        value = self.snapshot.readings[clock].value
        assert isinstance(value, int)
        centre = self.snapshot.centre_ns.get(clock)
        half = self.snapshot.half_width_ns.get(clock)
        return (value, 0 if centre is None else int(centre[0]), 0 if half is None else int(half[0]))


# The distance of UTC from REALTIME at a sample, as a time service of this machine bounds it.

_REALTIME: Final = ClockId(BUILTIN_IDS["REALTIME"])
_RAW: Final = ClockId(BUILTIN_IDS["MONOTONIC_RAW"])
_STEERED: Final = 8
"""By that part the rates of two clocks differ at most: chronyd steers by up to 1/12."""


class WallBounds:
    """The bounds of REALTIME in samples, one after the other.

    A sample is bounded after it is taken: what the service is asked then does not disturb it.

    Args:
        service: bounds true time; None for no bounds.
        clocks: that are sampled. Bounds need REALTIME and MONOTONIC_RAW among them.
    """

    def __init__(self, service: TimeService | None, clocks: Collection[ClockId]) -> None:
        self._service = service if {_REALTIME, _RAW} <= {*clocks} else None
        if self._service is not None:
            # From its first answer on it notices that REALTIME is set.
            with contextlib.suppress(SourceError):
                self._service.now()

    def of(self, snapshot: Snapshot) -> WallBound | None:
        """The bound of REALTIME in a snapshot that has just been taken; None without one."""
        if self._service is None or not {_REALTIME, _RAW} <= snapshot.readings.keys():
            return None
        real_ns, raw_ns = (single(snapshot.readings[one].value) for one in (_REALTIME, _RAW))
        try:
            true = self._service.at(raw_ns, real_ns)
        except SourceError:
            return None
        apart_ns = abs(_of(snapshot.centre_ns, _REALTIME) - _of(snapshot.centre_ns, _RAW))
        halves_ns = _of(snapshot.half_width_ns, _REALTIME) + _of(snapshot.half_width_ns, _RAW)
        # Between the two readings each clock went on at a rate of its own.
        within_ns = apart_ns + halves_ns
        within_ns += within_ns // _STEERED + 1
        return WallBound(
            true.earliest_ns - real_ns - within_ns,
            true.latest_ns - real_ns + within_ns,
            true.source,
        )


def _of(columns: Any, clock: ClockId) -> int:
    """A half-width or centre; 0 for the reference."""
    return int(columns[clock][0]) if clock in columns else 0
