"""The curves of a tube's segments, where orders bound them, and the wander that these show.

A tube of orders is as wide as a path's delay, while its curve is sure to some tens of ns: a rate
that strays bends within the tube, and no order contradicts it. So the curve says how far it does.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Final, NamedTuple

import numpy as np

from tracetime.graph.tube.corrections import Cores, Pieces
from tracetime.graph.tube.evidence import HIGH_KNOWN, LOW_KNOWN, Evidence
from tracetime.graph.tube.limits import Limits, slope_up
from tracetime.graph.tube.order_doubt import DEVIATIONS
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


# Pieces of segments of orders: cut where their curves show a change of rate that runs hide.
#
# A change of rate by more than twice the wander can bend within a tube as wide as the path's delay.
# A tube of that wander would leave the truth; the pieces before and after the change have one each.


class Zone(NamedTuple):
    """Readings of clock a between which the rate changed at once.

    at: where most likely; k: the knot before the change, k + 1 is the one after it.
    """

    k: int
    at: int
    first: int
    last: int


def knee_zones(curve: OrderCurve) -> list[Zone]:
    """Where the rate changed: from the ping before each knee of a curve to the one after it."""
    x = curve.x
    found = []
    for k in np.flatnonzero(x[1:] == x[:-1]).tolist():
        at, doubt = int(x[k]), _place_doubt(curve, k)
        first, last = int(x[max(k - 1, 0)]), int(x[min(k + 2, len(x) - 1)])
        found.append(Zone(k, at, min(first, at - doubt), max(last, at + doubt)))
    return found


def _place_doubt(curve: OrderCurve, k: int) -> int:
    """How far from the knee at the knots k and k + 1 the curves may meet, ns."""
    turn = abs(float(curve.rate[k + 1] - curve.rate[k]))
    if not turn:
        return 0
    doubt = DEVIATIONS * math.sqrt(float(curve.variance[k : k + 2].sum())) / turn
    return math.ceil(min(doubt, curve.window_ns))


def cut_at_knees(
    segments: Segments,
    pieces: Pieces,
    curves: Sequence[OrderCurve | None],
    wander: Values,
    drift: int,
) -> Pieces:
    """Cut pieces at the knees of their segments' curves that their cores would hide.

    wander: W of each segment, in 2^-52. No piece has the orders of a zone.
    """
    zones = [[] if curve is None else knee_zones(curve) for curve in curves]
    a = segments.evidence.a
    while any(zones):
        found = Cores.of(segments.evidence, pieces, wander[pieces.segment] + pieces.slack, drift)
        ends = (found.segment, found.piece, a[found.first], a[found.last])
        cores = zip(*(column.tolist() for column in ends), strict=True)
        hidden = [
            (zone, g, p)
            for g, p, first, last in cores
            for zone in zones[g]
            if first < zone.at < last
        ]
        if not hidden:
            break
        zone, g, p = hidden[0]
        zones[g].remove(zone)
        pieces = _cut(pieces, p, zone, a)
    return pieces


def _cut(pieces: Pieces, p: int, zone: Zone, a: Values) -> Pieces:
    """Cut piece p at a zone; the same where nothing of it is left before it, or after it."""
    first, last = int(pieces.first[p]), int(pieces.last[p])
    end = int(np.searchsorted(a, zone.first)) - 1
    begin = int(np.searchsorted(a, zone.last, side="right"))
    if not first <= end < begin <= last:
        return pieces
    columns = [np.insert(column, p, column[p]) for column in (pieces.segment, pieces.slack)]
    return replace(
        pieces,
        segment=columns[0],
        slack=columns[1],
        first=np.insert(pieces.first, p + 1, begin),
        last=np.insert(pieces.last, p, end),
        correction=np.insert(pieces.correction, p, pieces.correction[p]),
    )


def trimmed(found: Cores, evidence: Evidence, pieces: Pieces, wander: Values, drift: int) -> Cores:
    """Cores that end, next to another of their segment, where they last have both sides.

    Nothing tells how often the rate changed between two neighbouring orders of one direction: what
    the other direction says in between may be of another rate. wander: one a piece.
    """
    assert evidence.known is not None
    same = found.segment[1:] == found.segment[:-1]
    first, last = found.first.copy(), found.last.copy()
    for side in (LOW_KNOWN, HIGH_KNOWN):
        having = np.flatnonzero(evidence.known & side)
        if not len(having) or not same.any():
            return found
        after = having[np.minimum(np.searchsorted(having, found.first), len(having) - 1)]
        before = having[np.searchsorted(having, found.last, side="right") - 1]
        first[1:] = np.where(same, np.maximum(first, after)[1:], first[1:])
        last[:-1] = np.where(same, np.minimum(last, before)[:-1], last[:-1])
    # One without both sides proves no rate anyway.
    kept = (first <= last) & (first >= found.first) & (last <= found.last)
    first, last = np.where(kept, first, found.first), np.where(kept, last, found.last)
    ends = Pieces(
        found.segment, first, last, pieces.slack[found.piece], pieces.correction[found.piece]
    )
    return replace(Cores.of(evidence, ends, wander[found.piece], drift), piece=found.piece)
