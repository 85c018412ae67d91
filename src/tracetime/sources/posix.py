"""The clocks of Linux's clock_gettime(2), how the kernel steers them, and of which boot they are.

A kernel module reads them without the GIL.
Their numbers are those of include/uapi/linux/time.h. Other systems: `local.py`.
"""

from __future__ import annotations

import contextlib
import ctypes
import sys
import threading
import time
from collections.abc import Callable, Collection, Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final
from uuid import UUID

import numpy as np

from tracetime._kernels.capture import Lag, read_column, read_one
from tracetime.clocks.domain import ClockDomain
from tracetime.clocks.ids import BUILTIN_IDS, ClockId
from tracetime.clocks.kernel_clock import KernelClock
from tracetime.errors import SourceError
from tracetime.sources.names import HOST_OSCILLATOR, TAI, named
from tracetime.sources.source import ClockSource, Unavailable
from tracetime.sources.tick import READINGS, common_resolution

ROUNDS: Final = 16
"""Ticks over which the lag is watched before a COARSE clock is used: 64 ms of 4 ms each."""

REST: Final = 1.618
"""Ticks from one look to the next, later: not a whole number, or all would be at one phase."""

_MOST_WATCHED_NS: Final = 200_000_000
"""A kernel with 100 ticks a second needs 160 ms for the rounds; more would delay the start."""

_LOOKS: Final = 1_024
"""In one call of the kernel: some 0.1 ms."""


class CoarseLag:
    """The lag of one COARSE clock behind its fine form.

    Args:
        fine, coarse: numbers of `clock_gettime`.
    """

    def __init__(self, fine: int, coarse: int) -> None:
        self._codes = fine, coarse
        self._lags = [Lag(fine, coarse)]
        self._first_ns: int | None = None
        self._step_ns = 0

    def tick_ns(self) -> float:
        """The error of its readings at first, ns: the spread of its lag, and a tick.

        The spread is at least a tick, which `clock_getres` gives correctly for these clocks. One
        tick is added because a later tick can come later than any that was seen.

        Raises:
            SourceError: it cannot be read.
        """
        if self._first_ns is None:
            self._step_ns = round(time.clock_getres(self._codes[1]) * 1e9)
            start = last = time.perf_counter_ns()
            while last - start < min(ROUNDS * self._step_ns, _MOST_WATCHED_NS):
                if not self._lags[0].observe(_LOOKS):
                    raise SourceError(
                        f"clock_gettime cannot read clock {self._codes[1]}: leave it out"
                    )
                last = time.perf_counter_ns()
            self._first_ns = max(self._step_ns, self._spread_ns())
        return float(self._first_ns + self._step_ns)

    def grown_ns(self) -> int:
        """The growth of that error until now, ns."""
        if self._first_ns is None:
            return 0
        self._lags[0].observe(1)
        return max(0, self._spread_ns() - self._first_ns)

    def watch(self) -> Callable[[], None]:
        """Watch the lag in a thread that needs no GIL; returns the end of that."""
        self.tick_ns()
        lag = Lag(*self._codes)
        self._lags.append(lag)
        rest_ns = round(REST * self._step_ns)
        thread = threading.Thread(
            target=lag.watch, args=(rest_ns,), name="tracetime lag", daemon=True
        )
        thread.start()

        def end() -> None:
            lag.end()
            thread.join()

        return end

    def _spread_ns(self) -> int:
        most = max(lag.most_ns for lag in self._lags)
        return max(0, most - min(lag.least_ns for lag in self._lags))


CODES: Final[Mapping[str, int]] = MappingProxyType(
    {
        "MONOTONIC_RAW": 4,
        "MONOTONIC": 1,
        "BOOTTIME": 7,
        "REALTIME": 0,
        TAI: 11,
        "MONOTONIC_COARSE": 6,
        "REALTIME_COARSE": 5,
    }
)
"""Numbers of clock_gettime, by name."""

_COARSE: Final = (5, 6)


