"""How the kernel steers its clocks, as adjtimex(2) reports it: read live, kept in recordings."""

from __future__ import annotations

from typing import Final, NamedTuple

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
        """How much faster than the hardware's rate the kernel runs its clocks."""
        return self.frequency_scaled / 65_536 + (self.tick_us - _USUAL_TICK_US) * 100.0

    @property
    def synchronized(self) -> bool:
        """Whether something (NTP, PTP) steers the clock."""
        return not self.status & STA_UNSYNC and self.state != TIME_ERROR
