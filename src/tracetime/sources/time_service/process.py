"""`now` and `wait_past`, by one `TimeService` that the process keeps."""

from __future__ import annotations

from functools import cache

from tracetime.sources.time_service.service import TimeService
from tracetime.sources.time_service.statement import TrueTime, WallClock


@cache
def _service() -> TimeService:
    return TimeService()


def now(clock: WallClock = "REALTIME") -> TrueTime:
    """Bounds of true time at an instant within this call, as this machine's time service has them.

    Of two calls on any machines whose bounds hold, the one that ended before the other began does
    not have its earliest time after the other's latest. Across a leap second that is so of TAI
    alone: UTC counts the second twice.

    Args:
        clock: `REALTIME` for UTC, or `TAI`, where the kernel knows it.

    Raises:
        NoBoundError: no time service of this machine states a bound: none runs, it is not
            synchronised yet, or something else has set the clock. It says what to do.
        UsageError: there is no such clock.
    """
    return _service().now(clock)


def wait_past(t_ns: int, timeout: float | None = None, clock: WallClock = "REALTIME") -> TrueTime:
    """Wait until a time is certainly past, on every machine whose bounds hold.

    Args:
        t_ns: ns since 1970.
        timeout: seconds to wait at most; None for as long as it takes. Ctrl-C ends it.
        clock: what `t_ns` is of.

    Returns:
        The first bounds whose `earliest_ns` is after `t_ns`.

    Raises:
        NoBoundError: no time service of this machine states a bound, now or while this waits.
        TimeoutError: the time may not be past after `timeout`.
        UsageError: an argument is out of range.
    """
    return _service().wait_past(t_ns, timeout, clock)