class PosixSource(ClockSource):
    """REALTIME, MONOTONIC, MONOTONIC_RAW, BOOTTIME, TAI and the two COARSE ones."""

    def __init__(self) -> None:
        self._domains: dict[ClockId, ClockDomain] = {}
        self._codes: dict[ClockId, int] = {}
        clocks: dict[str, ClockId] = {}
        missing = []
        for name, code in CODES.items():
            if not sys.platform.startswith("linux"):
                missing.append(Unavailable(name, "a clock of Linux's clock_gettime"))
            elif read_one(code) is None:
                missing.append(Unavailable(name, f"this kernel has no clock {code}"))
            else:
                clock = ClockId(BUILTIN_IDS[name]) if name in BUILTIN_IDS else named(name)
                clocks[name] = clock
                self._codes[clock] = code
        self._clocks = MappingProxyType(clocks)
        self._unavailable = tuple(missing)
        self._lag = CoarseLag(CODES["MONOTONIC"], CODES["MONOTONIC_COARSE"])

    @property
    def clocks(self) -> Mapping[str, ClockId]:
        return self._clocks

    @property
    def unavailable(self) -> tuple[Unavailable, ...]:
        return self._unavailable

    def domain(self, clock: ClockId) -> ClockDomain:
        made = self._domains.get(clock)
        if made is None:
            code = self._entry(self._codes, clock)
            tick_ns = self._lag.tick_ns() if code in _COARSE else fine_tick_ns(code)
            if code == CODES[TAI]:
                made = ClockDomain(
                    clock, TAI, tick_ns, oscillator=HOST_OSCILLATOR, disciplined=True
                )
            else:
                made = ClockDomain(clock, str(clock), tick_ns)
            self._domains[clock] = made
        return made

    def note(self, clock: ClockId) -> str | None:
        if self._codes.get(clock) != CODES[TAI]:
            return None
        return tai_note()

    def native_code(self, clock: ClockId) -> int | None:
        return self._codes.get(clock)

    def lag_ns(self, clock: ClockId) -> int:
        return self._lag.grown_ns() if self._codes.get(clock) in _COARSE else 0

    def watch(self, clocks: Collection[ClockId]) -> Callable[[], None]:
        if any(self._codes.get(clock) in _COARSE for clock in clocks):
            return self._lag.watch()
        return super().watch(clocks)

    def read(self, clock: ClockId) -> int:
        value = read_one(self._entry(self._codes, clock))
        if value is None:
            raise SourceError(f"clock_gettime no longer reads {clock}: leave it out")
        return value


def tai_note() -> str | None:
    """The note on TAI, if anything is wrong: without an offset in the kernel it is REALTIME."""
    state = read_adjtimex()
    if state is not None and state.tai_s:
        return None
    tai, realtime = read_one(CODES[TAI]), read_one(CODES["REALTIME"])
    # Without adjtimex the two clocks show it: an offset is whole seconds, and reads are close.
    if state is None and tai is not None and realtime is not None:
        if abs(tai - realtime) > 500_000_000:
            return None
        return "equals REALTIME: the kernel has no TAI offset; chrony or ptp4l can set it"
    return (
        "equals REALTIME: the kernel has no TAI offset (adjtimex says 0); "
        "chrony or ptp4l can set it"
    )


def fine_tick_ns(code: int) -> float:
    """The tick of a fine clock, ns: the common step of the differences of its readings.

    Raises:
        SourceError: it cannot be read.
    """
    column = np.empty(READINGS, dtype=np.int64)
    if not read_column(code, column, True):
        raise SourceError(f"clock_gettime cannot read clock {code}: leave it out")
    return common_resolution(np.diff(column)) or max(time.clock_getres(code) * 1e9, 1.0)


# The boot of the kernel from which the clocks of this machine count.

_BOOT_ID: Final = Path("/proc/sys/kernel/random/boot_id")
_OFFSETS: Final = Path("/proc/self/timens_offsets")


def boot_id(path: Path = _BOOT_ID, offsets: Path = _OFFSETS) -> bytes:
    """The 16 bytes by which Linux tells boots apart; empty where it does not.

    Empty, too, in a time namespace with clocks of its own: they are not those of the boot.

    Args:
        path: has the id.
        offsets: has a line for each clock of the namespace: name, seconds, ns.
    """
    with contextlib.suppress(OSError, ValueError):
        if not in_time_namespace(offsets):
            return UUID(path.read_text().strip()).bytes
    return b""


def in_time_namespace(offsets: Path = _OFFSETS) -> bool:
    """Whether MONOTONIC and BOOTTIME of this process are not those of the boot.

    Raises:
        OSError, ValueError: Linux says so in no way that is known.
    """
    if not offsets.exists():
        return False
    lines = offsets.read_text().splitlines()
    return any(any(map(int, line.split()[1:])) for line in lines)


# The kernel's steering of this machine's clocks, read with adjtimex(2).
#
# The call only reads (modes 0) and needs no privilege. Linux only.

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
