"""The time stamp counter of x86-64, raw, as global clock `dev.tracetime.tsc`.

Its rate is measured once, against MONOTONIC_RAW, and is then fixed: one exact fraction converts
readings to ns. An error of that rate appears as drift, and is measured like any drift. The
measurement begins when the source is made, so that other work can be done meanwhile.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from types import MappingProxyType
from typing import Final

import numpy as np

from tracetime._kernels.capture import (
    TSC_CODE,
    Brackets,
    has_tsc,
    read_column,
    read_one,
    tsc_is_steady,
)
from tracetime.clocks.domain import CRYSTAL_DRIFT_PPM, ClockDomain
from tracetime.clocks.ids import ClockId
from tracetime.errors import SourceError
from tracetime.sources.names import HOST_OSCILLATOR, TSC, named
from tracetime.sources.posix import CODES
from tracetime.sources.source import ClockSource, Unavailable
from tracetime.sources.tick import READINGS, common_step

RATE_SECONDS: Final = 0.05
"""How long the rate is measured: two brackets of 20 ns are then within 1 ppm."""

_RATE_DENOMINATOR: Final = 1 << 24
"""Far finer than the rate is measured, and small enough for products in 128 bits."""
_CLOCKSOURCE: Final = Path("/sys/devices/system/clocksource/clocksource0/current_clocksource")


class TscSource(ClockSource):
    """The time stamp counter, if there is one with a constant rate."""

    def __init__(self) -> None:
        self._clock = named(TSC)
        self._domain: ClockDomain | None = None
        self._reason: str | None = None
        if not has_tsc():
            self._reason = "only processors of kind x86-64 have a time stamp counter"
        elif not tsc_is_steady():
            self._reason = (
                "this processor does not say that its time stamp counter keeps one rate "
                "(CPUID 8000_0007): a virtual machine may hide it"
            )
        elif read_one(CODES["MONOTONIC_RAW"]) is None:
            self._reason = "no MONOTONIC_RAW to measure its rate against"
        self._rate = None if self._reason else RateMeasurement()

    @property
    def clocks(self) -> Mapping[str, ClockId]:
        return MappingProxyType({} if self._reason else {TSC: self._clock})

    @property
    def unavailable(self) -> tuple[Unavailable, ...]:
        return (Unavailable(TSC, self._reason),) if self._reason else ()

    def domain(self, clock: ClockId) -> ClockDomain:
        self._check(clock)
        if self._domain is None:
            assert self._rate is not None
            rate = self._rate.end()
            column = np.empty(READINGS, dtype=np.int64)
            read_column(TSC_CODE, column, True)
            step_ticks = common_step(np.diff(column)) or 1.0
            shared = drives_the_kernel()
            self._domain = ClockDomain(
                clock,
                TSC,
                step_ticks * float(rate),
                ns_per_tick=rate,
                max_drift_ppm=CRYSTAL_DRIFT_PPM,
                oscillator=HOST_OSCILLATOR if shared else TSC,
                disciplined=False,
            )
        return self._domain

    def native_code(self, clock: ClockId) -> int | None:
        return None if self._reason or clock != self._clock else TSC_CODE

    def read(self, clock: ClockId) -> int:
        self._check(clock)
        value = read_one(TSC_CODE)
        assert value is not None
        return value

    def _check(self, clock: ClockId) -> None:
        if clock != self._clock:
            raise SourceError(f"{clock} is not the time stamp counter: use {TSC}")
        if self._reason:
            raise SourceError(f"no time stamp counter: {self._reason}")


def drives_the_kernel(counter: str = "tsc") -> bool:
    """Whether the kernel's clocks run on a counter (then they share its crystal).

    Args:
        counter: as the kernel calls it.
    """
    try:
        return _CLOCKSOURCE.read_text().strip() == counter
    except OSError:
        return False


class RateMeasurement:
    """ns of MONOTONIC_RAW per tick of the counter, from two brackets: now, and at the end.

    Args:
        code: of the counter, for the kernel.
    """

    def __init__(self, code: int = TSC_CODE) -> None:
        self._pair = Brackets([CODES["MONOTONIC_RAW"], code], [0.0, 0.0], [0, 0], 50)
        self._begin_s = time.monotonic()
        self._begin_ns, self._begin_ticks = self._read()

    def end(self) -> Fraction:
        """The rate; waits until RATE_SECONDS have passed.

        Raises:
            SourceError: the counter stands still, or runs backwards.
        """
        left_s = self._begin_s + RATE_SECONDS - time.monotonic()
        if left_s > 0:
            time.sleep(left_s)
        ns, ticks = self._read()
        span_ns, span_ticks = ns - self._begin_ns, ticks - self._begin_ticks
        if span_ns <= 0 or span_ticks <= 0:
            raise SourceError("the counter stands still, or runs backwards: leave it out")
        return Fraction(span_ns, span_ticks).limit_denominator(_RATE_DENOMINATOR)

    def _read(self) -> tuple[int, int]:
        """Both at one moment: MONOTONIC_RAW in ns, and the counter's ticks."""
        readings, centre, half = (np.empty((1, 2), dtype=np.int64) for _ in range(3))
        self._pair.fill(readings, centre, half)
        return int(readings[0, 0] + centre[0, 1]), int(readings[0, 1])
