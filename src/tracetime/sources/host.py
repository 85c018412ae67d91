"""Clocks of Windows and macOS, read through Python's `time`. Not tested on such a machine.

Windows: QueryPerformanceCounter, which `time.perf_counter_ns` reads and scales to ns, as global
clock `dev.tracetime.qpc`, and REALTIME. macOS: REALTIME, MONOTONIC, MONOTONIC_RAW and
CLOCK_UPTIME_RAW (`dev.tracetime.uptime_raw`). Brackets are taken in Python, and are wider.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

import numpy as np

from tracetime.clocks.domain import ClockDomain
from tracetime.clocks.ids import BUILTIN_IDS, ClockId
from tracetime.sources.names import HOST_OSCILLATOR, QPC, UPTIME_RAW, WALL_OSCILLATOR, named
from tracetime.sources.source import ClockSource
from tracetime.sources.tick import common_step

Read = Callable[[], int]

_READINGS: Final = 1_000
"""Python reads a clock in some 50 ns: these take 0.1 ms at most."""

_LEAST_STEP_NS: Final = 1.0


def readers_of(platform: str) -> dict[str, Read]:
    """By name, how to read each clock (ns) that Python offers on a platform."""
    if platform == "win32":
        return {QPC: time.perf_counter_ns, "REALTIME": time.time_ns}
    if platform != "darwin":
        return {}
    readers: dict[str, Read] = {}
    for name in ("REALTIME", "MONOTONIC", "MONOTONIC_RAW", UPTIME_RAW):
        constant = "UPTIME_RAW" if name == UPTIME_RAW else name
        number = getattr(time, f"CLOCK_{constant}", None)
        if number is not None:
            readers[name] = _reader(number)
    return readers


def _reader(number: int) -> Read:
    return lambda: time.clock_gettime_ns(number)


class HostSource(ClockSource):
    """The clocks that Python reads itself.

    Args:
        readers: by name, how to read each; None for the clocks of this platform.
    """

    def __init__(self, readers: Mapping[str, Read] | None = None) -> None:
        readers = readers_of(sys.platform) if readers is None else readers
        self._clocks = MappingProxyType(
            {
                name: ClockId(BUILTIN_IDS[name]) if name in BUILTIN_IDS else named(name)
                for name in readers
            }
        )
        self._readers = {self._clocks[name]: read for name, read in readers.items()}
        self._names = {clock: name for name, clock in self._clocks.items()}
        self._domains: dict[ClockId, ClockDomain] = {}

    @property
    def clocks(self) -> Mapping[str, ClockId]:
        return self._clocks

    def domain(self, clock: ClockId) -> ClockDomain:
        read = self._entry(self._readers, clock)
        made = self._domains.get(clock)
        if made is None:
            column = np.array([read() for _ in range(_READINGS)], dtype=np.int64)
            step_ns = common_step(column[1:] - column[:-1])
            name = self._names[clock]
            made = self._domains[clock] = ClockDomain(
                clock,
                name,
                step_ns or _LEAST_STEP_NS,
                # These systems slew only the wall clock.
                oscillator=WALL_OSCILLATOR if name == "REALTIME" else HOST_OSCILLATOR,
                disciplined=False if name in (QPC, UPTIME_RAW, "MONOTONIC_RAW") else None,
            )
        return made

    def note(self, clock: ClockId) -> str | None:
        return "read through Python; this platform was not tested"

    def read(self, clock: ClockId) -> int:
        return self._entry(self._readers, clock)()
