"""Segments: where the offset broke, because no drift within the limits explains both sides."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from tracetime._kernels.tube.sweep import cones, cut
from tracetime.graph.tube.evidence import Evidence, Values
from tracetime.graph.tube.limits import Limits, slope_up


@dataclass(frozen=True, eq=False, slots=True)
class Segments:
    """The segments of a pair's snapshots, outliers left out.

    Attributes:
        evidence: the snapshots that are no outliers.
        given: which of the evidence's snapshots they are, int64.
        first, last: int64, one a segment: its snapshots, those that could belong to the next
            segment as well (a zone's) in neither.
        outliers: int64, snapshots of the evidence that contradict both neighbours.
        knots: int64[n, 4], the drift cones at every snapshot inside a segment.
    """

    evidence: Evidence
    given: Values
    first: Values
    last: Values
    outliers: Values
    knots: Values


def find_segments(evidence: Evidence, limits: Limits) -> Segments:
    """Cut snapshots into segments, and drop outliers."""
    drift = slope_up(limits.drift)
    keep = np.ones(len(evidence.a), dtype=np.uint8)
    lefts, rights = cut(evidence.a, evidence.low, evidence.high, drift, keep)
    given = np.flatnonzero(keep)
    if len(given) < len(keep):
        correction = None if evidence.correction is None else evidence.correction[given]
        evidence = replace(
            evidence,
            a=evidence.a[given],
            low=evidence.low[given],
            high=evidence.high[given],
            r=evidence.r[given],
            half=evidence.half[given],
            correction=correction,
        )
    first = np.searchsorted(given, lefts).astype(np.int64)
    last = np.append(np.searchsorted(given, rights[1:]) - 1, len(given) - 1).astype(np.int64)
    knots = segment_cones(evidence, first, last, drift)
    return Segments(evidence, given, first, last, np.flatnonzero(keep == 0), knots)


def segment_cones(evidence: Evidence, first: Values, last: Values, drift: int) -> Values:
    """The drift cones of each segment at its snapshots, int64[n, 4]."""
    widths = np.full(len(first), drift, dtype=np.int64)
    return cones(
        evidence.a, evidence.low, evidence.high, first, last, np.zeros_like(widths), widths
    )
