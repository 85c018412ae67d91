"""The interface of a device with calibrated timestamps: `vulkan.py`, `bracketed.py`, `fake.py`.

The model is VK_KHR_calibrated_timestamps: one call reads the device's clock and some of the host's,
and says how far apart the readings may be. `capture/promise_checks.py` checks its promises.
"""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from tracetime.clocks.domain import ClockDomain
from tracetime.clocks.families import CRYSTAL_DRIFT_PPM
from tracetime.clocks.ids import BUILTIN_IDS, ClockId
from tracetime.errors import SourceError
from tracetime.sources.names import QPC, named
from tracetime.sources.source import Device, Together
from tracetime.sources.tick import resolution_of_runs

if TYPE_CHECKING:
    from tracetime.clocks.json_types import Count

# The time domains of calibrated timestamps, VkTimeDomainKHR, and the host's clock that each is.
#
# Numbers and names are those of vulkan_core.h.

DOMAIN_DEVICE: Final = 0
DOMAIN_MONOTONIC: Final = 1
DOMAIN_MONOTONIC_RAW: Final = 2
DOMAIN_QPC: Final = 3

NAMES: Final[Mapping[int, str]] = {
    DOMAIN_DEVICE: "DEVICE",
    DOMAIN_MONOTONIC: "CLOCK_MONOTONIC",
    DOMAIN_MONOTONIC_RAW: "CLOCK_MONOTONIC_RAW",
    DOMAIN_QPC: "QUERY_PERFORMANCE_COUNTER",
}
"""The header has them with VK_TIME_DOMAIN_ in front."""

HOST_DOMAINS: Final[Mapping[int, ClockId]] = {
    DOMAIN_MONOTONIC_RAW: ClockId(BUILTIN_IDS["MONOTONIC_RAW"]),
    DOMAIN_MONOTONIC: ClockId(BUILTIN_IDS["MONOTONIC"]),
    DOMAIN_QPC: named(QPC),
}
"""The clocks of the host, the one preferred for calibration first."""


class TimeDomain(NamedTuple):
    """A time domain that a device lists.

    Attributes:
        number: its number, as the device lists it.
        name: its name in Vulkan; null: it is unknown, and not used.
    """

    number: Count
    name: str | None


_RUNS: Final = 4
_READINGS: Final = 65
_SLOW_STEPS: Final = 3
_STILL_S: Final = 0.5
"""A clock that makes no step for so long is none."""


class CalibratedDevice(Device):
    """One device with one clock, which counts ticks.

    Attributes:
        label: what its maker calls the device.
        ns_per_tick: the nominal length of a tick.
        valid_bits: how many bits of a reading count.
        has_device_domain: whether its own clock is among those that it calibrates.
        host_clocks: the known clocks of the host that it calibrates.
        unknown_domains: numbers of the unknown ones.
    """

    label: str
    ns_per_tick: Fraction
    valid_bits: int
    has_device_domain: bool
    host_clocks: tuple[ClockId, ...]
    unknown_domains: tuple[int, ...]

    _domain: ClockDomain | None = None

    @abstractmethod
    def calibrate(self, clocks: Sequence[ClockId]) -> tuple[list[int], int]:
        """Read these clocks (its own, the host's) in one call.

        Returns their raw readings, 0 to 2^64 - 1, and the deviation in ns that the device claims.

        Raises:
            SourceError: it fails; the device may be lost.
        """

    @abstractmethod
    def stamp(self, count: int = 1) -> list[int]:
        """Let the device write timestamps, one after the other, and wait for them (raw).

        Raises:
            SourceError: it fails, or cannot.
        """

    def domain(self, clock: ClockId) -> ClockDomain:
        self._own(clock)
        if self._domain is None:
            self._domain = ClockDomain(
                clock,
                self.name,
                float(self.ns_per_tick * max(1, self.step_ticks())),
                ns_per_tick=self.ns_per_tick,
                valid_bits=self.valid_bits,
                max_drift_ppm=CRYSTAL_DRIFT_PPM,
                oscillator=self.name,
                disciplined=False,
            )
        return self._domain

    def note(self, clock: ClockId) -> str | None:
        return self.label

    @property
    def time_domains(self) -> tuple[TimeDomain, ...]:
        """All time domains that the device lists, by number: the known ones and the others."""
        hosts = (number for number, clock in HOST_DOMAINS.items() if clock in self.host_clocks)
        own = (DOMAIN_DEVICE,) if self.has_device_domain else ()
        return tuple(
            TimeDomain(number, NAMES.get(number))
            for number in sorted((*own, *hosts, *self.unknown_domains))
        )

    def ticks_between(self, before: int, after: int) -> int:
        """Ticks from one reading to another, the shorter way round its wrap."""
        period = 1 << self.valid_bits
        ahead = (after - before) % period
        return ahead - period if ahead > period // 2 else ahead

    def step_ticks(self) -> int:
        """The real resolution of the device's clock, in ticks: often far more than one.

        Raises:
            SourceError: it cannot be read, or stands still.
        """
        runs = [self._steps([self._reading() for _ in range(_READINGS)]) for _ in range(_RUNS)]
        found = resolution_of_runs(runs)
        return self._slow_resolution() if found is None else found

    def _reading(self) -> int:
        return self.calibrate((self.clock,))[0][0]

    def _steps(self, readings: Sequence[int]) -> npt.NDArray[np.int64]:
        """The differences of successive readings, but of those that go back."""
        mask = (1 << self.valid_bits) - 1
        steps = [(b - a) & mask for a, b in pairwise(readings)]
        # A clock that goes back makes no step: the difference, modulo the wrap, is huge.
        return np.array([step for step in steps if step < 1 << 40], dtype=np.int64)

    def _slow_resolution(self) -> int:
        """The longest step of a clock that is read often before it makes one.

        Raises:
            SourceError: it makes none.
        """
        seen, end_s = [self._reading()], time.monotonic() + _STILL_S
        while len(seen) <= _SLOW_STEPS and time.monotonic() < end_s:
            reading = self._reading()
            if reading != seen[-1]:
                seen.append(reading)
        steps = self._steps(seen)
        if not len(steps):
            raise SourceError(
                f"the clock of {self.label} stands still: leave it out, or update its driver"
            )
        return int(steps.max())

    def partners(self, clock: ClockId) -> tuple[ClockId, ...]:
        self._own(clock)
        return self.host_clocks

    def read_together(self, clock: ClockId, partner: ClockId) -> Together:
        self._own(clock)
        (ticks, host), deviation_ns = self.calibrate((clock, partner))
        return Together(ticks, host, deviation_ns)

    def _own(self, clock: ClockId) -> None:
        if clock != self.clock:
            raise SourceError(f"{clock} is not the clock of {self.label}, {self.name}")
