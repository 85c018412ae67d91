"""What steers this machine's clocks: the kernel's state of its clock, read with adjtimex(2).

Only read: the call sets nothing (modes 0) and needs no privilege. Linux only.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from functools import cache
from typing import Any, Final, NamedTuple

STA_UNSYNC: Final = 0x0040
STA_NANO: Final = 0x2000
TIME_ERROR: Final = 5
_USUAL_TICK_US: Final = 10_000


class AdjtimexState(NamedTuple):
    """The kernel's state of its clock at some moment; fields as adjtimex(2) has them.

    Attributes:
        frequency_scaled: the frequency correction, in 2^-16 ppm.
        tick_us: length of a kernel tick, us; other than 10,000 it is a correction too.
        offset_ns: what remains to be slewed.
        maxerror_us, esterror_us: how far REALTIME may be off, as whoever steers it says.
        status: STA_ bits.
        state: what the call returned: 5 (TIME_ERROR) is a clock that nothing steers.
        tai_s: TAI less UTC, s; 0 where the kernel was told none.
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
        """By how much the kernel makes its clocks run faster than the hardware's rate says."""
        return self.frequency_scaled / 65_536 + (self.tick_us - _USUAL_TICK_US) * 100.0

    @property
    def synchronized(self) -> bool:
        """Whether something (NTP, PTP) steers the clock."""
        return not self.status & STA_UNSYNC and self.state != TIME_ERROR


class _Timex(ctypes.Structure):
    """struct timex of linux/timex.h: 208 bytes where a long has 8."""

    _fields_ = (
        ("modes", ctypes.c_uint),
        ("offset", ctypes.c_long),
        ("freq", ctypes.c_long),
        ("maxerror", ctypes.c_long),
        ("esterror", ctypes.c_long),
        ("status", ctypes.c_int),
        ("constant", ctypes.c_long),
        ("precision", ctypes.c_long),
        ("tolerance", ctypes.c_long),
        ("time_s", ctypes.c_long),
        ("time_us", ctypes.c_long),
        ("tick", ctypes.c_long),
        ("ppsfreq", ctypes.c_long),
        ("jitter", ctypes.c_long),
        ("shift", ctypes.c_int),
        ("stabil", ctypes.c_long),
        ("jitcnt", ctypes.c_long),
        ("calcnt", ctypes.c_long),
        ("errcnt", ctypes.c_long),
        ("stbcnt", ctypes.c_long),
        ("tai", ctypes.c_int),
        ("_unused", ctypes.c_int * 11),
    )


@cache
def _call() -> Callable[[Any], int] | None:
    if not sys.platform.startswith("linux") or ctypes.sizeof(ctypes.c_long) != 8:
        return None
    try:
        call = ctypes.CDLL(None).adjtimex
    except (OSError, AttributeError):
        return None
    call.argtypes = [ctypes.c_void_p]
    call.restype = ctypes.c_int
    return call


def read_adjtimex() -> AdjtimexState | None:
    """The state now, in about 2 us; None where the system has none (or forbids the call)."""
    call = _call()
    if call is None:
        return None
    timex = _Timex()  # all zero: modes 0 sets nothing
    state = call(ctypes.byref(timex))
    if state < 0:
        return None
    return AdjtimexState(
        timex.freq,
        timex.tick,
        timex.offset if timex.status & STA_NANO else timex.offset * 1_000,
        timex.maxerror,
        timex.esterror,
        timex.status,
        state,
        timex.tai,
    )
