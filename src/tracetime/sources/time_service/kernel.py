"""The kernel's bound of its clock: adjtimex(2), which every program that keeps the time sets.

It grows by 500 ppm from the program's last word on, and after 16 s without one the clock counts as
unsynchronised. Setting the clock makes it unsynchronised, too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from tracetime.clocks.kernel_clock import MAXERROR_LACKS_US, KernelClock
from tracetime.errors import NoBoundError
from tracetime.sources.adjtimex import read_adjtimex
from tracetime.sources.time_service.statement import ANY_OSCILLATOR_PPB, Statement

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
