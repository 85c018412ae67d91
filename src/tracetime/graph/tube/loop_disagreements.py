"""Loops of three clocks whose estimates do not add up, though their bars agree.

Messages that are slower one way than the other shift the estimate of a pair, within its bar and
for as long as they are: two clocks do not show it, a third does.
"""

from __future__ import annotations

from itertools import combinations
from typing import Final, NamedTuple

import numpy as np

from tracetime.clocks.ids import ClockId
from tracetime.graph.tube.mesh import Mesh
from tracetime.graph.tube.mesh_edges import Edges
from tracetime.graph.values import Floats

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
