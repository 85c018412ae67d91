"""The curves of a tube's segments, where orders bound them, and the wander that these show.

A tube of orders is as wide as a path's delay, while its curve is sure to some tens of ns: a rate
that strays bends within the tube, and no order contradicts it. So the curve says how far it does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from tracetime.graph.tube.evidence import Evidence
from tracetime.graph.tube.limits import Limits, slope_up
from tracetime.graph.tube.order_estimate import LEAST_PINGS, OrderCurve, estimate_curve
from tracetime.graph.tube.segments import Segments
from tracetime.graph.values import Values

_POINTS: Final = 65


def segment_curves(
    evidence: Evidence, segments: Segments, limits: Limits, wrong: Values
) -> list[OrderCurve | None]:
    """The curve of each segment, from all of the evidence but what is `wrong`.

    None for a segment without a window that has orders both ways.
    """
    kept = np.ones(len(evidence.a), dtype=bool)
    kept[wrong] = False
    made: list[OrderCurve | None] = []
    for first, last in zip(segments.first, segments.last, strict=True):
        some = np.unique(np.linspace(first, last, _POINTS).astype(np.int64))
        bars = (segments.evidence.a[some], segments.knots[some, 0], segments.knots[some, 2])
        here = slice(segments.given[first], segments.given[last] + 1)
        mine = kept[here]
        whole = bool(mine.all())
        a, low, high = (
            column[here] if whole else column[here][mine]
            for column in (evidence.a, evidence.low, evidence.high)
        )
        made.append(estimate_curve(a, low, high, limits.wander, bars))
    return made


def shown_wander(
    segments: Segments, curves: Sequence[OrderCurve | None], wander: Values, drift: int
) -> Values:
    """W of each segment, raised to what its curve shows, in 2^-52.

    So wide that one slope holds the curve from each of its knees to the next. drift, the limit, is
    enough whatever the curve does.
    """
    wander = wander.copy()
    for k, curve in enumerate(curves):
        if curve is not None:
            ends = segments.evidence.a[[segments.first[k], segments.last[k]]].tolist()
            wander[k] = max(wander[k], min(slope_up(curve.wander(*ends)), drift))
    return wander


# The estimate between machines: curves through virtual pings, where messages bound the offset.
#
# The middle of a message's bounds is off by as much as one way was slower; the fastest message each
# way, over several rounds, is off by less. The bars stay those of the bounds, which hide a rate
# that strays: the curves say how far it does.

LEAST_MESSAGES: Final = 40
"""Fewer show neither how much they scatter nor how the rate strays."""


def message_curves(
    evidence: Evidence, segments: Segments, limits: Limits, wrong: Values
) -> list[OrderCurve | None]:
    """The curve of each segment, from all of the evidence but what is `wrong`.

    None where pings are few.
    """
    given = segments.given[segments.last] - segments.given[segments.first] + 1
    enough = given >= LEAST_MESSAGES
    if not enough.any():
        # There may be thousands of pairs of which each has a few messages.
        return [None] * len(enough)
    curves = segment_curves(evidence, segments, limits, wrong)
    return [
        curve if chosen and curve is not None and len(curve.x) >= LEAST_PINGS else None
        for curve, chosen in zip(curves, enough.tolist(), strict=True)
    ]
