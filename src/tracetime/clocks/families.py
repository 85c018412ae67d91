"""Kinds of clocks, a row each, and families of the builtin ones: those the kernel treats alike.

A family is a set of clock numbers, the same on every machine of a trace.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from tracetime.clocks.ids import BUILTIN_CLOCKS, BUILTIN_IDS, FIRST_GLOBAL_CLOCK, ClockId

SLEWED_DRIFT_PPM: Final = 500.0
"""How far the kernel may slew a clock that NTP disciplines (adjtimex's limit)."""

CRYSTAL_DRIFT_PPM: Final = 100.0
"""How far a free-running crystal may be from its nominal rate."""

COARSE_TICK_NS: Final = 10_000_000
"""The largest step of a COARSE clock: the kernel's tick, at 100 Hz."""


class Kind(NamedTuple):
    """The properties of a clock of a kind, unless more is declared.

    Attributes:
        is_set: it is set or reset, forward or back: it jumps against every other clock.
        stops: it stops while the machine sleeps; BOOTTIME goes on.
        is_kernels: Linux drives it, and all others of the machine that it keeps, by one oscillator.
        in_base: Linux runs it at one rate with the others of its base: within a machine these jump
            against each other, but do not drift. Systems other than Linux slew wall clocks alone.
        drift_ppm: how far its rate may be from nominal.
        tick_ns: its step.
    """

    is_set: bool
    stops: bool
    is_kernels: bool
    in_base: bool
    drift_ppm: float = SLEWED_DRIFT_PPM
    tick_ns: int = 1


# Steadier clocks first: what snapshots are ordered along must neither step nor reset, and over a
# suspend BOOTTIME jumps ahead of MONOTONIC.
_STEADIER: Final[dict[str, Kind]] = {
    #                        set    stops  kernel base
    "MONOTONIC_RAW": Kind(False, True, True, False, CRYSTAL_DRIFT_PPM),
    "MONOTONIC": Kind(False, True, True, True),
    "MONOTONIC_COARSE": Kind(False, True, True, True, tick_ns=COARSE_TICK_NS),
    "BOOTTIME": Kind(False, False, True, True),
    "TRACE_FILE": Kind(True, False, False, False),
    "TSC": Kind(True, True, False, False),
    "PERF": Kind(True, True, False, False),
}
_WALL_KINDS: Final[dict[str, Kind]] = {
    "REALTIME": Kind(True, False, True, True),
    "REALTIME_COARSE": Kind(True, False, True, True, tick_ns=COARSE_TICK_NS),
}
_OTHER: Final = Kind(True, True, False, False)
"""Clocks of packet sequences, devices and programs."""

_STEADINESS: Final = {BUILTIN_IDS[name]: rank for rank, name in enumerate(_STEADIER)}
_UNKNOWN: Final = len(_STEADINESS)
KINDS: Final = _STEADIER | _WALL_KINDS
"""The kinds of the builtin clocks, by name."""

_BY_NUMBER: Final = {BUILTIN_IDS[name]: kind for name, kind in KINDS.items()}


def _family(belongs: Callable[[Kind], bool]) -> frozenset[int]:
    return frozenset(number for number, kind in _BY_NUMBER.items() if belongs(kind))


WALL: Final = frozenset(BUILTIN_IDS[name] for name in _WALL_KINDS)
"""Wall clocks: they are set. Systems other than Linux slew them alone."""

COARSE: Final = _family(lambda kind: kind.tick_ns > 1)
"""They step once a kernel tick, so they are up to one tick behind the fine clocks."""

STOPS_IN_SUSPEND: Final = _family(lambda kind: kind.is_kernels and kind.stops)
"""They stop while the machine sleeps; BOOTTIME goes on."""

NEVER_SET: Final = _family(lambda kind: not kind.is_set)
"""The kernel never sets them, and they do not wrap: where one falls, its readings are wrong."""

STEADY: Final = NEVER_SET - STOPS_IN_SUSPEND
"""They never jump, in no suspend either, but by a fault."""

ONE_RATE: Final = _family(lambda kind: kind.in_base)
"""Linux runs these at one rate: they jump against each other, but do not drift."""

ONE_OSCILLATOR: Final = _family(lambda kind: kind.is_kernels)
"""The POSIX clocks of Linux: one oscillator drives them all."""

NANOSECONDS: Final = frozenset(BUILTIN_CLOCKS) - {BUILTIN_IDS["TSC"]}
"""The builtin clocks that count nanoseconds, in 64 bits; the rate of a TSC is unknown."""


def kind_of(clock: ClockId) -> Kind:
    """The kind of a clock."""
    return _BY_NUMBER.get(clock.clock, _OTHER)


def may_jump(one: ClockId, other: ClockId) -> bool:
    """Whether the offset of two clocks may jump: either is set, or stops without the other."""
    kinds = kind_of(one), kind_of(other)
    if any(kind.is_set for kind in kinds):
        return True
    return any(kind.stops for kind in kinds) and not (
        one.machine == other.machine and all(kind.stops for kind in kinds)
    )


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
