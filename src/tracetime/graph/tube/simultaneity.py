"""Readings of one snapshot, as if they had been taken at one instant.

Perfetto's rule takes them for that, and converts by their differences; but clocks are read one
after the other, some microseconds apart. So each reading is taken back to when the reference was
read, at its clock's nominal rate, and its half-width grows by what the two rates may differ in that
time.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

from tracetime.clocks.domain import ClockDomain
from tracetime.clocks.ids import ClockId
from tracetime.clocks.snapshot import INT64_MAX, INT64_MIN
from tracetime.graph.tube.limits import Limits

COARSE_NS: Final = 100_000
"""A clock of longer ticks stays as it was read."""


def is_coarse(domain: ClockDomain) -> bool:
    """Whether what a clock reads stands still for longer than a snapshot takes."""
    rate = domain.ns_per_tick
    counts = rate is not None and rate.numerator > COARSE_NS * rate.denominator
    return counts or (domain.tick_ns or 0) > COARSE_NS


class Aligned(NamedTuple):
    """A reading, as it was taken or as it is given on.

    Attributes:
        value_ns: of the clock.
        centre_ns: when that was, ns of the reference after its own reading.
        half_ns: how far from there it may have been; -1 where that is not known.
    """

    value_ns: int
    centre_ns: int
    half_ns: int


class _Clock:
    """One clock: its limits, what it read last, and what was given on for that."""

    __slots__ = ("coarse", "domain", "drift", "least_ns", "read_ns", "reference")

    def __init__(self, domain: ClockDomain, reference: ClockDomain) -> None:
        self.domain, self.reference = domain, reference
        self.coarse = is_coarse(domain)
        self.drift = Limits.of(reference.drift_ppm, domain.drift_ppm).drift
        self.read_ns = self.least_ns = INT64_MIN


class Aligner:
    """Aligns the snapshots of a sampler or a recording, one after the other."""

    def __init__(self) -> None:
        self._clocks: dict[ClockId, _Clock] = {}

    def align(
        self, read: Aligned, domain: ClockDomain, reference: ClockDomain, *, main: bool
    ) -> Aligned:
        """What to give on for a reading.

        Never less than what was given on last, unless the clock itself has gone back: Perfetto
        would not convert from it any more. What that adds is added to the half-width.

        Args:
            read: as it was read.
            domain, reference: of its clock, and of that by which centres are told.
            main: whether it is of the regular snapshots; others may be of long ago.
        """
        clock = self._clock(domain, reference)
        value_ns, centre_ns, half_ns = _taken_back(read, clock)
        if read.value_ns >= clock.read_ns:
            short_ns = clock.least_ns - value_ns
            if short_ns > 0:
                value_ns += short_ns
                half_ns += short_ns if half_ns >= 0 else 0
        elif not main:
            return Aligned(value_ns, centre_ns, half_ns)
        clock.read_ns, clock.least_ns = read.value_ns, value_ns
        return Aligned(value_ns, centre_ns, half_ns)

    def _clock(self, domain: ClockDomain, reference: ClockDomain) -> _Clock:
        known = self._clocks.get(domain.id)
        if known is None or known.domain is not domain or known.reference is not reference:
            made = self._clocks[domain.id] = _Clock(domain, reference)
            if known is not None:
                made.read_ns, made.least_ns = known.read_ns, known.least_ns
            return made
        return known


def _taken_back(read: Aligned, clock: _Clock) -> Aligned:
    value_ns, centre_ns, half_ns = read
    # A clock that has just begun stays: none is written below 0, nor beyond int64.
    if not centre_ns or clock.coarse or not 0 <= value_ns - centre_ns <= INT64_MAX:
        return read
    if half_ns >= 0:
        half_ns += math.ceil(abs(centre_ns) * clock.drift)
    return Aligned(value_ns - centre_ns, 0, half_ns)
