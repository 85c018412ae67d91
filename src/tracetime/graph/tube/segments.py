"""Segments: where the offset broke, because no drift within the limits explains both sides."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final, NamedTuple

import numpy as np

from tracetime._kernels.epochs import drifts
from tracetime._kernels.evidence import cones, cut, faults, live
from tracetime.graph.tube.evidence import HIGH_KNOWN, LOW_KNOWN, WIDEST, Evidence
from tracetime.graph.tube.limits import Limits, slope_up
from tracetime.graph.values import Marks, Mask, Values, ascending


@dataclass(frozen=True, eq=False, slots=True)
class Segments:
    """The segments of a pair's snapshots, outliers left out; of bounds of one side, the live ones.

    Where bounds have one side, those are left out as well that others of their segment make
    needless: the drift cones stay the same without them.

    Attributes:
        evidence: the snapshots that are no outliers, of bounds the live ones.
        given: which of the evidence's snapshots they are, int64.
        first, last: int64, one a segment: its snapshots, those that could belong to the next
            segment as well (a zone's) in neither.
        outliers: int64, snapshots of the evidence that contradict both neighbours.
        knots: int64[n, 4], the drift cones at every snapshot inside a segment.
        forced: bool, of each segment but the first whether a machine slept before it.
        possible: bool, the same, whether the limits would allow what is on both sides.
        is_constant: whether the offset is constant in each.
        gaps_apart: see `Tube.gaps_apart`.
    """

    evidence: Evidence
    given: Values
    first: Values
    last: Values
    outliers: Values
    knots: Values
    forced: Mask
    possible: Mask
    is_constant: bool = False
    gaps_apart: int = 0

    @property
    def open_sides(self) -> tuple[Mask, Mask]:
        """Of which segments nothing bounds the offset from below, and of which from above."""
        known = self.evidence.known
        if known is None:
            closed = np.zeros(len(self.first), dtype=bool)
            return closed, closed
        # One after the other, without a gap.
        said = np.bitwise_or.reduceat(known, self.first)
        return said & LOW_KNOWN == 0, said & HIGH_KNOWN == 0


def find_segments(
    evidence: Evidence, limits: Limits, cuts: Values | None = None, slept: Values | None = None
) -> Segments:
    """Cut snapshots into segments, and drop outliers.

    Args:
        cuts, slept: readings at which segments begin, whatever the snapshots say: a clock surely
            stepped, or a machine slept.
    """
    drift = slope_up(limits.drift)
    begins = [np.searchsorted(evidence.a, given) for given in (cuts, slept) if given is not None]
    at = sorted(place for places in begins for place in places.tolist())
    parts = [part for part in pairwise([0, *at, len(evidence.a)]) if part[0] < part[1]]
    if evidence.known is not None:
        return _segments_of_bounds(evidence, evidence.known, drift, parts, slept)
    parted_at = np.array([begin for begin, _ in parts], dtype=np.int64)
    drifting = unbroken(evidence, parted_at, drift)
    constant, apart = in_base(evidence, limits, parted_at, drifting, drift)
    keep, first, after = drifting if constant is None else constant
    given = np.flatnonzero(keep)
    if len(given) < len(keep):
        evidence = only(evidence, given)
    first = np.searchsorted(given, first).astype(np.int64)
    last = (np.searchsorted(given, after) - 1).astype(np.int64)
    knots = segment_cones(evidence, first, last, drift)
    outliers = np.flatnonzero(~keep)
    forced = _forced(evidence.a[first[1:]], slept)
    possible, is_constant = np.zeros_like(forced), constant is not None
    return Segments(
        evidence, given, first, last, outliers, knots, forced, possible, is_constant, apart
    )


def _forced(begins: Values, slept: Values | None) -> Mask:
    """Whether each segment but the first begins after a suspend; begins: their readings."""
    forced = np.zeros(len(begins), dtype=bool)
    if slept is not None:
        at = np.searchsorted(begins, slept)
        forced[at[at < len(begins)]] = True
    return forced


def _segments_of_bounds(
    evidence: Evidence,
    known: Marks,
    drift: int,
    parts: Sequence[tuple[int, int]],
    slept: Values | None,
) -> Segments:
    """Cut bounds into segments, drop wrong ones, and those that others make needless."""
    keep = np.ones(len(known), dtype=np.uint8)
    bounds = (evidence.a, evidence.low, evidence.high, known, drift, keep)
    ends = []
    for begin, end in parts:
        here = slice(begin, end)
        columns = evidence.a[here], evidence.low[here], evidence.high[here]
        found = faults(*columns, known[here], drift, keep[here])
        ends.append(np.array(found, dtype=np.int64) + begin)
    first, last = np.concatenate(ends, axis=1)
    sides = live(*bounds, first, last)
    chosen = sides != 0
    # The ends tell where a segment surely held, even where they are needless.
    chosen[first], chosen[last] = True, True
    given = np.flatnonzero(chosen)
    sides = sides[given]
    alive = only(evidence, given)
    low, high = alive.low, alive.high
    low = np.where(sides == HIGH_KNOWN, high - WIDEST, low)
    high = np.where(sides == LOW_KNOWN, low + WIDEST, high)
    alive = replace(alive, low=low, high=high, known=sides)
    first, last = (np.searchsorted(given, ends).astype(np.int64) for ends in (first, last))
    wrong = np.flatnonzero(keep == 0)
    knots = segment_cones(alive, first, last, drift)
    forced = _forced(alive.a[first[1:]], slept)
    return Segments(alive, given, first, last, wrong, knots, forced, np.zeros_like(forced))


def parted(segments: Segments, lasts: Values, firsts: Values, drift: int) -> Segments:
    """The segments, parted between some of their snapshots although the limits allow both sides.

    lasts, firsts: the snapshots that end and begin the parts, ascending. drift: in 2^-52.
    """
    evidence = segments.evidence
    first, last = (
        ascending(np.append(ends, more))
        for ends, more in ((segments.first, firsts), (segments.last, lasts))
    )
    was_forced = np.isin(first[1:], segments.first[1:][segments.forced])
    return replace(
        segments,
        first=first,
        last=last,
        knots=segment_cones(evidence, first, last, drift),
        forced=was_forced,
        possible=np.isin(first[1:], firsts),
    )


def only(evidence: Evidence, given: Values) -> Evidence:
    """Some of the snapshots."""
    correction, known = evidence.correction, evidence.known
    return replace(
        evidence,
        a=evidence.a[given],
        low=evidence.low[given],
        high=evidence.high[given],
        correction=None if correction is None else correction[given],
        known=None if known is None else known[given],
    )


def segment_cones(evidence: Evidence, first: Values, last: Values, drift: int) -> Values:
    """The drift cones of each segment at its snapshots, int64[n, 4]."""
    widths = np.full(len(first), drift, dtype=np.int64)
    bounds = (evidence.a, evidence.low, evidence.high)
    return cones(*bounds, first, last, np.zeros_like(widths), widths, evidence.known)


# Bases: clocks of a machine that tick alike, whose offset is constant until one of them jumps.
#
# BOOTTIME and MONOTONIC differ by the time that the machine slept, REALTIME by how it was set. So
# any change beyond the half-widths is a jump, however small. Guaranteed bars keep the drift that
# the two clocks declare: a jump that is found only parts what they rest on.

LEAST_TO_CONFIRM: Final = 8
"""So many snapshots of a segment confirm that one oscillator drives both clocks."""

_MOST_CONTRADICTIONS: Final = 3
_MOST_SHARE: Final = 0.2
"""Where more than three changes, in more than a fifth of the gaps, contradict a base, it is none:
systems other than Linux slew their wall clocks alone."""

_SURE_NS: Final = 100_000_000
_LARGE_NS: Final = 10_000_000
_ALIKE: Final = 10
"""Where nobody says how snapshots were read, one may be late. A jump shows on two levels, each of
two snapshots, three below 10 ms, one above 100 ms, that agree to a tenth of it."""

_FEW: Final = np.arange(3)


class Unbroken(NamedTuple):
    """Stretches of snapshots that nothing contradicts.

    Attributes:
        keep: bool, which snapshots are no outliers.
        first, after: int64, one a stretch: where it begins, and the first snapshot after it; those
            that could belong to the next one as well are after it.
    """

    keep: Mask
    first: Values
    after: Values

    @property
    def n_contradictions(self) -> int:
        return len(self.first) - 1 + int((~self.keep).sum())


def unbroken(evidence: Evidence, begins: Values, drift: int) -> Unbroken:
    """The stretches that a drift within the limit explains.

    begins: where the snapshots are parted anyway, ascending, the first one 0. drift: in 2^-52.
    """
    keep = np.ones(len(evidence.a), dtype=np.uint8)
    found = cut(evidence.a, evidence.low, evidence.high, drift, keep, begins)
    first, after = np.array(found, dtype=np.int64)
    return Unbroken(keep != 0, first, after)


def in_base(
    evidence: Evidence, limits: Limits, begins: Values, drifting: Unbroken, drift: int
) -> tuple[Unbroken | None, int]:
    """The stretches in which the offset of two clocks of a base is constant; None if they are none.

    And how many gaps contradict that they are of one, where that is why; else 0.
    begins: as of `unbroken`. drifting: what they are if the clocks drift, by `drift`.
    """
    if not limits.one_rate:
        return None, 0
    constant = unbroken(evidence, begins, 0)
    most = max(_MOST_CONTRADICTIONS, _MOST_SHARE * (len(evidence.a) - 1))
    more = constant.n_contradictions - drifting.n_contradictions
    if more > most:
        return None, more
    longest = int((constant.after - constant.first).max())
    if limits.if_confirmed is not None and longest < LEAST_TO_CONFIRM:
        return None, 0
    if not evidence.assumed:
        none = _may_be_none(evidence, constant, drift) & ~np.isin(constant.first[1:], begins)
        return (None, more) if none.any() else (constant, 0)
    levels = constant.first[1:][_are_levels(evidence, constant)]
    return unbroken(evidence, ascending(np.append(begins, levels)), drift), 0


def _may_be_none(evidence: Evidence, constant: Unbroken, drift: int) -> Mask:
    """Before which stretches but the first the offset may be what it was, if the clocks drift."""
    kept = np.flatnonzero(constant.keep)
    first, last = np.searchsorted(kept, constant.first), np.searchsorted(kept, constant.after) - 1
    knots = segment_cones(only(evidence, kept), first, last, drift)
    before, after = knots[last[:-1]], knots[first[1:]]
    # Over what is left out they may drift, too.
    a, left_out = evidence.a[kept], kept[first[1:]] - kept[last[:-1]] > 1
    widths = np.full(len(first) - 1, drift, dtype=np.int64)
    spread = np.where(left_out, drifts(a[first[1:]] - a[last[:-1]], widths), 0) + 1
    may_be: Mask = after[:, 0] <= before[:, 2] + spread
    may_be &= after[:, 2] + spread >= before[:, 0]
    return may_be


def _are_levels(evidence: Evidence, constant: Unbroken) -> Mask:
    """Before which stretches but the first the offset jumped, from one level to another."""
    kept = np.flatnonzero(constant.keep)
    r, low, high = (side[kept] for side in (evidence.r, evidence.low, evidence.high))
    k = np.searchsorted(kept, constant.first[1:])
    # A change that half-widths explain may be one of reading.
    jumped = (low[k] > high[k - 1]) | (high[k] < low[k - 1])
    size = np.abs(r[k] - r[k - 1])
    n = np.where(size > _SURE_NS, 1, np.where(size > _LARGE_NS, 2, 3))
    jumped &= (k >= n) & (k + n <= len(kept))
    for side in (k[:, None] - 1 - _FEW, k[:, None] + _FEW):
        off = np.abs(r[np.clip(side, 0, len(kept) - 1)] - r[side[:, :1]])
        jumped &= np.where(n[:, None] > _FEW, off, 0).max(axis=1) <= size // _ALIKE
    return jumped
