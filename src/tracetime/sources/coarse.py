"""How far the COARSE clocks of Linux lag behind the fine ones: measured, because it has no limit.

They all have the value of the fine clock at the kernel's last tick. On a busy machine a tick may
come late, even by several ticks. How late cannot be predicted: the lag is watched for as long as
the clocks are in use.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Final

from tracetime._kernels.capture import Lag
from tracetime.errors import SourceError

ROUNDS: Final = 16
"""Ticks over which the lag is watched before a COARSE clock is used: 64 ms of 4 ms each."""

REST: Final = 1.618
"""Ticks from one look to the next, later: not a whole number, or all would be at one phase."""

_MOST_WATCHED_NS: Final = 200_000_000
"""A kernel with 100 ticks a second needs 160 ms for the rounds; more would delay the start."""

_LOOKS: Final = 1_024
"""In one call of the kernel: some 0.1 ms."""


class CoarseLag:
    """How far one COARSE clock's readings may be off.

    Args:
        fine, coarse: numbers of `clock_gettime`.
    """

    def __init__(self, fine: int, coarse: int) -> None:
        self._codes = fine, coarse
        self._lags = [Lag(fine, coarse)]
        self._first_ns: int | None = None
        self._step_ns = 0

    def tick_ns(self) -> float:
        """How far its readings may be off, ns, as seen at first: the spread of its lag, and a tick.

        The spread is at least a tick, which `clock_getres` gives correctly for these clocks. One
        tick is added because a later tick can come later than any that was seen.

        Raises:
            SourceError: it cannot be read.
        """
        if self._first_ns is None:
            self._step_ns = round(time.clock_getres(self._codes[1]) * 1e9)
            start = last = time.perf_counter_ns()
            while last - start < min(ROUNDS * self._step_ns, _MOST_WATCHED_NS):
                if not self._lags[0].observe(_LOOKS):
                    raise SourceError(
                        f"clock_gettime cannot read clock {self._codes[1]}: leave it out"
                    )
                last = time.perf_counter_ns()
            self._first_ns = max(self._step_ns, self._spread_ns())
        return float(self._first_ns + self._step_ns)

    def grown_ns(self) -> int:
        """By how much more its readings have been off since, now included, ns."""
        if self._first_ns is None:
            return 0
        self._lags[0].observe(1)
        return max(0, self._spread_ns() - self._first_ns)

    def watch(self) -> Callable[[], None]:
        """Watch it in a thread that needs no GIL; returns what ends that."""
        self.tick_ns()
        lag = Lag(*self._codes)
        self._lags.append(lag)
        rest_ns = round(REST * self._step_ns)
        thread = threading.Thread(
            target=lag.watch, args=(rest_ns,), name="tracetime lag", daemon=True
        )
        thread.start()

        def end() -> None:
            lag.end()
            thread.join()

        return end

    def _spread_ns(self) -> int:
        most = max(lag.most_ns for lag in self._lags)
        return max(0, most - min(lag.least_ns for lag in self._lags))
