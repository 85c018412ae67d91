"""What is known of true time at some instant."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, NamedTuple

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
        """How far the estimate is off at most, ns."""
        return self.latest_ns - self.estimate_ns
