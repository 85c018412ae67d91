"""Readings of one snapshot, aligned to one instant.

Perfetto's rule treats them as simultaneous and converts by their differences; but clocks are read
one after the other, some microseconds apart. So each reading is moved back, at its clock's nominal
rate, to the instant at which the reference was read; its half-width grows by how much the two rates
may differ in that time.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

from tracetime.clocks.domain import ClockDomain
from tracetime.clocks.ids import ClockId
from tracetime.clocks.snapshot import INT64_MAX, INT64_MIN
from tracetime.graph.tube.limits import Limits

COARSE_NS: Final = 100_000
"""A reading of a clock with longer ticks is not aligned."""


def is_coarse(domain: ClockDomain) -> bool:
    """Whether a clock's reading stays the same for longer than a snapshot takes."""
    rate = domain.ns_per_tick
    counts = rate is not None and rate.numerator > COARSE_NS * rate.denominator
    return counts or (domain.tick_ns or 0) > COARSE_NS


class Aligned(NamedTuple):
    """A reading, as it was taken or as it is written.

    Attributes:
        value_ns: of the clock.
        centre_ns: when it was taken, ns of the reference after its own reading.
        half_ns: how far from there that may have been; -1 where that is unknown.
    """

    value_ns: int
    centre_ns: int
    half_ns: int


class _Clock:
    """One clock: its limits, its last reading, and what was written for that."""

    __slots__ = ("coarse", "domain", "drift", "read_ns", "reference", "written_ns")

    def __init__(self, domain: ClockDomain, reference: ClockDomain) -> None:
        self.domain, self.reference = domain, reference
        self.coarse = is_coarse(domain)
        self.drift = Limits.of(reference.drift_ppm, domain.drift_ppm).drift
        self.read_ns = self.written_ns = INT64_MIN


class Aligner:
    """Aligns the snapshots of a sampler or a recording, one after the other."""

    def __init__(self) -> None:
        self._clocks: dict[ClockId, _Clock] = {}

    def align(
        self, read: Aligned, domain: ClockDomain, reference: ClockDomain, *, main: bool
    ) -> Aligned:
        """The reading to write.

        It is never less than the last one written, unless the clock itself went back: Perfetto
        would no longer convert from it. What that adds is added to the half-width.

        Args:
            read: as it was read.
            domain, reference: of its clock, and of the clock that centres are measured by.
            main: whether it is of the regular snapshots; others may be old.
        """
        clock = self._clock(domain, reference)
        value_ns, centre_ns, half_ns = _moved_back(read, clock)
        if read.value_ns >= clock.read_ns:
            short_ns = clock.written_ns - value_ns
            if short_ns > 0:
                value_ns += short_ns
                half_ns += short_ns if half_ns >= 0 else 0
        elif not main:
            return Aligned(value_ns, centre_ns, half_ns)
        clock.read_ns, clock.written_ns = read.value_ns, value_ns
        return Aligned(value_ns, centre_ns, half_ns)

    def _clock(self, domain: ClockDomain, reference: ClockDomain) -> _Clock:
        known = self._clocks.get(domain.id)
        if known is None or known.domain is not domain or known.reference is not reference:
            made = self._clocks[domain.id] = _Clock(domain, reference)
            if known is not None:
                made.read_ns, made.written_ns = known.read_ns, known.written_ns
            return made
        return known


def _moved_back(read: Aligned, clock: _Clock) -> Aligned:
    value_ns, centre_ns, half_ns = read
    # The reading of a clock that has just started stays: none is written below 0 or beyond int64.
    if not centre_ns or clock.coarse or not 0 <= value_ns - centre_ns <= INT64_MAX:
        return read
    if half_ns >= 0:
        half_ns += math.ceil(abs(centre_ns) * clock.drift)
    return Aligned(value_ns - centre_ns, 0, half_ns)
