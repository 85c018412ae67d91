"""A device whose clock is read by a call that the host brackets by MONOTONIC_RAW.

The device reads its clock between two readings of the host, whatever else the call does: half of
the time between them bounds the error. Of the driver that takes no more than that it does read it.
"""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Final, NamedTuple

from tracetime.clocks.domain import ClockDomain
from tracetime.clocks.families import SLEWED_DRIFT_PPM
from tracetime.clocks.ids import BUILTIN_IDS, ClockId
from tracetime.errors import SourceError, UsageError
from tracetime.sources.device import CalibratedDevice, TimeDomain
from tracetime.sources.names import named

# The clock of the host that a driver's timer is: found by reading, as no driver names it.

CANDIDATES: Final = ("REALTIME", "MONOTONIC", "MONOTONIC_RAW", "BOOTTIME")

_ROUNDS: Final = 8
"""A clock that is read by chance within a bracket of another is not so each time."""


def clocks_of(timer: Callable[[], int], resolution_ns: int = 0) -> tuple[str, ...]:
    """The clocks of Linux that a timer shows: it reads between two readings of each, every time.

    Several where they show the same: MONOTONIC and BOOTTIME until the machine is suspended.

    Args:
        timer: reads it, ns.
        resolution_ns: how much earlier than now it may show.

    Raises:
        SourceError: the timer cannot be read.
    """
    return tuple(name for name in CANDIDATES if _is_read_by(timer, name, resolution_ns))


def in_words(clocks: tuple[str, ...]) -> str:
    """The names of clocks in words: `MONOTONIC or BOOTTIME`."""
    return " or ".join(clocks) if clocks else "none of the host's clocks"


def _is_read_by(timer: Callable[[], int], name: str, resolution_ns: int) -> bool:
    number = getattr(time, f"CLOCK_{name}", None)
    if number is None:
        return False
    for _ in range(_ROUNDS):
        before_ns = time.clock_gettime_ns(number)
        shown_ns = timer()
        if not before_ns - resolution_ns <= shown_ns <= time.clock_gettime_ns(number):
            return False
    return True


MONOTONIC_RAW: Final = ClockId(BUILTIN_IDS["MONOTONIC_RAW"])

_FAST: Final = 1_000
"""A clock of ns gains less than one part of this on the host's: 1 per mille."""

_LONGEST_NS: Final = 10_000_000_000
"""Far longer than what devices do here takes: one that takes it is stuck."""

_BUSY_NS: Final = 1_000_000
"""After this time work is waited for without keeping a processor busy."""

_PAUSE_S: Final = 0.0002


class Bracket(NamedTuple):
    """Readings of a device between two readings of MONOTONIC_RAW.

    Attributes:
        before_ns, after_ns: of the host.
        readings: of the device, one or more, in the order in which it took them.
    """

    before_ns: int
    readings: list[int]
    after_ns: int


def raw_ns() -> int:
    """The present reading of MONOTONIC_RAW, ns.

    Raises:
        SourceError: this system has none.
    """
    try:
        return time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
    except (AttributeError, OSError):
        raise SourceError("this system has no MONOTONIC_RAW to read a device with") from None


def is_done(done: Callable[[], bool]) -> bool:
    """Wait until work is done; False after 10 s. A signal interrupts it, unlike a driver's wait."""
    start_ns = time.perf_counter_ns()
    while not done():
        waited_ns = time.perf_counter_ns() - start_ns
        if waited_ns > _LONGEST_NS:
            return False
        if waited_ns > _BUSY_NS:
            time.sleep(_PAUSE_S)
    return True


class BracketedDevice(CalibratedDevice):
    """A device whose clock counts ns in 64 bits.

    Args:
        name: of its clock.
        label: what its maker calls the device.

    Attributes:
        most_stamps: that one piece of its work can make.
    """

    most_stamps: int
    host_clocks = (MONOTONIC_RAW,)
    has_device_domain = True
    unknown_domains = ()
    ns_per_tick = Fraction(1)
    valid_bits = 64

    def __init__(self, name: str, label: str) -> None:
        self.name, self.clock, self.label = name, named(name), label

    @property
    @abstractmethod
    def resolution_ns(self) -> int:
        """The resolution of its clock, as far as the driver gives it or it is measured, ns."""

    @abstractmethod
    def bracket(self) -> Bracket:
        """Read its clock, once or more, between two readings of the host's.

        Raises:
            SourceError: it fails.
        """

    @abstractmethod
    def _stamps(self, count: int) -> list[int]:
        """Return stamps as `stamp` does, of a count in range."""

    def stamp(self, count: int = 1) -> list[int]:
        """Let the device stamp `count` times, in one piece of its work (ns of its clock).

        Args:
            count: how often, 1 to `most_stamps`.

        Raises:
            UsageError: count out of range.
            SourceError: the device fails, or takes more than 10 s.
        """
        if not 1 <= count <= self.most_stamps:
            raise UsageError(f"count {count}: use 1 to {self.most_stamps}")
        return self._stamps(count)

    def calibrate(self, clocks: Sequence[ClockId]) -> tuple[list[int], int]:
        before_ns, readings, after_ns = self.bracket()
        self._check(readings, after_ns - before_ns)
        middle_ns = (before_ns + after_ns) // 2
        values = {self.clock: readings[-1], MONOTONIC_RAW: middle_ns}
        try:
            return [values[clock] for clock in clocks], max(after_ns - middle_ns, 1)
        except KeyError as error:
            raise SourceError(
                f"{self.label} is read together with MONOTONIC_RAW, not {error.args[0]}"
            ) from None

    def domain(self, clock: ClockId) -> ClockDomain:
        self._own(clock)
        if self._domain is None:
            # Drivers may convert to a clock of the host, which NTP slews.
            self._domain = ClockDomain(
                clock,
                self.name,
                self.step_ticks(),
                max_drift_ppm=SLEWED_DRIFT_PPM,
                oscillator=self.name,
                disciplined=False,
            )
        return self._domain

    @property
    def time_domains(self) -> tuple[TimeDomain, ...]:
        return ()

    def _reading(self) -> int:
        # Within a call its clock may make a step, which is what is measured here.
        return self.bracket().readings[-1]

    def _check(self, readings: list[int], width_ns: int) -> None:
        """Check that readings of one call are times, in order, within the duration of the call."""
        step_ns = None if self._domain is None else self._domain.tick_ns
        most_ns = width_ns + width_ns // _FAST + 2 * max(self.resolution_ns, int(step_ns or 0))
        if not 0 < readings[0] <= readings[-1] <= readings[0] + most_ns:
            raise SourceError(
                f"{self.label} gave the times {readings[0]} and {readings[-1]} within {width_ns} "
                "ns: they are none; leave it out, or update its driver"
            )
