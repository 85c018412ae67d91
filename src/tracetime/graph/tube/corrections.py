"""Rates of runs that are too short to prove one, from recorded corrections.

A run between two recorded changes may have one snapshot. Its rate is that of a neighbouring run
plus the recorded change; or, where changes come too fast for any run to prove its rate, the one
that all snapshots share once the recorded corrections are subtracted.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tracetime._kernels.evidence import cores
from tracetime.graph.tube.evidence import NOT_RECORDED, Evidence
from tracetime.graph.tube.limits import ONE
from tracetime.graph.tube.pieces import SHORTEST, Pieces
from tracetime.graph.tube.segments import Segments
from tracetime.graph.values import Mask, Values, ascending


@dataclass(frozen=True, eq=False, slots=True)
class Cores:
    """What the two greedy partitions of each piece have in common: int64 columns, one a core.

    Attributes:
        piece, segment: which ones it is in; first, last: its snapshots.
        low, high: the slopes it leaves open, in 2^-52.
    """

    piece: Values
    segment: Values
    first: Values
    last: Values
    low: Values
    high: Values

    @classmethod
    def of(cls, evidence: Evidence, pieces: Pieces, wander: Values, drift: int) -> Cores:
        """wander: one a piece."""
        bounds = (evidence.a, evidence.low, evidence.high)
        ends = (pieces.first, pieces.last)
        piece, *rest = cores(*bounds, *ends, wander, drift, evidence.known)
        return cls(piece, pieces.segment[piece], *rest)

    def in_zones(self, n_segments: int) -> Values:
        """Per segment, how many of its snapshots are between two cores."""
        zone = np.zeros(len(self.segment), dtype=np.int64)
        zone[:-1] = np.where(
            self.segment[1:] == self.segment[:-1], self.first[1:] - self.last[:-1] - 1, 0
        )
        return np.bincount(self.segment, zone, n_segments).astype(np.int64)


class KnownRates(NamedTuple):
    """Of each core: whether its rate is known, and the least and greatest slope that it may be."""

    known: Mask
    low: Values
    high: Values


def recorded_change(before: int, after: int, drift: int) -> tuple[int, int]:
    """Least and greatest change of a pair's rate when its recorded correction changed; 2^-52.

    The rates multiply: by the limits, the pair's rate may change by that much more or less.
    """
    change = after - before
    rest = abs(change) * drift // ONE + 1
    return change - rest, change + rest


def recorded_rates(
    found: Cores, few: Mask, segments: Segments, pieces: Pieces, wander: Values, drift: int
) -> KnownRates:
    """Rates of the cores marked `few`, from recorded corrections.

    wander: of each segment.
    """
    rates = KnownRates(np.zeros(len(few), dtype=bool), found.low.copy(), found.high.copy())
    if segments.evidence.correction is None:
        return rates
    # A rate that changed inside a piece did so unrecorded: nothing follows from its neighbours.
    whole = np.bincount(found.piece, minlength=len(pieces.first))[found.piece] == 1
    correction = pieces.correction[found.piece]
    mine = few & whole & (correction != NOT_RECORDED)
    starts = ~few & (correction != NOT_RECORDED)
    deduction = _Deduction(found, mine, segments, correction, rates, drift)
    for order in (range(len(few)), range(len(few) - 1, -1, -1)):
        deduction.carry(starts, order)
    without = np.bincount(found.segment[~few], minlength=len(segments.first)) == 0
    for g in ascending(found.segment[mine & without[found.segment]]).tolist():
        deduction.share(g, int(wander[g]))
    rates.known[rates.low > rates.high] = False
    return rates


@dataclass(frozen=True, eq=False, slots=True)
class _Deduction:
    """Fills in the rates of the cores marked `mine`."""

    found: Cores
    mine: Mask
    segments: Segments
    correction: Values
    rates: KnownRates
    drift: int

    def carry(self, starts: Mask, order: Iterable[int]) -> None:
        """Carry proven rates, of `starts`, to the runs after them in an order."""
        found, correction, rates = self.found, self.correction, self.rates
        before, low, high = -1, 0, 0
        for m in order:
            reached = before >= 0 and found.segment[before] == found.segment[m] and self.mine[m]
            if reached:
                least, most = recorded_change(
                    int(correction[before]), int(correction[m]), self.drift
                )
                low = max(low + least, int(found.low[m]))
                high = min(high + most, int(found.high[m]))
                reached = low <= high
            if reached:
                rates.low[m], rates.high[m] = max(low, rates.low[m]), min(high, rates.high[m])
                rates.known[m] = True
            elif starts[m]:
                low, high = int(found.low[m]), int(found.high[m])
            before = m if reached or starts[m] else -1

    def share(self, g: int, wander: int) -> None:
        """Find the rates of segment g, none of whose runs proves one, from all its snapshots."""
        found, segments, rates = self.found, self.segments, self.rates
        first, last = int(segments.first[g]), int(segments.last[g])
        evidence, here = segments.evidence, slice(first, last + 1)
        assert evidence.correction is not None
        recorded = evidence.correction[here]
        if (recorded == NOT_RECORDED).any():
            return
        # When in a gap the change came is unknown: half of it more or less, as if it were wander.
        half = -(-np.abs(np.diff(recorded)) // 2)
        middle = (recorded[:-1] + recorded[1:]) / (2 * ONE)
        # Unsigned differences: two readings may be more than int64 apart.
        moved = np.append(0.0, np.cumsum(middle * np.diff(evidence.a[here].view(np.uint64))))
        if abs(moved).max() > 2.0**50:
            return
        moved_ns = np.rint(moved).astype(np.int64)
        numbers = (0, last - first, wander + int(half.max(initial=0)) + 1)
        begin, end, width = (np.array([x], dtype=np.int64) for x in numbers)
        low_ns, high_ns = evidence.low[here] - moved_ns - 1, evidence.high[here] - moved_ns + 1
        shared = cores(evidence.a[here], low_ns, high_ns, begin, end, width, self.drift)
        for _, start, stop, low, high in zip(*shared, strict=True):
            proven = self.mine & (found.segment == g) & (stop - start + 1 >= SHORTEST)
            inside = (found.first >= first + start) & (found.last <= first + stop)
            for m in np.flatnonzero(proven & inside).tolist():
                least, most = recorded_change(0, int(self.correction[m]), self.drift)
                rates.low[m] = max(int(low) + least, int(found.low[m]))
                rates.high[m] = min(int(high) + most, int(found.high[m]))
                rates.known[m] = True
