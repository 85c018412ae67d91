"""Guaranteed bars: what a clock may have read when another one read something.

The least bounds of all nodes from an instant are exact, given epochs, rows and drifts: no path over
any clocks, waiting on any of them, says more. A reading of the source may be in several epochs, and
the target may be in several at the instant: the bar holds all.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from tracetime._kernels.epochs import drifts
from tracetime.graph.epochs.nodes import System
from tracetime.graph.epochs.rows import OPEN
from tracetime.graph.values import Values


class Bars(NamedTuple):
    """Bounds of what a clock read: int64 ns, one for each reading of the source.

    -OPEN and OPEN stand for sides that nothing bounds.
    """

    earliest: Values
    latest: Values


def hull(bars: list[Bars]) -> Bars:
    """What any of some bars allows."""
    return Bars(
        np.minimum.reduce([one.earliest for one in bars]),
        np.maximum.reduce([one.latest for one in bars]),
    )


class Read(NamedTuple):
    """What a clock may have read in one of its epochs; -OPEN or OPEN where nothing bounds it."""

    epoch: int
    earliest: int
    latest: int


class Paths:
    """Bars from one clock to another in one system.

    Attributes:
        epochs: the first and the last place of each of the source's, in order.
        reaches: the least and the greatest reading that each may have, since the source's first.
    """

    def __init__(self, system: System, source: int, target: int) -> None:
        self._system = system
        self._nodes = system.nodes
        self._source, self._target = source, target
        self.epochs = self._epochs(source)
        self._theirs = self._epochs(target)
        self.reaches = self._reach()

    def _epochs(self, clock: int) -> list[tuple[int, int]]:
        """The places of each epoch of a clock: (first, last). What lies within a zone is none."""
        system = self._system
        which = np.flatnonzero((system.epoch_clock == clock) & ~system.epoch_within)
        first, end = system.epoch_first[which], system.epoch_first[which + 1]
        return list(zip(first.tolist(), (end - 1).tolist(), strict=True))

    def _reading(self, place: int) -> int:
        """What a node reads, ns since its clock's first reading."""
        return int(self._nodes.readings[self._system.node_at[place]])

    def _reach(self) -> list[tuple[int, int]]:
        """How far each epoch of the source may reach: the least and the greatest reading.

        Beyond its ends no farther than the zone lasts that it borders on; the first one before all
        and the last one after all without limit, unless it began anew with readings of its own.
        """
        ends = [(self._reading(first), self._reading(last)) for first, last in self.epochs]
        stays = [self._stay(k) for k in range(len(ends) - 1)]
        before, after = [OPEN, *stays], [*stays, OPEN]
        back = self._nodes.clocks[self._source].back
        if back and ends != sorted(ends) and not self._shares_a_reading(ends):
            before[0] = after[-1] = 0
        reach = [
            (low - stay, high + stays_on)
            for (low, high), stay, stays_on in zip(ends, before, after, strict=True)
        ]
        if back:
            return reach
        least = [-OPEN, *(high for _, high in ends[:-1])]
        most = [*(low for low, _ in ends[1:]), OPEN]
        return [
            (max(low, floor), min(high, ceiling))
            for (low, high), floor, ceiling in zip(reach, least, most, strict=True)
        ]

    @staticmethod
    def _shares_a_reading(ends: list[tuple[int, int]]) -> bool:
        return any(after[0] <= before[1] for before, after in pairwise(sorted(ends)))

    def _stay(self, k: int) -> int:
        """How long the source may have been between two of its epochs, ns of its own; or OPEN."""
        before, after = self.epochs[k][1], self.epochs[k + 1][0]
        zero = np.zeros(1, dtype=np.int64)
        z = self._system.waits.distances(np.array([before]), zero, False)[after]
        if z >= OPEN:
            return OPEN
        lasts = max(int(z) + self._reading(after) - self._reading(before), 0)
        return self._nodes.clocks[self._source].lasts_ns(lasts)

    def within(self, spot: tuple[int, int], reading: int) -> list[Read]:
        """What the target may have read when the source read something in one of its epochs.

        Args:
            spot: the first and the last place of the epoch.
            reading: ns since the source's first.
        """
        system, (first, last) = self._system, spot
        own = self._nodes.readings[system.node_at[first : last + 1]]
        k = first + int(np.searchsorted(own, reading))
        places = [place for place in (k - 1, k) if first <= place <= last]
        clock = self._nodes.clocks[self._source]
        away = [self._reading(place) - reading for place in places]
        there = np.array(
            [_grown(d, clock.later if d > 0 else clock.earlier) for d in away], dtype=np.int64
        )
        back = np.array(
            [_grown(d, clock.earlier if d > 0 else clock.later) for d in away], dtype=np.int64
        )
        starts = np.array(places, dtype=np.int64)
        high = system.waits.distances(starts, there, False)
        low = system.waits.distances(starts, back, True)
        return self._read(reading, low, high)

    def _read(self, reading: int, below: Values, above: Values) -> list[Read]:
        """What the target read at an instant whose z is 0; its nodes' are in -below .. above."""
        nodes, system = self._nodes, self._system
        possible, base = [], nodes.base[self._target]
        for k, (first, last) in enumerate(self._theirs):
            # It is in an epoch from the last instant before it to the first after it.
            own = slice(first, last + 1)
            read = nodes.readings[system.node_at[own]]
            earliest, latest = self._in_epoch(reading, read, below[own], above[own])
            after, before = self._neighbours(k)
            if after is not None and self._instant(after, above, reading) < 0:
                continue
            if before is not None and -self._instant(before, below, -reading, -1) > 0:
                continue
            if not nodes.clocks[self._target].back:
                if k + 1 < len(self._theirs):
                    latest = min(latest, self._reading(self._theirs[k + 1][0]))
                if k:
                    earliest = max(earliest, self._reading(self._theirs[k - 1][1]))
            low = earliest if earliest <= -OPEN else earliest + base
            possible.append(Read(k, low, latest if latest >= OPEN else latest + base))
        return possible

    def _neighbours(self, k: int) -> tuple[int | None, int | None]:
        """The first place after an epoch of the target, and the last before it."""
        after = self._theirs[k + 1][0] if k + 1 < len(self._theirs) else None
        return after, self._theirs[k - 1][1] if k else None

    def _instant(self, place: int, z: Values, reading: int, sign: int = 1) -> int:
        """The latest instant of a node after x (sign -1: minus the earliest); OPEN if open."""
        if z[place] >= OPEN:
            return OPEN
        return int(z[place]) + sign * self._reading(place) - reading

    def _in_epoch(
        self, reading: int, read: Values, below: Values, above: Values
    ) -> tuple[int, int]:
        """What an epoch's nodes say: each bounds what was read some time before it or after it."""
        clock = self._nodes.clocks[self._target]
        earliest, latest = -OPEN, OPEN
        known = below < OPEN
        if known.any():
            # x - x_j is at most so much.
            most = below[known] + reading - read[known]
            latest = int((read[known] + _rate(most, clock.faster)).min())
        known = above < OPEN
        if known.any():
            least = reading - read[known] - above[known]
            earliest = int((read[known] - _rate(-least, clock.faster)).max())
        return earliest, latest


def _grown(distance: int, slope: int) -> int:
    """A distance times a slope, rounded up."""
    return -(-abs(distance) * slope >> 52)


def _rate(time: Values, drift: int) -> Values:
    """By how much a clock goes on at most within a time, which may be negative, rounded up."""
    return time + drifts(np.abs(time), np.full(len(time), drift, dtype=np.int64))
