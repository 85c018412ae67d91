"""Runs: stretches of a segment in which some rate held, and the tube that each leaves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from tracetime._kernels.tube.smoother import smooth
from tracetime._kernels.tube.sweep import cones, strays
from tracetime.graph.tube.corrections import Cores, Mask, recorded_rates
from tracetime.graph.tube.evidence import Evidence, Floats, Marks, Values
from tracetime.graph.tube.limits import (
    MOST_UNDECLARED_WANDER_PPM,
    ONE,
    Limits,
    slope_up,
)
from tracetime.graph.tube.pieces import Pieces, find_pieces
from tracetime.graph.tube.segments import Segments, segment_cones

MOST_IN_ZONES: Final = 0.05
"""Share of a segment's snapshots in knee zones above which an undeclared W is doubled."""

_USUAL_SHARE: Final = 10
"""Clocks usually stray from nominal by a tenth of their limit, about."""

LEAST_TO_CONFIRM: Final = 8
"""So many snapshots of a segment confirm that one oscillator drives both clocks."""

FEW: Final = 2
"""So few snapshots next to another run prove no rate."""


@dataclass(frozen=True, eq=False, slots=True)
class Runs:
    """The runs of a pair's segments, in order.

    Attributes:
        evidence: the snapshots of the segments; strays carry no information.
        strays: uint8, marks snapshots that contradict the rate of their neighbours.
        segment, first, last: int64, one a run: its segment and the snapshots of its core.
        size: int64, how many of these are no strays.
        slope_low, slope_high: the slopes the core leaves open, int64 in 2^-52.
        slope, width: of its tube, int64 in 2^-52.
        lone: int64, 1 for a single snapshot between two runs, which may be an outlier.
        correction: int64 in 2^-52, recorded for all its snapshots, or NOT_RECORDED.
        wander: W of each segment, int64 in 2^-52.
        knots: int64[n, 4], the run's tube at every snapshot inside a core.
        limits: int64[n, 4], the drift cones at every snapshot inside a segment, strays left out.
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
    correction: Values
    wander: Values
    knots: Values
    limits: Values

    def table(self) -> Values:
        """One row a run: segment, first, last, slope, width, lone; for the kernels."""
        columns = (self.segment, self.first, self.last, self.slope, self.width, self.lone)
        return np.ascontiguousarray(np.stack(columns, axis=1))

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
        return smooth(*evidence, self.first, self.last, likely / ONE, spread, wander)


def find_runs(segments: Segments, limits: Limits) -> Runs:
    """Find the runs of every segment, without strays; choose W where none is declared."""
    drift = slope_up(limits.drift)
    pieces = find_pieces(segments)
    wander = np.full(len(segments.first), slope_up(limits.wander), dtype=np.int64)
    is_open = np.ones(len(wander), dtype=bool)
    if limits.shared:
        is_open = ~_confirms(segments, pieces, limits)
        wander = np.where(is_open, wander, slope_up(limits.least_wander))
    if not limits.wander_declared:
        wander = _fitting_wander(segments, pieces, limits, wander, is_open)
    found, evidence, blank = _without_strays(segments, pieces, wander, drift)
    limit_cones = segments.knots
    if blank.any():
        limit_cones = segment_cones(evidence, segments.first, segments.last, drift)
    counted = np.concatenate(([0], np.cumsum(blank == 0)))
    size = counted[found.last + 1] - counted[found.first]
    slope, width, lone = _tubes(found, segments, pieces, wander, drift, size)
    knots = cones(evidence.a, evidence.low, evidence.high, found.first, found.last, slope, width)
    return Runs(
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
        correction=pieces.correction[found.piece],
        wander=wander,
        knots=knots,
        limits=limit_cones,
    )


def _without_strays(
    segments: Segments, pieces: Pieces, wander: Values, drift: int
) -> tuple[Cores, Evidence, Marks]:
    """The cores for a W of each segment, the evidence without strays, and the strays' marks."""
    evidence, piece_wander = segments.evidence, wander[pieces.segment] + pieces.slack
    blank = np.zeros(len(evidence.a), dtype=np.uint8)
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
    crowded: Mask = (found.in_zones(len(sizes)) > MOST_IN_ZONES * sizes) | (odd > many)
    return crowded


def _fitting_wander(
    segments: Segments, pieces: Pieces, limits: Limits, least: Values, is_open: Mask
) -> Values:
    """W of each segment; where open, doubled until few snapshots are in knee zones."""
    sizes = segments.last - segments.first + 1
    most = slope_up(MOST_UNDECLARED_WANDER_PPM * 1e-6)
    drift = slope_up(limits.drift)
    chosen, trial = least.copy(), least.copy()
    is_open = is_open.copy()
    while is_open.any():
        some = pieces.of(is_open)
        found = Cores.of(segments.evidence, some, trial[some.segment] + some.slack, drift)
        crowded = found.in_zones(len(sizes)) > MOST_IN_ZONES * sizes
        fitted = is_open & ~crowded
        chosen[fitted] = trial[fitted]
        is_open &= crowded
        trial[is_open] = np.maximum(2 * trial[is_open], 1)
        is_open &= trial <= most
    return chosen


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
    return slope.astype(np.int64), width.astype(np.int64), lone
