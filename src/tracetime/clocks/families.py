"""Families of the builtin clocks: clocks that the kernel treats alike.

A family is a set of clock numbers, the same on every machine of a trace.
"""

from __future__ import annotations

from typing import Final

from tracetime.clocks.ids import BUILTIN_CLOCKS, BUILTIN_IDS, FIRST_GLOBAL_CLOCK, ClockId


def _numbers(*names: str) -> frozenset[int]:
    return frozenset(BUILTIN_IDS[name] for name in names)


WALL: Final = _numbers("REALTIME", "REALTIME_COARSE")
"""Wall clocks: they are set. Systems other than Linux slew them alone."""

COARSE: Final = _numbers("REALTIME_COARSE", "MONOTONIC_COARSE")
"""They step once a kernel tick, so they are up to one tick behind the fine clocks."""

STOPS_IN_SUSPEND: Final = _numbers("MONOTONIC", "MONOTONIC_COARSE", "MONOTONIC_RAW")
"""They stop while the machine sleeps; BOOTTIME goes on."""

NEVER_SET: Final = STOPS_IN_SUSPEND | _numbers("BOOTTIME")
"""The kernel never sets them, and they do not wrap: where one falls, its readings are wrong."""

ONE_RATE: Final = WALL | _numbers("MONOTONIC", "MONOTONIC_COARSE", "BOOTTIME")
"""Linux runs these at one rate: they jump against each other, but do not drift."""

ONE_OSCILLATOR: Final = WALL | NEVER_SET
"""The POSIX clocks of Linux: one oscillator drives them all."""

NANOSECONDS: Final = frozenset(BUILTIN_CLOCKS) - _numbers("TSC")
"""The builtin clocks that count nanoseconds, in 64 bits; the rate of a TSC is unknown."""

# Steadier clocks first: what snapshots are ordered along must neither step nor reset, and over a
# suspend BOOTTIME jumps ahead of MONOTONIC.
_STEADIEST: Final = (
    "MONOTONIC_RAW",
    "MONOTONIC",
    "MONOTONIC_COARSE",
    "BOOTTIME",
    "TRACE_FILE",
    "TSC",
    "PERF",
)
_STEADINESS: Final = {BUILTIN_IDS[name]: rank for rank, name in enumerate(_STEADIEST)}
_UNKNOWN: Final = len(_STEADINESS)


def steadiness(clock: ClockId) -> tuple[int, tuple[int, int, int, int]]:
    """A sort key of clocks: the ones that step or reset least come first; ties by id."""
    number = clock.clock
    if number in WALL:
        kind = _UNKNOWN + 2
    else:
        kind = _STEADINESS.get(number, _UNKNOWN + int(number >= FIRST_GLOBAL_CLOCK))
    return kind, clock.order()


def posix_oscillator(machine: int) -> str:
    """The oscillator of a machine's POSIX clocks, for `ClockDomain.oscillator`."""
    return f"posix@machine{machine}"


def wall_oscillator(machine: int) -> str:
    """The oscillator of the wall clocks of a machine whose system slews them alone."""
    return f"wall@machine{machine}"
