"""The kernel's steering of its clocks, as adjtimex(2) reports it: read live, kept in recordings."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

# The distance of UTC from REALTIME, as a time service bounds it: live, and in recordings.

Values = npt.NDArray[np.int64]

MOST_WALL_BOUND_NS: Final = 1 << 50
"""A bound beyond 13 days is of no use, and sums of such bounds would overflow."""

TIME_SERVICES: Final = ("clockbound", "chrony", "adjtimex", "ptp4l")
"""The names of the services that bound a clock. A recording has their places here, from 1."""

_STEERED: Final = 8
"""chronyd changes the rate of REALTIME by up to 1/12."""


class WallBound(NamedTuple):
    """The bound of REALTIME at a reading.

    Attributes:
        earliest_ns, latest_ns: UTC less the reading was neither below nor above that, ns.
        source: the time service that says so: `clockbound`, `chrony`, `ptp4l` or
            `adjtimex`.
    """

    earliest_ns: int
    latest_ns: int
    source: str


def contradiction(times: Values, earliest: Values, latest: Values) -> tuple[int, int] | None:
    """The first bound that no course of REALTIME reaches from the earlier ones, and its error, ns.

    None where there is one; it is steered by up to 1/8.

    Args:
        times: what REALTIME read, ns, in the order of the readings.
        earliest, latest: bounds of UTC less each, ns.
    """
    low, high, before_ns = int(earliest[0]), int(latest[0]), int(times[0])
    bounds = zip(times.tolist(), earliest.tolist(), latest.tolist(), strict=True)
    for place, (at_ns, least, most) in enumerate(bounds):
        steered_ns = abs(at_ns - before_ns) // _STEERED
        low, high, before_ns = max(low - steered_ns, least), min(high + steered_ns, most), at_ns
        if low > high:
            return place, low - high
    return None


STA_UNSYNC: Final = 0x0040
TIME_ERROR: Final = 5
MAXERROR_LACKS_US: Final = 500
"""The kernel lets maxerror grow by 500 ppm, but once a second: up to a second of it is missing."""
_USUAL_TICK_US: Final = 10_000


class KernelClock(NamedTuple):
    """The kernel's state of its clock at some moment; fields as adjtimex(2) has them.

    Attributes:
        frequency_scaled: the frequency correction, in 2^-16 ppm.
        tick_us: length of a kernel tick, us; other than 10,000 it is a correction too.
        offset_ns: what remains to be slewed.
        maxerror_us, esterror_us: how far REALTIME may be off, as the steering program says.
        status: STA_ bits.
        state: the result of the call: 5 (TIME_ERROR) is a clock that nothing steers.
        tai_s: TAI less UTC, s; 0 where the kernel does not know it.
    """

    frequency_scaled: int
    tick_us: int
    offset_ns: int
    maxerror_us: int
    esterror_us: int
    status: int
    state: int
    tai_s: int

    @property
    def frequency_ppm(self) -> float:
        """The correction of the hardware's rate by which the kernel runs its clocks, ppm."""
        return self.frequency_scaled / 65_536 + (self.tick_us - _USUAL_TICK_US) * 100.0

    @property
    def synchronized(self) -> bool:
        """Whether something (NTP, PTP) steers the clock."""
        return not self.status & STA_UNSYNC and self.state != TIME_ERROR
