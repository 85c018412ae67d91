"""The clocks that true time is told by: this machine's, or others in their place."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any, Final, NamedTuple


class Clocks(NamedTuple):
    """Reads clocks, in ns each.

    Attributes:
        realtime_ns, monotonic_ns: REALTIME and MONOTONIC: the program that keeps the time steers
            both, and steps REALTIME alone.
        raw_ns: MONOTONIC_RAW, which nothing steers.
        tai_ns: TAI.
        sleep: waits so many seconds.
        codes: the numbers of MONOTONIC_RAW, REALTIME and MONOTONIC for `clock_gettime`, by which a
            kernel reads them; None where only the above read them.
    """

    realtime_ns: Callable[[], int]
    monotonic_ns: Callable[[], int]
    raw_ns: Callable[[], int]
    tai_ns: Callable[[], int]
    sleep: Callable[[float], object] = time.sleep
    codes: tuple[int, int, int] | None = None


def _reader(name: str, instead: Callable[[], int]) -> Callable[[], int]:
    """Reads a clock by its name in the module time; without such a clock, another one."""
    number: Any = getattr(time, name, None)
    return instead if number is None else partial(time.clock_gettime_ns, number)


def _codes() -> tuple[int, int, int] | None:
    names = ("CLOCK_MONOTONIC_RAW", "CLOCK_REALTIME", "CLOCK_MONOTONIC")
    raw, real, mono = (getattr(time, name, None) for name in names)
    return None if raw is None or real is None or mono is None else (raw, real, mono)


HOST_CLOCKS: Final = Clocks(
    time.time_ns,
    time.monotonic_ns,
    _reader("CLOCK_MONOTONIC_RAW", time.monotonic_ns),
    _reader("CLOCK_TAI", time.time_ns),
    codes=_codes(),
)
