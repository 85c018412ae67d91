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
    ARM_COUNTER_CODE,
    TSC_CODE,
    Brackets,
    arm_counter_hz,
    has_tsc,
    read_column,
    read_one,
    tsc_is_steady,
)
from tracetime.clocks.domain import ClockDomain
from tracetime.clocks.families import CRYSTAL_DRIFT_PPM
from tracetime.clocks.ids import ClockId
from tracetime.errors import SourceError
from tracetime.sources.names import CNTVCT, HOST_OSCILLATOR, TSC, named
from tracetime.sources.posix import CODES
from tracetime.sources.source import ClockSource, Unavailable
from tracetime.sources.tick import READINGS, common_resolution

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
            step_ticks = common_resolution(np.diff(column)) or 1.0
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
        """The readings of both at one moment: MONOTONIC_RAW in ns, and the counter's ticks."""
        readings, centre, half = (np.empty((1, 2), dtype=np.int64) for _ in range(3))
        self._pair.fill(readings, centre, half)
        return int(readings[0, 0] + centre[0, 1]), int(readings[0, 1])


# The virtual counter of 64-bit Arm processors, raw, as global clock `dev.tracetime.cntvct`.
#
# The processor says its rate (CNTFRQ_EL0): one exact fraction converts readings to ns. Firmware has
# been seen to set that wrong: where MONOTONIC_RAW shows another rate, the measured one is used.

_NS: Final = 1_000_000_000
_ARM_CLOCKSOURCE: Final = "arch_sys_counter"
_TRUSTED: Final = Fraction(1, 1_000)
"""How far the rate may be from what is measured: far more than a crystal or the measurement."""


class ArmCounterSource(ClockSource):
    """The virtual counter, if this is a 64-bit Arm processor."""

    def __init__(self) -> None:
        self._clock = named(CNTVCT)
        self._domain: ClockDomain | None = None
        hz = arm_counter_hz()
        self._rate = RateMeasurement(ARM_COUNTER_CODE) if hz else None
        self._said = self._ns_per_tick = Fraction(_NS, hz or 1)

    @property
    def clocks(self) -> Mapping[str, ClockId]:
        return MappingProxyType({} if self._rate is None else {CNTVCT: self._clock})

    @property
    def unavailable(self) -> tuple[Unavailable, ...]:
        if self._rate is not None:
            return ()
        return (Unavailable(CNTVCT, "only 64-bit Arm processors have it, with a rate"),)

    def domain(self, clock: ClockId) -> ClockDomain:
        rate = self._own(clock)
        if self._domain is None:
            measured = rate.end()
            if abs(measured / self._said - 1) > _TRUSTED:
                self._ns_per_tick = measured
            column = np.empty(READINGS, dtype=np.int64)
            read_column(ARM_COUNTER_CODE, column, True)
            step_ticks = common_resolution(np.diff(column)) or 1.0
            self._domain = ClockDomain(
                clock,
                CNTVCT,
                step_ticks * float(self._ns_per_tick),
                ns_per_tick=self._ns_per_tick,
                max_drift_ppm=CRYSTAL_DRIFT_PPM,
                oscillator=HOST_OSCILLATOR if drives_the_kernel(_ARM_CLOCKSOURCE) else CNTVCT,
                disciplined=False,
            )
        return self._domain

    def note(self, clock: ClockId) -> str | None:
        if self._ns_per_tick == self._said:
            return None
        return (
            f"the processor says {_NS / self._said} ticks a second, and it counts "
            f"{round(_NS / self._ns_per_tick)}, which is used"
        )

    def native_code(self, clock: ClockId) -> int | None:
        return None if self._rate is None or clock != self._clock else ARM_COUNTER_CODE

    def read(self, clock: ClockId) -> int:
        self._own(clock)
        value = read_one(ARM_COUNTER_CODE)
        assert value is not None
        return value

    def _own(self, clock: ClockId) -> RateMeasurement:
        if clock != self._clock or self._rate is None:
            raise SourceError(f"{clock} is not the counter of a 64-bit Arm processor here")
        return self._rate
