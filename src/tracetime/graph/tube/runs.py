"""Runs: stretches of a segment in which some rate held, and the tube that each leaves."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from tracetime._kernels.smooth import smooth
from tracetime._kernels.sweep import cones, cores, strays
from tracetime.graph.tube.evidence import Evidence, Floats, Marks, Values
from tracetime.graph.tube.limits import (
    MOST_UNDECLARED_WANDER_PPM,
    ONE,
    Limits,
    slope_up,
)
from tracetime.graph.tube.segments import Segments, segment_cones

MOST_IN_ZONES: Final = 0.05
"""Share of a segment's snapshots in knee zones above which an undeclared W is doubled."""

FEW: Final = 2
"""So many snapshots beside another run prove no rate."""


@dataclass(frozen=True, eq=False, slots=True)
class Runs:
    """The runs of a pair's segments, in order.

    Attributes:
        evidence: the snapshots of the segments; strays say nothing.
        strays: uint8, marks snapshots that contradict the rate their neighbours share.
        segment, first, last: int64, one a run: its segment and the snapshots of its core.
        size: int64, how many of these are no strays.
        slope_low, slope_high: the slopes the core leaves open, int64 in 2^-52.
        slope, width: of its tube, int64 in 2^-52.
        lone: int64, 1 for a single snapshot between two runs, which may be an outlier.
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
    wander: Values
    knots: Values
    limits: Values

    def table(self) -> Values:
        """One row a run: segment, first, last, slope, width, lone; for the kernels."""
        columns = (self.segment, self.first, self.last, self.slope, self.width, self.lone)
        return np.ascontiguousarray(np.stack(columns, axis=1))

    def smoothed(self) -> Floats:
        """The estimate at every snapshot inside a core: float64[n, 2], ns to add to r, and rate."""
        spread = np.maximum(self.width, 1) / ONE
        wander = np.maximum(self.wander[self.segment], 1) / ONE
        return smooth(
            self.evidence.a, self.evidence.r, self.evidence.half, self.first, self.last,
            self.slope / ONE, spread, wander,
        )  # fmt: skip


@dataclass(frozen=True, eq=False, slots=True)
class _Cores:
    segment: Values
    first: Values
    last: Values
    low: Values
    high: Values

    def in_zones(self, n_segments: int) -> Values:
        """Per segment, how many of its snapshots lie between two cores."""
        zone = np.zeros(len(self.segment), dtype=np.int64)
        zone[:-1] = np.where(
            self.segment[1:] == self.segment[:-1], self.first[1:] - self.last[:-1] - 1, 0
        )
        return np.bincount(self.segment, zone, n_segments).astype(np.int64)


def find_runs(segments: Segments, limits: Limits) -> Runs:
    """Find the runs of every segment, choosing W where none is declared, without strays."""
    evidence, drift = segments.evidence, slope_up(limits.drift)
    wander = np.full(len(segments.first), slope_up(limits.wander), dtype=np.int64)
    if not limits.wander_declared:
        wander = _fitting_wander(segments, limits, wander)
    blank = np.zeros(len(evidence.a), dtype=np.uint8)
    cones_at = segments.knots
    while True:
        found = _cores(evidence, segments, wander, drift)
        stray = strays(
            evidence.a, evidence.low, evidence.high, segments.first, segments.last, wander, drift,
            found.segment, found.first, found.last, blank,
        )  # fmt: skip
        if not stray:
            break
        blank[stray] = 1
        evidence = segments.evidence.without(blank)
        cones_at = segment_cones(evidence, segments.first, segments.last, drift)
    said = np.concatenate(([0], np.cumsum(blank == 0)))
    size = said[found.last + 1] - said[found.first]
    slope, width, lone = _tubes(found, wander, drift, size)
    knots = cones(evidence.a, evidence.low, evidence.high, found.first, found.last, slope, width)
    return Runs(
        evidence, blank, found.segment, found.first, found.last, size, found.low, found.high,
        slope, width, lone, wander, knots, cones_at,
    )  # fmt: skip


def _cores(evidence: Evidence, segments: Segments, wander: Values, drift: int) -> _Cores:
    return _Cores(
        *cores(
            evidence.a, evidence.low, evidence.high, segments.first, segments.last, wander, drift
        )
    )


def _fitting_wander(segments: Segments, limits: Limits, least: Values) -> Values:
    """W of each segment, doubled until few snapshots lie in knee zones, or as it was."""
    sizes = segments.last - segments.first + 1
    most = slope_up(MOST_UNDECLARED_WANDER_PPM * 1e-6)
    drift = slope_up(limits.drift)
    chosen, trial = least.copy(), least.copy()
    open_ones = np.arange(len(sizes))
    while len(open_ones):
        some = replace(segments, first=segments.first[open_ones], last=segments.last[open_ones])
        found = _cores(segments.evidence, some, trial[open_ones], drift)
        crowded = found.in_zones(len(open_ones)) > MOST_IN_ZONES * sizes[open_ones]
        chosen[open_ones[~crowded]] = trial[open_ones[~crowded]]
        open_ones = open_ones[crowded]
        trial[open_ones] = np.maximum(2 * trial[open_ones], 1)
        open_ones = open_ones[trial[open_ones] <= most]
    return chosen


def _tubes(
    found: _Cores, wander: Values, drift: int, size: Values
) -> tuple[Values, Values, Values]:
    """Slope and width of each core's tube, and which are lone."""
    slope = (found.low + found.high) // 2
    width = wander[found.segment] + (found.high - found.low + 1) // 2 + 1
    same = found.segment[1:] == found.segment[:-1]
    before, after = np.append(False, same), np.append(same, False)
    few = (size <= FEW) & (before | after)
    slope, width = np.where(few, 0, slope), np.where(few, drift, width)
    lone = ((found.first == found.last) & before & after).astype(np.int64)
    return slope.astype(np.int64), width.astype(np.int64), lone
