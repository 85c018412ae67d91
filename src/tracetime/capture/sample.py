"""What sampling gives: a snapshot with its half-widths, and what was seen beside it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from tracetime.clocks import ClockId
from tracetime.domain import ClockDomain
from tracetime.errors import SourceError, UsageError
from tracetime.graph.bounds import Bounds
from tracetime.graph.tube.limits import Limits
from tracetime.snapshot import Snapshot
from tracetime.sources.adjtimex import AdjtimexState


class Finding(NamedTuple):
    """Something that a clock did and should not do.

    Attributes:
        code: `went_back`, `host_clock_differs`, `bits_above`, and those of `promises.py`.
        clock: the clock's name.
        message: what was seen, with numbers, and what to do.
        severity: `error`: what rests on this clock cannot be relied on; or `warning`.
    """

    code: str
    clock: str
    message: str
    severity: str = "error"


class Count(NamedTuple):
    """A counter's reading: as it was read, and with its wraps undone."""

    raw: int
    ticks: int


@dataclass(frozen=True, slots=True)
class Sample:
    """The clocks at nearly one instant.

    Attributes:
        snapshot: readings in ns (counters unwrapped, by their exact fraction), half-widths and
            centres against its reference. A half-width holds the bracket, how far the clocks' rates
            may differ within it, and both ticks.
        counts: of the clocks that count ticks, what was read.
        domains: what each clock is like.
        adjtimex: what steers the clocks, read right after; None where the system has none.
        failed: clocks that could not be read this time, and why.
        findings: what clocks did that they should not.
    """

    snapshot: Snapshot
    counts: Mapping[ClockId, Count]
    domains: Mapping[ClockId, ClockDomain]
    adjtimex: AdjtimexState | None
    failed: Mapping[ClockId, str]
    findings: tuple[Finding, ...]

    def predict(self, device: ClockId, host_time_ns: int, host: ClockId | None = None) -> Bounds:
        """The count that a device's clock will show when a host's clock reads `host_time_ns`.

        That is the calibrated count and the time since, divided by the nominal length of a tick
        (Vulkan's timestampPeriod). Its bar holds while both clocks keep their declared limits, and
        grows with the time since this sample: calibrate again to shrink it.

        Args:
            device: a clock that counts ticks.
            host_time_ns: ns of the host's clock, before or after the sample.
            host: which; the reference if not said.

        Returns:
            estimate, earliest, latest: ticks, unwrapped. What the device shows is these modulo
            2 ** valid_bits.

        Raises:
            SourceError: one of the clocks could not be read in this sample.
            UsageError: `device` does not count ticks.
        """
        reference = self.snapshot.reference
        assert reference is not None
        host = reference if host is None else host
        for clock in (device, host):
            if clock not in self.snapshot.readings:
                reason = self.failed.get(clock, "it was not asked for")
                raise SourceError(f"{clock} is not in this sample: {reason}")
        rate = self.domains[device].ns_per_tick
        if device not in self.counts or rate is None:
            raise UsageError(f"{device} counts no ticks: convert to it instead")
        read_ns, centre_ns, half_ns = self._read(host)
        _, device_centre_ns, device_half_ns = self._read(device)
        passed_ns = host_time_ns - read_ns
        apart_ns = centre_ns - device_centre_ns
        one, other = self.domains[host], self.domains[device]
        drift = Limits.of(one.drift_ppm, other.drift_ppm).drift
        bar_ns = (
            half_ns
            + device_half_ns
            + math.ceil(abs(apart_ns) * drift)
            + math.ceil(abs(passed_ns) * drift)
            + 1
        )
        ticks = self.counts[device].ticks
        since = passed_ns + apart_ns
        return Bounds(
            ticks + round(since / rate),
            ticks + math.floor((since - bar_ns) / rate),
            ticks + math.ceil((since + bar_ns) / rate),
        )

    def _read(self, clock: ClockId) -> tuple[int, int, int]:
        """Reading, centre and half-width of one clock, ns."""
        value = self.snapshot.readings[clock].value
        assert isinstance(value, int)
        centre = self.snapshot.centre_ns.get(clock)
        half = self.snapshot.half_width_ns.get(clock)
        return (
            value,
            0 if centre is None else int(centre[0]),
            0 if half is None else int(half[0]),
        )
