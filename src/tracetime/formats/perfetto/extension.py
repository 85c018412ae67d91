"""The extension of a recorded trace on its own clocks, in addition to its ClockSnapshots.

Content and meaning: docs/tracetime_extension.proto; the bytes are packed and unpacked by
`_kernels/perfetto/packets.pyx`, and read with their snapshots by
`_kernels/perfetto/clocks/snapshot_extensions.pxi`.
"""

from __future__ import annotations

import contextlib
from dataclasses import replace
from fractions import Fraction
from typing import Final, NamedTuple

import numpy as np

from tracetime._kernels.perfetto import packets
from tracetime.clocks.domain import ClockDomain
from tracetime.clocks.families import COARSE
from tracetime.clocks.ids import ClockId
from tracetime.clocks.kernel_clock import MOST_WALL_BOUND_NS, TIME_SERVICES, KernelClock, WallBound
from tracetime.errors import UsageError
from tracetime.graph.arguments import PolicyName
from tracetime.graph.values import Values
from tracetime.text import printable

Measured = dict[tuple[int, int, int, int], tuple[Values, Values, Values]]

BAKED_BY: Final[tuple[PolicyName, ...]] = ("floor", "tube")
"""What a baked trace says of the policy, from 1."""

_LONGEST_NAME: Final = 256
# No recorded clock declares more, and the tube's arithmetic would overflow.
_MOST_TICK_NS: Final = 1e12
_MOST_DRIFT_PPM: Final = 10_000
_MOST_WANDER_PPM: Final = 1_000


class Extension(NamedTuple):
    """The extension of one snapshot; the lists are in the order of the ClockSnapshot's clocks.

    Attributes:
        reference: index of the clock that the others were bracketed by, None where none was.
        centre_ns: when each was read, after the reference's own reading.
        half_width_ns: how far from there it may have been; -1 where that is not known.
        raw_minus_reading: what to add to a clock's reading, modulo 2^64, for the ticks it said;
            empty where all are 0.
        kernel_clock: adjtimex's state.
        domains: encoded, of the clocks that this snapshot describes.
        events_dropped: since the start of the recording.
        wall_bound: what bounds REALTIME.
    """

    reference: int | None
    centre_ns: list[int]
    half_width_ns: list[int]
    raw_minus_reading: list[int]
    kernel_clock: KernelClock | None
    domains: list[bytes]
    events_dropped: int
    wall_bound: WallBound | None = None


def encode(extension: Extension) -> bytes:
    """The message as bytes, without its field's tag."""
    return packets.encode_extension(*extension[:-1], _numbers(extension.wall_bound))


def decode(data: bytes) -> Extension | None:
    """A message from a file; None where it is malformed."""
    found = packets.decode_extension(data)
    if found is None:
        return None
    reference, centres, halves, raws, kernel_clock, domains, dropped, numbers = found
    kernel = None if kernel_clock is None else KernelClock(*kernel_clock)
    bound = None if numbers is None else WallBound(*numbers[:2], time_service(numbers[2]))
    return Extension(reference, centres, halves, raws, kernel, domains, dropped, bound)


def time_service(number: int) -> str:
    """The name of the time service of a number in a file."""
    return TIME_SERVICES[number - 1] if 0 < number <= len(TIME_SERVICES) else "another service"


def _numbers(bound: WallBound | None) -> tuple[int, int, int] | None:
    """A bound as it is written; None where there is none, or none of use."""
    if bound is None or not (
        -MOST_WALL_BOUND_NS <= bound.earliest_ns <= bound.latest_ns <= MOST_WALL_BOUND_NS
    ):
        return None
    number = TIME_SERVICES.index(bound.source) + 1 if bound.source in TIME_SERVICES else 0
    return bound.earliest_ns, bound.latest_ns, number


def encode_domain(domain: ClockDomain) -> bytes:
    """One clock's properties as bytes: rate and bits are those of its raw ticks."""
    rate = domain.ns_per_tick
    return packets.encode_domain(
        domain.id.clock,
        domain.name,
        None if rate is None else (rate.numerator, rate.denominator),
        domain.valid_bits,
        domain.oscillator,
        domain.tick_ns or 1.0,
        domain.max_drift_ppm,
        domain.wander_ppm,
        bool(domain.disciplined),
    )


def decode_domain(data: bytes, clock: ClockId) -> ClockDomain | None:
    """One clock's properties from a file; None where they are malformed or make no sense."""
    found = packets.decode_domain(data)
    if found is None:
        return None
    _, name, rate, valid_bits, oscillator, tick_ns, drift, wander, disciplined = found
    if not (
        isinstance(name, str | None)
        and isinstance(oscillator, str | None)
        and isinstance(valid_bits, int | None)
        and isinstance(tick_ns, float | None)
        and isinstance(drift, float | None)
        and isinstance(wander, float | None)
    ):
        return None
    if (
        (tick_ns or 0) > _MOST_TICK_NS
        or (drift or 0) > _MOST_DRIFT_PPM
        or (wander or 0) > _MOST_WANDER_PPM
    ):
        return None
    ns_per_tick = None
    if isinstance(rate, tuple):
        if not all(isinstance(part, int) and 0 < part < 1 << 63 for part in rate):
            return None
        ns_per_tick = Fraction(*rate)
    with contextlib.suppress(UsageError):
        return ClockDomain(
            clock,
            name=_short(name),
            tick_ns=tick_ns,
            ns_per_tick=ns_per_tick,
            valid_bits=64 if valid_bits is None else valid_bits,
            max_drift_ppm=drift,
            wander_ppm=wander,
            oscillator=_short(oscillator),
            disciplined=None if disciplined is None else bool(disciplined),
        )
    return None


def as_written(domain: ClockDomain, *, measured: bool) -> ClockDomain:
    """The domain of the values in ClockSnapshots and events: ns, unwrapped, whatever a tick is.

    Where half-widths are measured they hold the clock's ticks already.
    """
    tick_ns = 1 if measured else domain.tick_ns
    return replace(domain, ns_per_tick=Fraction(1), valid_bits=64, tick_ns=tick_ns)


def with_largest_lag(measured: Measured) -> Measured:
    """The bounds of snapshots' readings, with the lag of COARSE clocks as large as it ever was.

    A snapshot's half-width holds the largest that had been seen until then, which may come again
    before and after it.

    Args:
        measured: (snapshots, centres, half-widths) by an importer's key of the clock.
    """
    return {
        key: (snapshots, centre, np.where(half >= 0, half.max(initial=-1), half))
        if key[0] in COARSE
        else (snapshots, centre, half)
        for key, (snapshots, centre, half) in measured.items()
    }


def _short(text: str | None) -> str | None:
    """A name from a file, printable in one line."""
    return text and printable(text, _LONGEST_NAME)
