"""Pieces of segments: where snapshots record that the kernel changed the rate of a clock.

The frequency that adjtimex reports at a snapshot does not bound the offset, but it shows when the
rate changed, even where noise hides that: no run may continue across such a change.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from tracetime.graph.tube.evidence import NOT_RECORDED
from tracetime.graph.tube.limits import ONE
from tracetime.graph.tube.segments import Segments
from tracetime.graph.values import Mask, Values

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
    correction: Values,
    known: Mask,
    first: Values,
    last: Values,
    together: Mask,
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
