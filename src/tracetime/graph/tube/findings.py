"""What a tube found on its way: steps, suspends, resets, outliers, changes of rate."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

import numpy as np

from tracetime._kernels.bars import steps_in
from tracetime.graph.middle import median
from tracetime.graph.tube.evidence import NOT_RECORDED, Evidence, Values
from tracetime.graph.tube.limits import ONE, Limits
from tracetime.graph.tube.runs import FEW, Runs
from tracetime.graph.tube.segments import Segments
from tracetime.graph.tube.told import recorded_change

Kind = Literal["suspend", "step", "reset", "outlier", "rate_change", "possible_step"]

NEAR_ZERO: Final = 100
"""A clock that falls to less than this part of what it read was reset, not set back."""


@dataclass(frozen=True, slots=True)
class Discontinuity:
    """Something in the offset of b from a that no rate within the limits explains.

    Attributes:
        kind: suspend, step, reset: the offset jumped; outlier: one snapshot contradicts those
            about it, and was dropped; rate_change: one rate held before the zone and another after
            it; possible_step: so too, but the two lines do not meet in the zone.
        a_from, a_to: the zone, on the ordering clock, ns: it happened after the one and not after
            the other. An outlier's is its own reading.
        size_ns: how far the offset jumped, or how far off the outlier is: at least and at most.
            None for a rate_change.
        rate_ppm: by how much the rate changed, at least and at most; for a rate_change only.
        snapshots: the snapshots on both sides, or the outlier; as numbered when given.
    """

    kind: Kind
    a_from: int
    a_to: int
    size_ns: tuple[int, int] | None
    rate_ppm: tuple[float, float] | None
    snapshots: tuple[int, ...]


class Around(NamedTuple):
    """A bar of offsets at some snapshots: int64 ns, the low sides and the high sides."""

    low: Values
    high: Values


def breaks(segments: Segments, evidence: Evidence, limits: Limits) -> list[Discontinuity]:
    """The jumps between segments."""
    found = []
    here = segments.evidence
    for j, k in zip(segments.last[:-1].tolist(), segments.first[1:].tolist(), strict=True):
        low, high = jump(segments, limits, j, k)
        a_from, a_to = int(here.a[j]), int(here.a[k])
        kind: Kind = limits.rise
        if low + high < 0:
            kind = "step"
            # Reset within the zone, a counter can have come as far as the zone is long.
            most = a_to - a_from + limits.spread(a_to - a_from) + 1
            # A host that was restarted or swapped has run for a while: its clock is not at zero.
            most = max(most, (a_from + int(here.low[j])) // NEAR_ZERO)
            before, after = a_from + int(here.high[j]), a_to + int(here.low[k])
            # The offset falls as well where the clock stood still: its reading must have fallen.
            if after <= min(most, before) and a_to + int(here.high[k]) >= 0:
                kind = "reset"
        snapshots = evidence.given(int(segments.given[j])) + evidence.given(int(segments.given[k]))
        found.append(Discontinuity(kind, a_from, a_to, (low, high), None, snapshots))
    return found


def jump(segments: Segments, limits: Limits, j: int, k: int) -> tuple[int, int]:
    """How far the offset jumped between snapshots j and k, at least and at most, ns."""
    knots = segments.knots
    span = int(segments.evidence.a[k]) - int(segments.evidence.a[j])
    spread = limits.spread(span)
    return (
        int(knots[k, 0]) - int(knots[j, 2]) - 1 - spread,
        int(knots[k, 2]) + 1 - int(knots[j, 0]) + spread,
    )


def outliers(evidence: Evidence, which: Values, around: Around) -> list[Discontinuity]:
    """Snapshots that were dropped; around: what the others say of the offset there."""
    found = []
    for i, k in enumerate(which.tolist()):
        a = int(evidence.a[k])
        size = (
            int(evidence.low[k]) - int(around.high[i]),
            int(evidence.high[k]) - int(around.low[i]),
        )
        found.append(Discontinuity("outlier", a, a, size, None, evidence.given(k)))
    return found


def is_off(outlier: Discontinuity) -> bool:
    """Whether it is certain that a snapshot contradicts what the others say there."""
    assert outlier.size_ns is not None
    return outlier.size_ns[0] > 0 or outlier.size_ns[1] < 0


def rate_changes(
    segments: Segments, runs: Runs, evidence: Evidence, drift: int
) -> list[Discontinuity]:
    """Changes of rate between runs that prove one, and steps too small to break the limits.

    Over a jump of the offset nothing ties the two rates together but the slopes that either side
    leaves open: where these have none in common, the rate changed as well.
    """
    found = []
    a = runs.evidence.a
    stepped = steps_in(a, runs.knots, runs.table())
    for m in stepped:
        j, k = int(runs.last[m]), int(runs.first[m + 1])
        span = int(a[k]) - int(a[j])
        before, after = runs.knots[j], runs.knots[k]
        fall = (int(runs.slope[m] - runs.width[m]), int(runs.slope[m] + runs.width[m]))
        size = (
            int(after[0]) - int(before[2]) - 1 - -(-fall[1] * span // ONE),
            int(after[2]) + 1 - int(before[0]) - fall[0] * span // ONE,
        )
        found.append(
            Discontinuity(
                "possible_step", int(a[j]), int(a[k]), size, None,
                evidence.given(int(segments.given[j])) + evidence.given(int(segments.given[k])),
            )
        )  # fmt: skip
    proven = np.flatnonzero((runs.width < drift) | (runs.slope != 0))
    skipped = set(stepped)
    for m, n in zip(proven[:-1].tolist(), proven[1:].tolist(), strict=True):
        if n == m + 1 and m in skipped:
            continue
        if runs.segment[m] != runs.segment[n] and not (
            runs.size[m] > FEW
            and runs.size[n] > FEW
            and (runs.slope_low[n] > runs.slope_high[m] or runs.slope_low[m] > runs.slope_high[n])
        ):
            continue
        j, k = int(runs.last[m]), int(runs.first[n])
        least, most = _rate_change(runs, m, n, drift)
        rate_ppm = (least / ONE * 1e6, most / ONE * 1e6)
        found.append(
            Discontinuity(
                "rate_change", int(a[j]), int(a[k]), None, rate_ppm,
                evidence.given(int(segments.given[j])) + evidence.given(int(segments.given[k])),
            )
        )  # fmt: skip
    return found


SHOWN_BY_HALVES: Final = 8
"""A change of rate that moves the offset by so many half-widths from one snapshot to the next shows
where three snapshots or more lie between it and another one."""

_NEAR: Final = 4


def nearly_hidden(runs: Runs, limits: Limits) -> float | None:
    """What change of rate, ns per ns, how clocks were read may hide where others hardly show.

    Estimated bars can miss then. Whether changes hardly show, those that were found tell: the least
    is near that, or so many are small that W had to be raised.

    Returns:
        None where the rate never changed, or no change comes near; nor where half-widths are
        assumed, or snapshots record how clocks were steered.
    """
    evidence = runs.evidence
    same = runs.segment[1:] == runs.segment[:-1]
    if evidence.assumed or evidence.correction is not None or not same.any():
        return None
    wander = float(runs.wander.max()) / ONE
    gap = median(np.diff(evidence.a.view(np.uint64)).astype(np.float64))
    hidden = 2 * wander + SHOWN_BY_HALVES * median(evidence.half) / max(gap, 1.0)
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
