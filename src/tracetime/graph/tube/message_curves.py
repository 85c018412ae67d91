"""The estimate between machines: curves through virtual pings, where messages bound the offset.

The middle of a message's bounds is off by as much as one way was slower; the fastest message each
way, over several rounds, is off by less. The bars stay those of the bounds, which hide a rate that
strays (order_curves.py): the curves say how far it does.
"""

from __future__ import annotations

from typing import Final

from tracetime.graph.tube.evidence import Evidence, Values
from tracetime.graph.tube.limits import Limits
from tracetime.graph.tube.order_curves import segment_curves
from tracetime.graph.tube.order_estimate import LEAST_PINGS, OrderCurve
from tracetime.graph.tube.segments import Segments

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
