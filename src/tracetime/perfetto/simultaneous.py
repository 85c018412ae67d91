"""Readings of one snapshot, written as if they had been taken at one instant.

Perfetto takes them for that, and converts by their differences; but clocks are read one after the
other, some microseconds apart. So each reading is taken back to when the reference was read, at its
clock's nominal rate, and its half-width grows by what the two rates may differ in that time.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

from tracetime.clocks import ClockId
from tracetime.domain import ClockDomain
from tracetime.graph.tube.limits import Limits
from tracetime.snapshot import INT64_MAX

COARSE_NS: Final = 100_000
"""A clock of longer ticks stays as it was read."""


def is_coarse(domain: ClockDomain) -> bool:
    """Whether what a clock reads stands still for longer than a snapshot takes."""
    return max(domain.tick_ns or 0, domain.ns_per_tick or 0) > COARSE_NS


class Aligned(NamedTuple):
    """A reading as it is written.

    Attributes:
        value_ns: of the clock.
        centre_ns: when that was, ns of the reference after its own reading.
        half_ns: how far from there it may have been; -1 where that is not known.
    """

    value_ns: int
    centre_ns: int
    half_ns: int


class Aligner:
    """Aligns the snapshots of one recording, one after the other."""

    def __init__(self) -> None:
        # By clock: what it read last, and what was written.
        self._last: dict[ClockId, tuple[int, int]] = {}

    def align(
        self, read: Aligned, domain: ClockDomain, reference: ClockDomain, *, main: bool
    ) -> Aligned:
        """What to write for a reading.

        Never less than what was written last, unless the clock itself has gone back: Perfetto
        would not convert from it any more. What that adds is added to the half-width.

        Args:
            read: as it was read.
            domain, reference: of its clock, as it is written, and of that by which centres are
                told.
            main: whether it is of the regular snapshots; others may be of long ago.
        """
        written = self._taken_back(read, domain, reference)
        last_read_ns, least_ns = self._last.get(domain.id, (read.value_ns, written.value_ns))
        if read.value_ns >= last_read_ns:
            short_ns = max(0, least_ns - written.value_ns)
            half_ns = written.half_ns if written.half_ns < 0 else written.half_ns + short_ns
            written = written._replace(value_ns=written.value_ns + short_ns, half_ns=half_ns)
        elif not main:
            return written
        self._last[domain.id] = read.value_ns, written.value_ns
        return written

    @staticmethod
    def _taken_back(read: Aligned, domain: ClockDomain, reference: ClockDomain) -> Aligned:
        value_ns = read.value_ns - read.centre_ns
        # A clock that has just begun: none is written below 0, nor beyond int64.
        if is_coarse(domain) or not 0 <= value_ns <= INT64_MAX:
            return read
        half_ns = read.half_ns
        if half_ns >= 0:
            drift = Limits.of(reference.drift_ppm, domain.drift_ppm).drift
            half_ns += math.ceil(abs(read.centre_ns) * drift)
        return Aligned(value_ns, 0, half_ns)
