"""Rates of runs that are too short to prove one, from recorded corrections.

A run between two recorded changes may have one snapshot. Its rate is that of a neighbouring run
plus the recorded change; or, where changes come too fast for any run to prove its rate, the one
that all snapshots share once the recorded corrections are subtracted.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from tracetime._kernels.evidence import cores
from tracetime.graph.tube.evidence import NOT_RECORDED, Evidence
from tracetime.graph.tube.limits import ONE
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


# Pieces of segments: where snapshots record that the kernel changed the rate of a clock.
#
# The frequency that adjtimex reports at a snapshot does not bound the offset, but it shows when the
# rate changed, even where noise hides that: no run may continue across such a change.

SHORTEST: Final = 3
"""Fewer snapshots between two changes prove no rate of their own."""

SCALED_PPM: Final = 65_536 * 1_000_000
"""A frequency of 1, in 2^-16 ppm."""


@dataclass(frozen=True, eq=False, slots=True)
class Pieces:
    """Stretches of segments, in order, in which runs are searched; together, all of a segment.

    Attributes:
        segment, first, last: int64, one a piece: its segment and its snapshots.
        slack: int64 in 2^-52, how far the recorded corrections of a piece are from their middle;
            above 0 only where changes come too fast for pieces of their own.
        correction: int64 in 2^-52, the one recorded for all snapshots of the piece, else
            NOT_RECORDED.
    """

    segment: Values
    first: Values
    last: Values
    slack: Values
    correction: Values

    def of(self, segments: Mask) -> Pieces:
        """The pieces of some segments, marked."""
        mine = segments[self.segment]
        columns = (self.segment, self.first, self.last, self.slack, self.correction)
        return Pieces(*(column[mine] for column in columns))


def find_pieces(segments: Segments) -> Pieces:
    """Cut segments between neighbouring snapshots that record different corrections.

    Consecutive pieces shorter than 3 snapshots stay together where the change between them moves
    the offset over a gap by less than its half-width: the recorded change then counts as wander.
    """
    correction, a = segments.evidence.correction, segments.evidence.a
    count = len(segments.first)
    whole = np.arange(count, dtype=np.int64)
    if correction is None:
        open_ones = np.full(count, NOT_RECORDED, dtype=np.int64)
        return Pieces(whole, segments.first, segments.last, np.zeros_like(whole), open_ones)
    known = correction != NOT_RECORDED
    after = 1 + np.flatnonzero(
        known[1:] & known[:-1] & (correction[1:] != correction[:-1]) & (a[1:] > a[:-1])
    )
    segment = np.maximum(np.searchsorted(segments.first, after, side="right") - 1, 0)
    inside = (after > segments.first[segment]) & (after <= segments.last[segment])
    first = np.sort(np.concatenate([segments.first, after[inside]]))
    segment, last = _ends(first, segments)
    short = last - first + 1 < SHORTEST
    together = short[1:] & short[:-1] & (segment[1:] == segment[:-1])
    k = first[1:]
    change = np.abs(correction[k] / ONE - correction[k - 1] / ONE)
    # Unsigned differences: two readings may be more than int64 apart.
    gap = a.view(np.uint64)[k] - a.view(np.uint64)[k - 1]
    together &= change * gap <= segments.evidence.half[k]
    first = first[np.append(True, ~together)]
    segment, last = _ends(first, segments)
    return Pieces(segment, first, last, *_recorded(correction, known, first, last, together))


def _ends(first: Values, segments: Segments) -> tuple[Values, Values]:
    segment = (np.searchsorted(segments.first, first, side="right") - 1).astype(np.int64)
    last = segments.last[segment].copy()
    same = segment[1:] == segment[:-1]
    last[:-1][same] = first[1:][same] - 1
    return segment, last


def _recorded(
    correction: Values, known: Mask, first: Values, last: Values, together: Mask
) -> tuple[Values, Values]:
    """Slack and correction of each piece; together: which of them, before, joined the next."""
    limits = np.iinfo(np.int64)
    # One more snapshot, so that the end of the last piece is an index as well.
    lows = np.append(np.where(known, correction, limits.max), limits.max)
    highs = np.append(np.where(known, correction, limits.min), limits.min)
    ends = np.stack([first, last + 1], axis=1).ravel()
    low, high = np.minimum.reduceat(lows, ends)[::2], np.maximum.reduceat(highs, ends)[::2]
    counts = np.append(0, np.cumsum(known))
    full = counts[last + 1] - counts[first] == last - first + 1
    joined = np.append(False, together) | np.append(together, False)
    many = joined[np.append(True, ~together)]
    slack = np.where(many, (high - low + 1) // 2, 0).astype(np.int64)
    return slack, np.where(full & (low == high), low, NOT_RECORDED).astype(np.int64)


def correction_of(frequency_a: Values, frequency_b: Values) -> Values | None:
    """How much steeper the corrections of a pair's clocks make the offset of b from a.

    frequency_a, frequency_b: in 2^-16 ppm, NOT_RECORDED where they are unknown.

    Returns:
        int64 in 2^-52, NOT_RECORDED where either is unknown; None where all are, or none differs.
    """
    known = (frequency_a != NOT_RECORDED) & (frequency_b != NOT_RECORDED)
    if not known.any():
        return None
    f, g = (np.where(known, x, 0) / SCALED_PPM for x in (frequency_a, frequency_b))
    # (1 + g) / (1 + f) - 1, which loses nothing where f or g is 0.
    steeper = np.rint((g - f) / (1 + f) * ONE).astype(np.int64)
    if (steeper[known] == steeper[known][0]).all():
        return None
    return np.where(known, steeper, NOT_RECORDED)
