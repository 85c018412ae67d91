"""How far the COARSE clocks of Linux lag behind the fine ones: seen, because no one promises it.

They show what the fine clock did at the kernel's last tick, and all at the same one. A busy
machine's tick comes late at times, by several ticks even; nobody knows how late it will come, so it
is watched for as long as the clocks are in use.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Final

from tracetime._kernels.capture.sampling import Lag
from tracetime.errors import SourceError

ROUNDS: Final = 16
"""Ticks over which the lag is watched before a COARSE clock is used."""

REST: Final = 1.618
"""Ticks from one look to the next, later on: no whole number of them, or all would see the same."""

_MOST_WATCHED_NS: Final = 200_000_000
_LOOKS: Final = 1_024


class CoarseLag:
    """What one COARSE clock's readings may be off by.

    Args:
        fine, coarse: numbers of `clock_gettime`.
    """

    def __init__(self, fine: int, coarse: int) -> None:
        self._codes = fine, coarse
        self._seen = [Lag(fine, coarse)]
        self._first_ns: int | None = None
        self._step_ns = 0

    def tick_ns(self) -> float:
        """What its readings may be off by, ns, as seen at first: the spread of its lag, and a tick.

        The spread is a tick at least, which `clock_getres` says truly of these clocks. A tick more,
        because a later one can come later than any that was seen.

        Raises:
            SourceError: it cannot be read.
        """
        if self._first_ns is None:
            self._step_ns = round(time.clock_getres(self._codes[1]) * 1e9)
            start = last = time.perf_counter_ns()
            while last - start < min(ROUNDS * self._step_ns, _MOST_WATCHED_NS):
                if not self._seen[0].look(_LOOKS):
                    raise SourceError(
                        f"clock_gettime cannot read clock {self._codes[1]}: leave it out"
                    )
                last = time.perf_counter_ns()
            self._first_ns = max(self._step_ns, self._spread_ns())
        return float(self._first_ns + self._step_ns)

    def grown_ns(self) -> int:
        """By how much more it has been seen to be off since, this moment among them, ns."""
        if self._first_ns is None:
            return 0
        self._seen[0].look(1)
        return max(0, self._spread_ns() - self._first_ns)

    def watch(self) -> Callable[[], None]:
        """Watch it in a thread of its own, which needs no GIL; returns what ends that."""
        self.tick_ns()
        lag = Lag(*self._codes)
        self._seen.append(lag)
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
        most = max(lag.most_ns for lag in self._seen)
        return max(0, most - min(lag.least_ns for lag in self._seen))
