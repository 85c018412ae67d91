"""The estimate between machines: curves through virtual pings, where messages bound the offset.

The middle of a message's bounds is off by as much as one way was slower; the fastest message each
way, over several rounds, is off by less. The bars stay those of the bounds.
"""

from __future__ import annotations

import numpy as np

from tracetime.graph.tube.evidence import Evidence
from tracetime.graph.tube.limits import Limits
from tracetime.graph.tube.order_curves import segment_curves
from tracetime.graph.tube.order_estimate import LEAST_IN_WINDOW, LEAST_PINGS
from tracetime.graph.tube.order_rows import OffsetCurve
from tracetime.graph.tube.runs import Runs
from tracetime.graph.tube.segments import Segments


def message_curves(
    evidence: Evidence, segments: Segments, runs: Runs, limits: Limits
) -> list[OffsetCurve | None]:
    """The curve of each segment in which one rate held.

    None where the rate changed, which the runs say better, and where pings are few.
    """
    given = segments.given[segments.last] - segments.given[segments.first] + 1
    n_runs = np.bincount(runs.segment, minlength=len(given))
    fit = (n_runs == 1) & (given >= LEAST_IN_WINDOW * LEAST_PINGS)
    if not fit.any():
        # There may be thousands of pairs of which each has a few messages.
        return [None] * len(fit)
    wrong = np.append(segments.outliers, segments.given[runs.strays != 0])
    curves = segment_curves(evidence, segments, limits, wrong)
    return [
        OffsetCurve(curve.x, curve.origin_ns, curve.offset, curve.rate)
        if chosen and curve is not None and len(curve.x) >= LEAST_PINGS
        else None
        for curve, chosen in zip(curves, fit.tolist(), strict=True)
    ]
