"""Runs: stretches of a segment in which some rate held, and the tube that each leaves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np

from tracetime._kernels.evidence import cones, cores, smooth_runs, strays
from tracetime.graph.tube.corrections import Cores, Pieces, find_pieces, recorded_rates
from tracetime.graph.tube.evidence import HIGH_KNOWN, LOW_KNOWN, NOT_RECORDED, Evidence
from tracetime.graph.tube.limits import MOST_UNDECLARED_WANDER_PPM, ONE, Limits, slope_up
from tracetime.graph.tube.segments import LEAST_TO_CONFIRM, Segments, only, segment_cones
from tracetime.graph.values import Floats, Marks, Mask, Values

if TYPE_CHECKING:
    from tracetime.graph.tube.order_estimate import OrderCurve

MOST_IN_ZONES: Final = 0.05
"""Share of a segment's snapshots in knee zones above which an undeclared W is doubled."""

_USUAL_SHARE: Final = 10
"""Clocks usually stray from nominal by a tenth of their limit, about."""

_FEW_SNAPSHOTS: Final = 64
"""More seldom share a rate: to try that first is not worth it."""

MAY_JUMP: Final = 1
JUMPED: Final = 2
"""Of `Runs.jumps`; names and numbers are those of the kernel."""

FEW: Final = 2
"""So few snapshots next to another run prove no rate."""


