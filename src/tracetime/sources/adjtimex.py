"""The kernel's steering of this machine's clocks, read with adjtimex(2).

The call only reads (modes 0) and needs no privilege. Linux only.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from functools import cache
from typing import Any, Final

from tracetime.clocks.kernel_clock import KernelClock

STA_NANO: Final = 0x2000


class _Timex(ctypes.Structure):
    """struct timex of linux/timex.h: 208 bytes with a long of 8."""

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


def read_adjtimex() -> KernelClock | None:
    """The present state, in about 2 us; None if the system has no such call, or forbids it."""
    call = _call()
    if call is None:
        return None
    timex = _Timex()  # all zero: modes 0 sets nothing
    state = call(ctypes.byref(timex))
    if state < 0:
        return None
    return KernelClock(
        timex.freq,
        timex.tick,
        timex.offset if timex.status & STA_NANO else timex.offset * 1_000,
        timex.maxerror,
        timex.esterror,
        timex.status,
        state,
        timex.tai,
    )
