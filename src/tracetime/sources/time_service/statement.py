"""The statement of a time service on REALTIME, and the interface of its reader."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, Protocol

from tracetime.clocks.kernel_clock import MAXERROR_LACKS_US, KernelClock
from tracetime.errors import NoBoundError
from tracetime.sources.posix import read_adjtimex

if TYPE_CHECKING:
    from tracetime.clocks.json_types import Count

WallClock = Literal["REALTIME", "TAI"]
WALL_CLOCKS: Final[tuple[WallClock, ...]] = ("REALTIME", "TAI")


class TrueTime(NamedTuple):
    """Bounds of true time at an instant within the call that made them.

    Attributes:
        earliest_ns, latest_ns: true time, ns since 1970, was neither before nor after that.
        estimate_ns: the middle.
        clock: `REALTIME`: UTC as POSIX counts it, without leap seconds; or `TAI`.
        source: the time service that bounds it: `clockbound`, `chrony`, `ptp4l` or
            `adjtimex`.
        age_ns: how old the service's statement was; the bounds have grown over that time.
    """

    earliest_ns: int
    estimate_ns: int
    latest_ns: int
    clock: WallClock
    source: str
    age_ns: Count

    @property
    def half_width_ns(self) -> Count:
        """The error of the estimate at most, ns."""
        return self.latest_ns - self.estimate_ns


MOST_BOUND_NS: Final = 10**18
"""A service that states more than 30 years states nothing; and sums stay within int64."""
PPB: Final = 1_000_000_000
NEVER_NS: Final = 2**63 - 1
ANY_OSCILLATOR_PPB: Final = 500_000
"""How far off the rate of a machine's oscillator is at most, as the kernel and NTP count on it."""


class DisruptedError(NoBoundError):
    """The clock was disrupted: what any other source says is older than that, too."""


class Statement(NamedTuple):
    """The statement of a service on REALTIME.

    Attributes:
        bound_ns: REALTIME was at most so far from true time.
        as_of_ns: when, on MONOTONIC.
        growth_ppb: by how much the bound grows from there until the service is read.
        drift_ppb: how far the rate of MONOTONIC_RAW may be off, after that.
        mark: another one after each measurement of the service.
        void_after_ns: the reading of MONOTONIC from which on it says nothing.
        holds: whether it still does, where something may end it at once; cheap.
        is_last: whether the service has said nothing since, where a look costs less than to ask.
    """

    bound_ns: int
    as_of_ns: int
    growth_ppb: int
    drift_ppb: int
    mark: str
    void_after_ns: int = NEVER_NS
    holds: Callable[[], bool] | None = None
    is_last: Callable[[], bool] | None = None


class TimeSource(Protocol):
    """A reader of one time service.

    Attributes:
        name: what answers say.
        poll_ns: for how long a statement is used before the service is read again.
        retry_ns: for how long a service that states no bound is not read again.
    """

    name: str
    poll_ns: int
    retry_ns: int

    def ask(self, monotonic_ns: Callable[[], int]) -> Statement:
        """The present statement of the service.

        Args:
            monotonic_ns: reads MONOTONIC.

        Raises:
            NoBoundError: it states no bound, is not there, or is not what it should be.
        """
        ...


# The kernel's bound of its clock: adjtimex(2), which every program that keeps the time sets.
#
# It grows by 500 ppm from the program's last word on, and after 16 s without one the clock counts
# as unsynchronised. Setting the clock makes it unsynchronised, too.

_ROUNDED_US: Final = 1


class Kernel:
    """A reader of the kernel's bound.

    Args:
        read: reads adjtimex; None where that cannot be done.
    """

    name = "adjtimex"
    poll_ns = 10_000_000
    retry_ns = 0

    def __init__(self, read: Callable[[], KernelClock | None] = read_adjtimex) -> None:
        self._read = read
        self._last_us = 0
        self._updates = 0

    def ask(self, monotonic_ns: Callable[[], int]) -> Statement:
        """The present statement of the kernel; see `TimeSource.ask`."""
        asked_ns = monotonic_ns()
        state = self._read()
        if state is None:
            raise NoBoundError("this system has no adjtimex, or forbids it; run chronyd")
        if not state.synchronized:
            raise NoBoundError(
                "nothing keeps this machine's clock (adjtimex: STA_UNSYNC); start chronyd or "
                "ntpd, and wait until it is synchronised"
            )
        # systemd-timesyncd says 0 of both, whatever the error is.
        if state.maxerror_us <= 0 or state.esterror_us <= 0:
            raise NoBoundError(
                "what keeps this machine's clock gives no bound of it (adjtimex: maxerror 0), as "
                "systemd-timesyncd does; run chronyd instead"
            )
        # It only grows until the program that keeps the clock has measured again.
        self._updates += state.maxerror_us < self._last_us
        self._last_us = state.maxerror_us
        bound_us = state.maxerror_us + MAXERROR_LACKS_US + _ROUNDED_US
        return Statement(
            bound_us * 1_000 + abs(state.offset_ns),
            asked_ns,
            ANY_OSCILLATOR_PPB,
            ANY_OSCILLATOR_PPB,
            str(self._updates),
        )