@dataclass(frozen=True, eq=False, slots=True)
class Runs:
    """The runs of a pair's segments, in order.

    Attributes:
        evidence: the snapshots of the segments; strays carry no information.
        strays: uint8, marks snapshots that contradict the rate of their neighbours.
        segment, first, last: int64, one a run: its segment and the snapshots of its core.
        size: int64, how many of these are no strays; of bounds, how many the rarer side has.
        slope_low, slope_high: the slopes the core leaves open, int64 in 2^-52.
        slope, width: of its tube, int64 in 2^-52.
        lone: int64, 1 for a single snapshot between two runs, which may be an outlier.
        jumps: int64, MAY_JUMP where the offset may have jumped before the next run, though a rate
            within the limits explains it (findings.py); JUMPED where it is constant otherwise.
        correction: int64 in 2^-52, recorded for all its snapshots, or NOT_RECORDED.
        wander: W of each segment, int64 in 2^-52.
        knots: int64[n, 4], the run's tube at every snapshot inside a core.
        limits: int64[n, 4], the drift cones at every snapshot inside a segment, strays left out.
        given: of bounds of one side, int64, which of the segments' they are: those that say
            something to the runs' tubes; None where they are all.
    """

    evidence: Evidence
    strays: Marks
    segment: Values
    first: Values
    last: Values
    size: Values
    slope_low: Values
    slope_high: Values
    slope: Values
    width: Values
    lone: Values
    jumps: Values
    correction: Values
    wander: Values
    knots: Values
    limits: Values
    given: Values | None = None

    def in_segments(self, which: Values) -> Values:
        """Some of its snapshots, as the segments number them."""
        return which if self.given is None else self.given[which]

    def table(self) -> Values:
        """One row a run: segment, first, last, slope, width, lone, jumps; for the kernels."""
        tubes = (self.slope, self.width, self.lone, self.jumps)
        columns = (self.segment, self.first, self.last, *tubes)
        return np.ascontiguousarray(np.stack(columns, axis=1))

    def proven(self, drift: int) -> Mask:
        """Which runs prove a rate, their own snapshots or a recorded one; drift in 2^-52."""
        proven: Mask = (self.width < drift) | (self.slope != 0)
        return proven

    def unproven(self, drift: int) -> Mask:
        """Which runs have a rate that two snapshots show: they prove none; drift in 2^-52."""
        told = self.correction != NOT_RECORDED
        unproven: Mask = self.proven(drift) & (self.size <= FEW) & ~told
        return unproven

    def tube_at(self, which: Values) -> Values:
        """Knots of runs; of bounds, within those of the limits: a core may have one side only."""
        knots = self.knots[which]
        if self.evidence.known is not None:
            limits = self.limits[which]
            knots[:, 0] = np.maximum(knots[:, 0], limits[:, 0])
            knots[:, 2] = np.minimum(knots[:, 2], limits[:, 2])
        return knots

    def smoothed(self, drift: int) -> Floats:
        """The estimate at every snapshot inside a core: float64[n, 2], ns to add to r, and rate.

        Where the limit on drift, in 2^-52, cuts the slopes that the snapshots leave open, the rate
        is likely as near nominal as they allow, and far from the limit.
        """
        low, high = self.slope_low, self.slope_high
        cut = ((low <= -drift) | (high >= drift)) & (self.slope == (low + high) // 2)
        likely = np.where(cut, np.clip(0, low, high), self.slope)
        spread = np.maximum(np.where(cut, self.width // _USUAL_SHARE, self.width), 1) / ONE
        wander = np.maximum(self.wander[self.segment], 1) / ONE
        evidence = (self.evidence.a, self.evidence.r, self.evidence.half)
        return smooth_runs(*evidence, self.first, self.last, likely / ONE, spread, wander)


def find_runs(segments: Segments, limits: Limits, curves: Sequence[OrderCurve | None] = ()) -> Runs:
    """Find the runs of every segment, without strays; choose W where none is declared.

    curves: of segments of orders, which say how far their rate strays.
    """
    single = _single_run(segments, limits)
    if single is not None:
        return single
    drift = slope_up(limits.drift)
    pieces = find_pieces(segments)
    wander = np.full(len(segments.first), slope_up(limits.wander), dtype=np.int64)
    is_open = np.ones(len(wander), dtype=bool)
    if has_curves := any(curve is not None for curve in curves):
        from tracetime.graph.tube.order_curves import cut_at_knees, shown_wander
    if limits.shared:
        is_open = ~_confirms(segments, pieces, limits)
        wander = np.where(is_open, wander, slope_up(limits.least_wander))
    if not limits.wander_declared:
        if has_curves:
            told = [curve if free else None for curve, free in zip(curves, is_open, strict=False)]
            wander = shown_wander(segments, told, wander, drift)
        wander = _fitting_wander(segments, pieces, limits, wander, is_open)
    if has_curves:
        pieces = cut_at_knees(segments, pieces, curves, wander, drift)
    found, evidence, blank = _without_strays(segments, pieces, wander, drift)
    limit_cones = segments.knots
    if blank.any():
        limit_cones = segment_cones(evidence, segments.first, segments.last, drift)
    size = _sizes(found, evidence, blank)
    slope, width, lone = _tubes(found, segments, pieces, wander, drift, size)
    snapshots, ends = (evidence.a, evidence.low, evidence.high), (found.first, found.last)
    knots = cones(*snapshots, *ends, slope, width, evidence.known)
    runs = Runs(
        evidence=evidence,
        strays=blank,
        segment=found.segment,
        first=found.first,
        last=found.last,
        size=size,
        slope_low=found.low,
        slope_high=found.high,
        slope=slope,
        width=width,
        lone=lone,
        jumps=_jumped(found, segments),
        correction=pieces.correction[found.piece],
        wander=wander,
        knots=knots,
        limits=limit_cones,
    )
    return runs if evidence.known is None else _thinned(runs, evidence.known, drift)


def _single_run(segments: Segments, limits: Limits) -> Runs | None:
    """The one run of a few snapshots that share a rate; None where it takes more to find runs.

    Traces have thousands of clocks of packet sequences, and few snapshots of each.
    """
    evidence, n = segments.evidence, len(segments.evidence.a)
    is_plain = evidence.known is None and evidence.correction is None and not limits.shared
    if not is_plain or len(segments.first) > 1 or n > _FEW_SNAPSHOTS:
        return None
    drift, w = slope_up(limits.drift), slope_up(limits.wander)
    wander = np.array([w], dtype=np.int64)
    columns = (evidence.a, evidence.low, evidence.high)
    segment, first, last, low, high = cores(*columns, segments.first, segments.last, wander, drift)
    if len(segment) > 1:
        return None
    slope = (low + high) // 2
    width = w + (high - low + 1) // 2 + 1
    return Runs(
        evidence=evidence,
        strays=np.zeros(n, dtype=np.uint8),
        segment=segment,
        first=first,
        last=last,
        size=last - first + 1,
        slope_low=low,
        slope_high=high,
        slope=slope,
        width=width,
        lone=np.zeros(1, dtype=np.int64),
        jumps=np.zeros(1, dtype=np.int64),
        correction=np.full(1, NOT_RECORDED, dtype=np.int64),
        wander=wander,
        knots=cones(*columns, first, last, slope, width),
        limits=segments.knots,
    )


def _thinned(runs: Runs, known: Marks, drift: int) -> Runs:
    """The same runs, without the bounds that say nothing to their tubes.

    Kept are those that a run's tube touches, the ends of runs, all between runs, and all about a
    place where a tube is beyond the limits or steeper: there the limits cut it from bound to bound.
    """
    here, knots, limits = runs.evidence, runs.knots, runs.limits
    n = len(here.a)
    kept = (known & LOW_KNOWN != 0) & (knots[:, 0] == here.low) & (knots[:, 1] == 0)
    kept |= (known & HIGH_KNOWN != 0) & (knots[:, 2] == here.high) & (knots[:, 3] == 0)
    steep = (runs.slope - runs.width < -drift) | (runs.slope + runs.width > drift)
    in_run, in_steep = _inside(runs.first, runs.last, n), _inside(*_ends_of(runs, steep), n)
    lower = (knots[:, 0] < limits[:, 0]) | (
        (knots[:, 0] == limits[:, 0]) & (knots[:, 1] < limits[:, 1])
    )
    higher = (knots[:, 2] > limits[:, 2]) | (
        (knots[:, 2] == limits[:, 2]) & (knots[:, 3] > limits[:, 3])
    )
    beyond = ~in_run | in_steep | lower | higher
    kept |= beyond
    # The rows about them stay as short as they are: a bar beyond its limit all over is replaced.
    kept[1:] |= beyond[:-1]
    kept[:-1] |= beyond[1:]
    kept[runs.first], kept[runs.last] = True, True
    given = np.flatnonzero(kept)
    return replace(
        runs,
        evidence=only(here, given),
        strays=runs.strays[given],
        first=np.searchsorted(given, runs.first).astype(np.int64),
        last=np.searchsorted(given, runs.last).astype(np.int64),
        knots=knots[given],
        limits=limits[given],
        given=given,
    )


def _ends_of(runs: Runs, which: Mask) -> tuple[Values, Values]:
    return runs.first[which], runs.last[which]


def _inside(first: Values, last: Values, n: int) -> Mask:
    """Which of n places are in one of some stretches, ends included."""
    marks = np.zeros(n + 1, dtype=np.int32)
    marks[first] += 1
    marks[last + 1] -= 1
    inside: Mask = np.cumsum(marks[:-1]) > 0
    return inside


def _sizes(found: Cores, evidence: Evidence, blank: Marks) -> Values:
    """How many snapshots each core has, strays left out; of bounds, of the rarer side."""
    kinds = [blank == 0]
    if evidence.known is not None:
        kinds = [(evidence.known & side) != 0 for side in (LOW_KNOWN, HIGH_KNOWN)]
    counts = []
    for kind in kinds:
        counted = np.concatenate(([0], np.cumsum(kind)))
        counts.append(counted[found.last + 1] - counted[found.first])
    least: Values = np.minimum.reduce(counts)
    return least


def _without_strays(
    segments: Segments, pieces: Pieces, wander: Values, drift: int
) -> tuple[Cores, Evidence, Marks]:
    """The cores for a W of each segment, the evidence without strays, and the strays' marks.

    Of bounds of one side none is a stray: what contradicts others is wrong already.
    """
    evidence, piece_wander = segments.evidence, wander[pieces.segment] + pieces.slack
    blank = np.zeros(len(evidence.a), dtype=np.uint8)
    if evidence.known is not None:
        from tracetime.graph.tube.order_curves import trimmed

        found = Cores.of(evidence, pieces, piece_wander, drift)
        return trimmed(found, evidence, pieces, piece_wander, drift), evidence, blank
    while True:
        found = Cores.of(evidence, pieces, piece_wander, drift)
        snapshots = (evidence.a, evidence.low, evidence.high)
        cores = (found.piece, found.first, found.last)
        stray = strays(*snapshots, pieces.first, pieces.last, piece_wander, drift, *cores, blank)
        if not stray:
            return found, evidence, blank
        blank[stray] = 1
        evidence = segments.evidence.without(blank)


def _confirms(segments: Segments, pieces: Pieces, limits: Limits) -> Mask:
    """Which segments confirm, where they must, that one oscillator drives both clocks."""
    drift, n = slope_up(limits.drift), len(segments.first)
    shared = np.full(n, slope_up(limits.least_wander), dtype=np.int64)
    found, _, blank = _without_strays(segments, pieces, shared, drift)
    confirmed = ~_crowded(segments, found, blank)
    in_core = found.last - found.first + 1
    if limits.if_confirmed is not None:
        long = in_core >= LEAST_TO_CONFIRM
        confirmed &= np.bincount(found.segment[long], minlength=n) > 0
    if limits.one_rate:
        w = shared[found.segment]
        other = (in_core > FEW) & ((found.low > w) | (found.high < -w))
        confirmed &= np.bincount(found.segment[other], minlength=n) == 0
    return confirmed


def _crowded(segments: Segments, found: Cores, blank: Marks) -> Mask:
    """Which segments have too many of their snapshots in knee zones, or as strays."""
    sizes = segments.last - segments.first + 1
    counted = np.concatenate(([0], np.cumsum(blank)))
    odd = counted[segments.last + 1] - counted[segments.first]
    # A single stray is not too many, however few snapshots there are.
    many = np.maximum(MOST_IN_ZONES * sizes, 1)
    crowded: Mask = _many_in_zones(segments, found) | (odd > many)
    return crowded


def _many_in_zones(segments: Segments, found: Cores) -> Mask:
    """Of which segments too many snapshots are in knee zones; of bounds, too much of the time."""
    n = len(segments.first)
    if segments.evidence.known is None:
        sizes = segments.last - segments.first + 1
        many: Mask = found.in_zones(n) > MOST_IN_ZONES * sizes
        return many
    # Unsigned differences: two readings may be more than int64 apart.
    a = segments.evidence.a.view(np.uint64)
    span = (a[segments.last] - a[segments.first]).astype(np.float64)
    held = (a[found.last] - a[found.first]).astype(np.float64)
    between: Mask = span - np.bincount(found.segment, held, n) > MOST_IN_ZONES * span
    return between


def _fitting_wander(
    segments: Segments, pieces: Pieces, limits: Limits, least: Values, is_open: Mask
) -> Values:
    """W of each segment; where open, doubled until few snapshots are in knee zones."""
    most = slope_up(MOST_UNDECLARED_WANDER_PPM * 1e-6)
    drift = slope_up(limits.drift)
    chosen, trial = least.copy(), least.copy()
    is_open = is_open.copy()
    while is_open.any():
        some = pieces.of(is_open)
        found = Cores.of(segments.evidence, some, trial[some.segment] + some.slack, drift)
        crowded = _many_in_zones(segments, found)
        fitted = is_open & ~crowded
        chosen[fitted] = trial[fitted]
        is_open &= crowded
        trial[is_open] = np.maximum(2 * trial[is_open], 1)
        is_open &= trial <= most
    return chosen


def _jumped(found: Cores, segments: Segments) -> Values:
    """Before which runs the offset jumped, where it is constant otherwise; not at one reading."""
    jumps = np.zeros(len(found.first), dtype=np.int64)
    if segments.is_constant:
        a = segments.evidence.a
        next_segment = found.segment[1:] != found.segment[:-1]
        apart = a[found.first[1:]] != a[found.last[:-1]]
        jumps[:-1][next_segment & apart] = JUMPED
    return jumps


def _tubes(
    found: Cores, segments: Segments, pieces: Pieces, wander: Values, drift: int, size: Values
) -> tuple[Values, Values, Values]:
    """Slope and width of each core's tube, and which are lone; wander: of each segment."""
    same = found.segment[1:] == found.segment[:-1]
    before, after = np.append(False, same), np.append(same, False)
    # One or two snapshots next to another run prove no rate.
    few = (size <= FEW) & (before | after)
    rates = recorded_rates(found, few, segments, pieces, wander, drift)
    low, high = (
        np.where(rates.known, ours, own)
        for ours, own in ((rates.low, found.low), (rates.high, found.high))
    )
    few &= ~rates.known
    slope = (low + high) // 2
    width = (wander[pieces.segment] + pieces.slack)[found.piece] + (high - low + 1) // 2 + 1
    slope, width = np.where(few, 0, slope), np.where(few, drift, width)
    lone = ((found.first == found.last) & before & after & ~rates.known).astype(np.int64)
    if segments.evidence.known is not None:
        # Bounds of one side leave no slope out: the limits alone hold then.
        sides = segments.open_sides
        free = (sides[0] | sides[1])[found.segment]
        slope, width = np.where(free, 0, slope), np.where(free, drift, width)
        # A single bound that could be wrong is told from a step by its segment, not here.
        lone[:] = 0
    return slope.astype(np.int64), width.astype(np.int64), lone
