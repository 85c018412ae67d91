"""Loops of clocks whose two paths contradict each other."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from itertools import islice, pairwise
from typing import Final

import numpy as np

from tracetime.clocks.ids import ClockId
from tracetime.errors import RESOLVED, ConversionError
from tracetime.graph.routes import SearchBudget, detour
from tracetime.graph.tube.bars import Bars
from tracetime.graph.tube.hops import hop, to_ns, to_ticks
from tracetime.graph.tube.neighbours import Neighbours
from tracetime.graph.tube.pairs import Pairs
from tracetime.graph.tube.results import Inconsistency, Reached
from tracetime.graph.tube.triangles import Triangles
from tracetime.graph.values import Values

# Of thousands of clocks there are millions of loops: so many are compared in about a second.
_CHECKED_LOOPS: Final = 1024
# Loops of more than three clocks are searched for one by one: so many, in so many steps in all.
_DETOURS: Final = 256
_DETOUR_STEPS: Final = 500_000
# Of so many snapshots, a few changes of rate do not leave all in contradiction.
_MANY: Final = 8


class Loops:
    """The loops of a graph's clocks.

    Args:
        pairs: the tubes.
        neighbours: by clock, those it shares snapshots with.
    """

    def __init__(self, pairs: Pairs, neighbours: Neighbours) -> None:
        self._pairs = pairs
        self._neighbours = neighbours

    def inconsistencies(
        self, series: list[tuple[ClockId, ...]]
    ) -> tuple[list[Inconsistency], bool]:
        """Loops of clocks whose two paths do not meet, the widest gap of each.

        All loops of three clocks; of more those whose ends are in none of three, by the shortest
        detour.

        Args:
            series: the lists of clocks that snapshots have had.

        Returns:
            the loops, and whether there are more than the `_CHECKED_LOOPS` that were compared.
        """
        found = []
        loops = self._loops(Triangles(series))
        for src, *via, dst in islice(loops, _CHECKED_LOOPS):
            with suppress(ConversionError):
                gap = self._gap(src, dst, tuple(via))
                if gap is not None:
                    found.append(gap)
        return found, next(loops, None) is not None

    def _loops(self, triangles: Triangles) -> Iterator[list[ClockId]]:
        """Paths of more than one hop between clocks that share snapshots."""
        neighbours = self._neighbours
        searched = 0
        steps = SearchBudget(_DETOUR_STEPS)
        for src in triangles.clocks:
            for dst in triangles.ends(src):
                for via in triangles.vias(src, dst):
                    yield [src, via, dst]
                if searched == _DETOURS or steps.spent or triangles.closed(src, dst):
                    continue
                # Most clocks have one neighbour alone: there is no detour.
                if min(len(neighbours[src]), len(neighbours[dst])) > 1:
                    searched += 1
                    path = detour(src, dst, neighbours.__getitem__, steps)
                    if path is not None:
                        yield path

    def _gap(self, src: ClockId, dst: ClockId, via: tuple[ClockId, ...]) -> Inconsistency | None:
        """Where two paths are furthest apart, if guaranteed bars do not meet or estimated never do.

        Guaranteed bars are wide between snapshots, and hide much where the snapshots of the two
        paths were taken at different times. One instant at which estimated bars miss each other
        may be a change of rate; many snapshots at all of which they do are a contradiction. At an
        outlier, estimated bars may meet where guaranteed ones do not.
        """
        direct, path = self._pairs.pair(src, dst), (src, *via, dst)
        points_ns = direct.tube.evidence.a
        points_ns = points_ns if direct.a == src else direct.tube.convert(points_ns).estimate
        apart_ns, _ = self._apart(path, points_ns, "guaranteed")
        if not apart_ns.any():
            if len(points_ns) < _MANY:
                return None
            apart_ns, known = self._apart(path, points_ns, "estimated")
            if len(known) < _MANY or not apart_ns[known].all():
                return None
        worst = int(np.argmax(apart_ns))
        return Inconsistency(src, dst, via, int(points_ns[worst]), int(apart_ns[worst]))

    def _apart(self, path: tuple[ClockId, ...], at_ns: Values, bars: Bars) -> tuple[Values, Values]:
        """How far a path's bars are from the direct hop's, ns, and at which points both are known.

        at_ns: on the first clock; 0 apart where they meet, or one is unknown.
        """
        ends = path[0], path[-1]
        direct = self._pairs.pair(*ends)
        points, _ = to_ticks(at_ns, direct.rate_of(ends[0]), 0.5)
        here, known = self._along(ends, points, bars)
        there, also = self._along(path, points[known], bars)
        gaps = np.maximum(here.earliest[also] - there.latest, there.earliest - here.latest[also])
        gaps_ns, _ = to_ns(gaps, direct.rate_of(ends[1]))
        apart_ns = np.zeros_like(at_ns)
        apart_ns[known[also]] = np.where(gaps > 0, np.maximum(gaps_ns, 1), 0)
        return apart_ns, known[also]

    def _along(
        self, path: tuple[ClockId, ...], points: Values, bars: Bars
    ) -> tuple[Reached, Values]:
        """Points converted along a path: those of which the result is known, and which they are.

        Estimated bars are known between snapshots alone: beyond them a rate may have changed.
        """
        here = Reached(points, points, points, np.zeros(len(points), dtype=np.uint8))
        rows = np.arange(len(points))
        for src, dst in pairwise(path):
            if not len(rows):
                break
            pair, before = self._pairs.pair(src, dst), here
            here = hop(pair, src, here, bars)
            known = here.status == RESOLVED
            if bars == "estimated":
                on_a = before.estimate if src == pair.a else here.estimate
                a, _ = to_ns(on_a, pair.a_rate)
                covered = pair.tube.evidence.a
                known &= (covered[0] <= a) & (a <= covered[-1])
            if not known.all():
                here, rows = Reached(*(column[known] for column in here)), rows[known]
        return here, rows
