"""The virtual counter of 64-bit Arm processors, raw, as global clock `dev.tracetime.cntvct`.

The processor says its rate (CNTFRQ_EL0): one exact fraction converts readings to ns. Firmware has
been seen to set that wrong: where MONOTONIC_RAW shows another rate, the measured one is used.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from types import MappingProxyType
from typing import Final

import numpy as np

from tracetime._kernels.capture import (
    ARM_COUNTER_CODE,
    arm_counter_hz,
    read_column,
    read_one,
)
from tracetime.clocks.domain import CRYSTAL_DRIFT_PPM, ClockDomain
from tracetime.clocks.ids import ClockId
from tracetime.errors import SourceError
from tracetime.sources.names import CNTVCT, HOST_OSCILLATOR, named
from tracetime.sources.source import ClockSource, Unavailable
from tracetime.sources.tick import READINGS, common_step
from tracetime.sources.tsc import RateMeasurement, drives_the_kernel

_NS: Final = 1_000_000_000
_CLOCKSOURCE: Final = "arch_sys_counter"
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
            step_ticks = common_step(np.diff(column)) or 1.0
            self._domain = ClockDomain(
                clock,
                CNTVCT,
                step_ticks * float(self._ns_per_tick),
                ns_per_tick=self._ns_per_tick,
                max_drift_ppm=CRYSTAL_DRIFT_PPM,
                oscillator=HOST_OSCILLATOR if drives_the_kernel(_CLOCKSOURCE) else CNTVCT,
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
