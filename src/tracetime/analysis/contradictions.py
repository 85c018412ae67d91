"""Messages that contradict snapshots of their clocks, or, around a loop of clocks, each other.

Whether those of two clocks contradict their snapshots, while each agree by themselves: a clock
that steps, both show. Where they take turns, each turn is a break of the tube, and none is a step;
where messages are denser, the snapshots are all left out.
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from tracetime.clocks.ids import ClockId
from tracetime.graph.tube.evidence import OPEN_HIGH, OPEN_LOW, Evidence
from tracetime.graph.tube.pair import Pair
from tracetime.graph.tube.segments import find_segments
from tracetime.graph.tube.tube import Tube
from tracetime.graph.values import Floats, Values, difference

if TYPE_CHECKING:
    from tracetime.graph.tube.mesh import Mesh
    from tracetime.graph.tube.mesh_edges import Edges

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


# Loops of three clocks whose estimates do not add up, though their bars agree.
#
# Messages that are slower one way than the other shift the estimate of a pair, within its bar and
# for as long as they are: two clocks do not show it, a third does.

# What noise alone keeps open is within so many deviations of the estimates, and of its own scatter.
_SURE: Final = 3.0
# Of the bars of a loop: less does not matter to who goes by them, and a curve may lag by as much.
_LEAST_SHARE: Final = 0.01


class LoopDisagreement(NamedTuple):
    """Three clocks whose pairs' estimates, added up around the loop, miss 0 by a constant.

    clocks: A, B, C. off_ns: how much further the way from A over B to C leads than the direct one,
    the median over time. bar_ns: the half-widths of the three pairs' bars, added up.
    """

    clocks: tuple[ClockId, ClockId, ClockId]
    off_ns: int
    bar_ns: int


def loop_disagreements(mesh: Mesh) -> list[LoopDisagreement]:
    """The loops of a mesh that do not add up, the worst first; all messages both ways."""
    edges = mesh.edges
    offsets, halves, variances = edges.estimates(mesh.read("estimated"))
    bars, noises = np.median(halves, axis=1), np.median(variances, axis=1)
    # Nothing bounds how long messages of one direction took: such a pair has no estimate.
    number = {
        frozenset((edge.one, edge.other)): k
        for k, edge in enumerate(edges.edges)
        if not edge.pair.is_one_sided
    }
    found = []
    for one, other, third in combinations(range(len(mesh.clocks)), 3):
        ways = [(one, other), (other, third), (one, third)]
        if all(frozenset(way) in number for way in ways):
            pairs = [number[frozenset(way)] for way in ways]
            there, on, direct = (
                _along(edges, offsets, pair, *way) for pair, way in zip(pairs, ways, strict=True)
            )
            off = there + on - direct
            bar, noise = float(bars[pairs].sum()), float(np.sqrt(noises[pairs].sum()))
            median = float(np.median(off))
            scatter = float(np.median(np.abs(off - median)))
            if abs(median) > max(_SURE * scatter, _SURE * noise, _LEAST_SHARE * bar):
                clocks = mesh.clocks[one], mesh.clocks[other], mesh.clocks[third]
                found.append(LoopDisagreement(clocks, round(median), round(bar)))
    return sorted(found, key=lambda loop: -abs(loop.off_ns))


def _along(edges: Edges, offsets: Floats, pair: int, one: int, other: int) -> Floats:
    """The offset of a pair in a direction."""
    forward = (edges.edges[pair].one, edges.edges[pair].other) == (one, other)
    along: Floats = offsets[pair] if forward else -offsets[pair]
    return along
