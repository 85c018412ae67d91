"""Gaps between two runs whose change of offset no single change of rate explains.

Within the limits some drift explains it: a rate that changed twice. A clock that can be set, reset
or stopped may as well have jumped. Then what follows from one side says nothing on the other, and
bars hold both sides.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from tracetime.graph.tube.limits import ONE
from tracetime.graph.tube.runs import MAY_JUMP, Runs
from tracetime.graph.tube.segments import Segments, parted, segment_cones
from tracetime.graph.values import Mask, Values


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
