"""The discontinuities of a tube: steps, suspends, resets, outliers, changes of rate."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from tracetime.columns.arrays import median
from tracetime.columns.ragged import Ragged
from tracetime.graph.tube.corrections import recorded_change
from tracetime.graph.tube.discontinuities import Discontinuities, code_of, whole
from tracetime.graph.tube.evidence import (
    FARTHEST,
    HIGH_KNOWN,
    LOW_KNOWN,
    NOT_RECORDED,
    OPEN_HIGH,
    OPEN_LOW,
    WIDEST,
    Evidence,
)
from tracetime.graph.tube.limits import ONE, Limits
from tracetime.graph.tube.runs import FEW, MAY_JUMP, Runs
from tracetime.graph.tube.segments import Segments, parted, segment_cones
from tracetime.graph.values import Mask, Values

if TYPE_CHECKING:
    from tracetime.graph.tube.order_estimate import OrderCurve

NEAR_ZERO: Final = 100
"""A clock that falls to less than this part of what it read was reset, not set back."""


_FARTHEST_KNOT: Final = FARTHEST + WIDEST
"""No snapshot reaches further."""

_ROUNDED: Final = 1 << 13
"""Sums of a reading and an offset, as floats, differ from the exact ones by less than this."""


class Around(NamedTuple):
    """A bar of offsets at some snapshots: int64 ns, the low sides and the high sides.

    OPEN_LOW or OPEN_HIGH where nothing bounds it.
    """

    low: Values
    high: Values


def breaks(segments: Segments, evidence: Evidence, limits: Limits) -> Discontinuities:
    """The jumps between segments; where these were forced, those that evidence shows."""
    before, after = segments.last[:-1], segments.first[1:]
    low, high, _ = jumps(segments, limits)
    is_open = np.logical_or(*segments.open_sides)
    one_sided = is_open[:-1] | is_open[1:]
    nothing = one_sided | ((low <= 0) & (high >= 0))
    shown = np.flatnonzero(~(segments.forced & nothing | segments.possible))
    reset = are_resets(segments, limits)[shown]
    before, after, low, high = (column[shown] for column in (before, after, low, high))
    one_sided = one_sided[shown]
    sides = _intervals(segments, before), _intervals(segments, after)
    kinds = np.full(len(shown), code_of(limits.rise))
    kinds[low < -high] = code_of("step")
    kinds[reset] = code_of("reset")
    kinds[one_sided] = code_of("possible_step")
    return Discontinuities.made(
        kinds,
        (sides[0].a, sides[1].a),
        given_beside(segments, evidence, before, after),
        (low, high),
        sized=~one_sided,
    )


def are_resets(segments: Segments, limits: Limits) -> Mask:
    """Which jumps are resets of clock b: it fell, and read little more than nothing then."""
    low, high, spread = jumps(segments, limits)
    left, right = _intervals(segments, segments.last[:-1]), _intervals(segments, segments.first[1:])
    # The offset also falls where the clock stood still: its reading must have fallen.
    read_before, read_after = (
        a.astype(np.float64) + b for a, b in ((left.a, left.high), (right.a, right.low))
    )
    found: Mask = (low < -high) & (read_after <= read_before + _ROUNDED)
    which = np.flatnonzero(found)
    # Exact sums of readings and offsets need Python's integers.
    rows = zip(
        which.tolist(),
        spread[which].tolist(),
        *(column[which].tolist() for column in (*left, *right)),
        strict=True,
    )
    for k, slack, a_from, low_from, high_from, a_to, low_to, high_to in rows:
        # Reset within the zone, a counter can have come as far as the zone is long.
        most = a_to - a_from + slack + 1
        # A host that was restarted or swapped has run for a while: its clock is not at zero.
        most = max(most, (a_from + low_from) // NEAR_ZERO)
        found[k] = a_to + low_to <= min(most, a_from + high_from) and a_to + high_to >= 0
    return found


class Jumps(NamedTuple):
    """How far the offset jumped after each segment but the last, int64 ns.

    low, high: at least and at most. spread: how far it may have drifted besides.
    """

    low: Values
    high: Values
    spread: Values


def jumps(segments: Segments, limits: Limits) -> Jumps:
    """How far the offset jumped from each segment to the next."""
    before, after = segments.last[:-1], segments.first[1:]
    # Unsigned differences: two readings may be more than int64 apart.
    a = segments.evidence.a.view(np.uint64)
    spans = (a[after] - a[before]).tolist()
    if segments.is_constant:
        spans = [0] * len(spans)
    spread = np.array(limits.spreads(spans), dtype=np.int64)
    # An open side is beyond this; differences of nearer ones fit in int64.
    here, there = (
        np.clip(segments.knots[which], -_FARTHEST_KNOT, _FARTHEST_KNOT) for which in (before, after)
    )
    return Jumps(
        there[:, 0] - here[:, 2] - 1 - spread, there[:, 2] + 1 - here[:, 0] + spread, spread
    )


class _Intervals(NamedTuple):
    """Where snapshots read on clock a, and the lowest and highest offset there, int64 ns."""

    a: Values
    low: Values
    high: Values


def _intervals(segments: Segments, which: Values) -> _Intervals:
    """Those of some snapshots of the segments; of bounds, what they leave open there."""
    here, knots = segments.evidence, segments.knots[which]
    if here.known is not None:
        return _Intervals(here.a[which], knots[:, 0], knots[:, 2] + 1)
    return _Intervals(here.a[which], here.low[which], here.high[which])


def given_beside(segments: Segments, evidence: Evidence, before: Values, after: Values) -> Ragged:
    """The snapshots given on both sides of some places."""
    here, there = (evidence.given(segments.given[which]) for which in (before, after))
    return here.beside(there)


def given_around(
    segments: Segments, evidence: Evidence, firsts: Sequence[int], lasts: Sequence[int]
) -> Ragged:
    """The snapshots given before and after some zones of readings."""
    a = segments.evidence.a
    before = np.searchsorted(a, np.array(firsts, dtype=np.int64)) - 1
    after = np.searchsorted(a, np.array(lasts, dtype=np.int64))
    return given_beside(segments, evidence, *(k.clip(0, len(a) - 1) for k in (before, after)))


def outliers(evidence: Evidence, which: Values, around: Around) -> Discontinuities:
    """Snapshots that were dropped, and by how much they miss the others; around: these' bars there.

    A bound of one side is a wrong order.
    """
    a, low, high = (column[which] for column in (evidence.a, evidence.low, evidence.high))
    kind, sized = np.full(len(a), code_of("outlier")), np.ones(len(a), dtype=bool)
    if evidence.known is not None:
        known = evidence.known[which]
        kind[known != LOW_KNOWN | HIGH_KNOWN] = code_of("wrong_order")
        low_only, high_only = known == LOW_KNOWN, known == HIGH_KNOWN
        low, high = np.where(high_only, high, low), np.where(low_only, low, high)
        sized = (around.low != OPEN_LOW) & (around.high != OPEN_HIGH)
    # The others' bar may reach as far as int64.
    size = whole(low) - whole(around.high), whole(high) - whole(around.low)
    return Discontinuities.made(kind, (a, a), evidence.given(which), size, sized=sized)


def off_at_ends(
    evidence: Evidence, doubtful_ns: Values, limits: Limits, *, is_constant: bool
) -> Discontinuities:
    """The first and the last snapshot, where no drift explains how far they are off those beside.

    Half-widths hold what they are if they were read late; a clock that was set looks the same.

    Args:
        doubtful_ns: readings of clock a whose snapshots are late, or show a step.
        is_constant: whether the offset is, as of clocks that tick alike.
    """
    odd = np.isin(evidence.a, doubtful_ns)
    sure = np.flatnonzero(~odd)
    ends = np.array([0, len(odd) - 1])[: len(sure)]
    ends = ends[odd[ends]]
    beside = sure[np.where(ends == 0, 0, -1)] if len(ends) else ends
    a = evidence.a.view(np.uint64)
    spans = np.maximum(a[ends], a[beside]) - np.minimum(a[ends], a[beside])
    # As of `jumps`: between clocks that tick alike nothing drifts.
    spread = np.array(limits.spreads((spans * (not is_constant)).tolist()), dtype=np.int64)
    half = evidence.half[beside]
    low, high = evidence.low.copy(), evidence.high.copy()
    wide = (low[ends] <= evidence.r[beside]) & (evidence.r[beside] <= high[ends])
    low[ends], high[ends] = evidence.r[ends] - half, evidence.r[ends] + half
    around = Around(evidence.low[beside] - spread, evidence.high[beside] + spread)
    found = outliers(replace(evidence, low=low, high=high), ends, around)
    return found.take(are_off(found) & wide)


def are_off(outliers: Discontinuities) -> Mask:
    """Which snapshots contradict the bars of the others, however they were read."""
    off: Mask = (outliers.low > 0) | (outliers.high < 0)
    return off


def rate_changes(
    segments: Segments, runs: Runs, found: Unexplained, evidence: Evidence, drift: int
) -> tuple[Discontinuities, Discontinuities]:
    """Steps too small to break the limits, and changes of rate between runs that prove one.

    A step is told where both runs prove a rate: what a few snapshots at an end show may be that.

    Over a jump of the offset, the two rates are tied only by the slopes that each side leaves open:
    where these have none in common, the rate changed as well.
    """
    a = runs.evidence.a
    stepped = found.runs[found.by_both]
    j, k = runs.last[stepped], runs.first[stepped + 1]
    before, after = runs.tube_at(j), runs.tube_at(k)
    slope, width = runs.slope[stepped], runs.width[stepped]
    # A slope times a span needs Python's integers.
    sizes = (after[:, 0] - before[:, 2] - 1, after[:, 2] + 1 - before[:, 0])
    columns = (a[j], a[k], *sizes, slope - width, slope + width)
    least, most = [], []
    for a_from, a_to, low, high, falls, rises in zip(
        *(column.tolist() for column in columns), strict=True
    ):
        least.append(low - -(-rises * (a_to - a_from) // ONE))
        most.append(high - falls * (a_to - a_from) // ONE)
    numbers = given_beside(segments, evidence, runs.in_segments(j), runs.in_segments(k))
    steps = Discontinuities.made("possible_step", (a[j], a[k]), numbers, (least, most))
    proven = np.flatnonzero(runs.proven(drift))
    m, n = proven[:-1], proven[1:]
    changed = (runs.size[m] > FEW) & (runs.size[n] > FEW)
    changed &= (runs.slope_low[n] > runs.slope_high[m]) | (runs.slope_low[m] > runs.slope_high[n])
    changed |= runs.segment[m] == runs.segment[n]
    changed &= ~((n == m + 1) & np.isin(m, stepped))
    m, n = m[changed], n[changed]
    j, k = runs.last[m], runs.first[n]
    rates = [_rate_change(runs, one, other, drift) for one, other in zip(m, n, strict=True)]
    ppm = np.array(rates, dtype=np.float64).reshape(-1, 2).T / ONE * 1e6
    numbers = given_beside(segments, evidence, runs.in_segments(j), runs.in_segments(k))
    return steps, Discontinuities.made("rate_change", (a[j], a[k]), numbers, ppm=(ppm[0], ppm[1]))


def hidden_rate_changes(
    segments: Segments,
    curves: Sequence[OrderCurve | None],
    evidence: Evidence,
    known: Sequence[Discontinuities],
) -> Discontinuities:
    """Changes of rate that the curves of orders show, and that runs hide.

    known: those that the runs show. The rates on both sides of a zone are sure within `DEVIATIONS`
    of their deviations: where they may be the same, nothing shows that the rate changed.
    """
    rows: list[tuple[int, int, float, float]] = []
    firsts, lasts = (
        np.concatenate([getattr(part, side) for part in known]) for side in ("a_from", "a_to")
    )
    for curve in curves:
        if curve is None:
            continue
        from tracetime.graph.tube.order_curves import knee_zones
        from tracetime.graph.tube.order_doubt import DEVIATIONS

        for k, at, a_from, a_to in knee_zones(curve):
            if ((firsts <= at) & (at <= lasts)).any():
                continue
            change = float(curve.rate[k + 1] - curve.rate[k]) * 1e6
            doubt = DEVIATIONS * math.sqrt(curve.rate_variance[k : k + 2].sum()) * 1e6
            if abs(change) <= doubt:
                continue
            rows.append((a_from, a_to, change - doubt, change + doubt))
    begins, ends, least, most = zip(*rows, strict=True) if rows else ((),) * 4
    return Discontinuities.made(
        "rate_change",
        (begins, ends),
        given_around(segments, evidence, begins, ends),
        ppm=(least, most),
    )


VISIBLE_HALVES: Final = 8
"""A change of rate that moves the offset by so many half-widths from one snapshot to the next is
visible where at least three snapshots are between it and another one."""

# Changes of up to so many times the hidden one suggest that there are hidden ones.
_NEAR: Final = 4


def nearly_hidden(runs: Runs, limits: Limits) -> float | None:
    """The change of rate, ns per ns, that the half-widths may hide where others are hardly visible.

    Estimated bars can miss then. Changes are hardly visible where the least one that was found is
    near that, or so many are small that W had to be raised.

    Returns:
        None where the rate never changed, or no change comes near; nor where half-widths are
        assumed, snapshots record how clocks were steered, or bounds have one side.
    """
    evidence = runs.evidence
    same = runs.segment[1:] == runs.segment[:-1]
    if evidence.assumed or evidence.correction is not None or not same.any():
        return None
    if evidence.known is not None:
        return None
    wander = float(runs.wander.max()) / ONE
    gap = median(np.diff(evidence.a.view(np.uint64)).astype(np.float64))
    hidden = 2 * wander + VISIBLE_HALVES * median(evidence.half) / max(gap, 1.0)
    proven = same & (runs.size[1:] > FEW) & (runs.size[:-1] > FEW)
    change = np.abs(runs.slope[1:] - runs.slope[:-1])[proven] / ONE
    # W goes to the kernels rounded up.
    raised = wander > 1.5 * limits.wander
    near = float(change.min(initial=math.inf)) < _NEAR * hidden
    return hidden if raised or near else None


def _rate_change(runs: Runs, m: int, n: int, drift: int) -> tuple[int, int]:
    """By how much the rate changed from run m to run n, at least and at most, in 2^-52."""
    least = int(runs.slope_low[n]) - int(runs.slope_high[m])
    most = int(runs.slope_high[n]) - int(runs.slope_low[m])
    before, after = int(runs.correction[m]), int(runs.correction[n])
    if before != after and NOT_RECORDED not in (before, after):
        low, high = recorded_change(before, after, drift)
        if max(least, low) <= min(most, high):
            return max(least, low), min(most, high)
    return least, most


# Gaps between two runs whose change of offset no single change of rate explains.
#
# Within the limits some drift explains it: a rate that changed twice. A clock that can be set,
# reset or stopped may as well have jumped. Then what follows from one side says nothing on the
# other, and bars hold both sides.


class Unexplained(NamedTuple):
    """Places m of runs, ascending: from run m to the next one the offset changed too much.

    Attributes:
        runs: int64.
        by_both: whether both runs prove a rate, and neither reaches the other one.
    """

    runs: Values
    by_both: Mask


def unexplained(runs: Runs, drift: int) -> Unexplained:
    """The gaps within segments that the rates of the runs beside them do not explain.

    Of two runs that prove a rate, neither line reaches the other in the gap; where one proves none,
    the line of the other misses it. Two that prove none say nothing.
    """
    m = np.flatnonzero(runs.segment[1:] == runs.segment[:-1])
    if not len(m):
        return Unexplained(m, np.zeros(0, dtype=bool))
    j, k = runs.last[m], runs.first[m + 1]
    before, after = runs.tube_at(j), runs.tube_at(k)
    least = (after[:, 0] - before[:, 2] - 1).astype(np.float64)
    most = (after[:, 2] + 1 - before[:, 0]).astype(np.float64)
    # Unsigned differences: two readings may be more than int64 apart.
    a = runs.evidence.a.view(np.uint64)
    gap = (a[k] - a[j]).astype(np.float64)
    is_proven = runs.proven(drift)
    above, below, proven = [], [], []
    for which in (m, m + 1):
        slope, width = runs.slope[which] / ONE, runs.width[which] / ONE
        proven.append(is_proven[which])
        above.append(~is_proven[which] | (least > (slope + width) * gap))
        below.append(~is_proven[which] | (most < (slope - width) * gap))
    by_both = proven[0] & proven[1]
    found = (proven[0] | proven[1]) & ((above[0] & above[1]) | (below[0] & below[1]))
    return Unexplained(m[found], by_both[found])


def at_jumps(
    segments: Segments, runs: Runs, found: Unexplained, drift: int
) -> tuple[Segments, Runs]:
    """The segments and runs, parted where the offset may have jumped; drift in 2^-52."""
    m = found.runs
    made = parted(segments, runs.last[m], runs.first[m + 1], drift)
    jumps = runs.jumps.copy()
    jumps[m] = MAY_JUMP
    owner = np.searchsorted(made.first, runs.first, side="right") - 1
    limits = made.knots
    if runs.strays.any():
        limits = segment_cones(runs.evidence, made.first, made.last, drift)
    former = np.searchsorted(segments.first, made.first, side="right") - 1
    return made, replace(
        runs, segment=owner, jumps=jumps, limits=limits, wander=runs.wander[former]
    )
