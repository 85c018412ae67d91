"""A clock that the caller of a recording reads: snapshots of it with trace time."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Final

from tracetime.clocks.domain import ClockDomain
from tracetime.clocks.ids import BUILTIN_IDS, ClockId
from tracetime.clocks.snapshot import INT64_MAX, Snapshot
from tracetime.errors import UsageError
from tracetime.formats.perfetto.write.clocks import scoped

_TRIES: Final = 5
"""Readings of which the quickest counts: an interrupt lengthens one of them."""

_READABLE: Final = {
    ClockId(BUILTIN_IDS[name]): getattr(time, f"CLOCK_{name}")
    for name in ("BOOTTIME", "MONOTONIC", "MONOTONIC_RAW", "REALTIME")
    if hasattr(time, f"CLOCK_{name}")
}


class CallersClock:
    """Reads a clock between two readings of the clock of trace time.

    Attributes:
        name: of the clock.

    Raises:
        UsageError: Python cannot read the clock of trace time.
    """

    def __init__(
        self, domain: ClockDomain, read: Callable[[], int], trace_clock: ClockId | None
    ) -> None:
        if trace_clock not in _READABLE:
            raise UsageError(
                f"the clock of trace time is {trace_clock}, which cannot be read here: leave "
                "`read` out, and tie the clock in with snapshot()"
            )
        self.name = domain.name or str(domain.id)
        self._domain = domain
        self._clock = scoped(domain.id)
        self._read = read
        self._reference = trace_clock

    def snapshot(self) -> Snapshot:
        """The quickest of some readings."""
        quickest_ns, between_ns, ticks = min(self._bracketed() for _ in range(_TRIES))
        # Both clocks may have just ticked, or be about to.
        steps_ns = math.ceil(max(self._domain.tick_ns or 0, self._domain.ns_per_tick or 0)) + 1
        return Snapshot(
            {self._reference: between_ns, self._clock: ticks},
            reference=self._reference,
            half_width_ns={self._clock: (quickest_ns + 1) // 2 + steps_ns},
        )

    def _bracketed(self) -> tuple[int, int, int]:
        """How long it took, trace time in the middle, and the reading."""
        posix = _READABLE[self._reference]
        before_ns = time.clock_gettime_ns(posix)
        ticks = self._read()
        after_ns = time.clock_gettime_ns(posix)
        if (
            not hasattr(ticks, "__index__")
            or isinstance(ticks, bool)
            or not 0 <= ticks <= INT64_MAX
        ):
            raise UsageError(
                f"{self.name} was read as {ticks!r}: a reading is a whole number of ticks, from 0 "
                "to 2^63 - 1"
            )
        return after_ns - before_ns, (before_ns + after_ns) // 2, ticks
