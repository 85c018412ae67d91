"""Whether the messages of two clocks contradict their snapshots, while each agree by themselves.

A clock that steps, both show. Where they take turns, each turn is a break of the tube, and none is
a step; where messages are denser, the snapshots are all left out.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from tracetime.graph.tube.evidence import OPEN_HIGH, OPEN_LOW, Evidence
from tracetime.graph.tube.pair import Pair
from tracetime.graph.tube.segments import find_segments
from tracetime.graph.tube.tube import Tube
from tracetime.graph.values import Floats, Values, difference

LEAST_BREAKS: Final = 2
"""A single break that only both together show may be a step between the two."""


class Contradiction(NamedTuple):
    """The orders of a pair that its snapshots do not allow: arrays of one length, not empty.

    Attributes:
        orders: their numbers, over the whole graph.
        by_ns: by how much at least, float64 ns.
    """

    orders: Values
    by_ns: Floats


def contradiction(pair: Pair) -> Contradiction | None:
    """Which orders of a pair contradict its snapshots; None where both together are plausible."""
    used = pair.orders
    if used is None or not len(pair.snapshots):
        return None
    breaks = len(pair.tube.breaks) - pair.tube.n_slept - len(pair.tube.slept.opens)
    left_out = _snapshots_left_out(pair)
    if breaks < LEAST_BREAKS and not left_out:
        return None
    snapshots, bounds = _of_snapshots(pair), used.bounds(used.orders)
    orders = Evidence.of_bounds(bounds.a_ns, bounds.low, bounds.high)
    explained = (
        len(snapshots.breaks)
        - snapshots.n_possible
        + len(find_segments(orders, pair.tube.limits).first)
        - 1
    )
    if breaks < explained + LEAST_BREAKS and not left_out:
        return None
    bar = snapshots.convert(bounds.a_ns, bars="guaranteed")
    low, high = bounds.a_ns + bounds.low, bounds.a_ns + bounds.high
    above = np.where(bounds.low == OPEN_LOW, 0.0, difference(low, bar.latest))
    below = np.where(bounds.high == OPEN_HIGH, 0.0, difference(bar.earliest, high))
    by = np.maximum(above, below)
    off = by > 0
    return Contradiction(bounds.orders.numbers[off], by[off]) if off.any() else None


def _snapshots_left_out(pair: Pair) -> bool:
    """Whether a pair's tube leaves out half of its snapshots, or more."""
    left_out = int(pair.tube.discontinuities.kind_is("outlier").sum())
    return left_out > 1 and 2 * left_out >= len(pair.snapshots)


def _of_snapshots(pair: Pair) -> Tube:
    """The tube of a pair without its orders, which are numbered after the snapshots."""
    evidence = pair.tube.evidence
    read = np.minimum.reduceat(evidence.order, evidence.group) < len(pair.snapshots)
    columns = (evidence.a[read], evidence.low[read], evidence.high[read])
    return Tube(Evidence.of_bounds(*columns), pair.tube.limits)
