"""Loops of clocks whose two paths contradict each other."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Iterator
from contextlib import suppress
from functools import lru_cache
from heapq import heappop, heappush
from itertools import islice, pairwise
from typing import Final

import numpy as np

from tracetime.clocks.ids import ClockId
from tracetime.errors import RESOLVED, ConversionError
from tracetime.graph.routes import SearchBudget, detour
from tracetime.graph.tube.graph_data import Neighbours
from tracetime.graph.tube.pair import hop, to_ns, to_ticks
from tracetime.graph.tube.pairs import Pairs
from tracetime.graph.tube.results import Bars, Inconsistency, Reached
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


# Loops of three clocks that snapshots can contradict each other in.

# Pairs of kinds whose common series are kept: some 10 MB.
_KEPT: Final = 1 << 16


class Triangles:
    """Three clocks that are tied to each other, but not always by the same snapshots.

    Clocks of the same series are of one kind, and there are few kinds: what holds for a kind is
    computed once. Traces with thousands of clocks have millions of triangles that cannot
    contradict.

    Args:
        series: the lists of clocks that snapshots have had.
    """

    def __init__(self, series: list[tuple[ClockId, ...]]) -> None:
        series_of: dict[ClockId, list[int]] = {}
        for number, clocks in enumerate(series):
            for clock in clocks if len(clocks) > 1 else ():
                series_of.setdefault(clock, []).append(number)
        kinds: dict[frozenset[int], int] = {}
        self._kind: dict[ClockId, int] = {}
        self._members: list[list[ClockId]] = []
        for clock in sorted(series_of, key=ClockId.order):
            kind = kinds.setdefault(frozenset(series_of[clock]), len(kinds))
            if kind == len(self._members):
                self._members.append([])
            self._members[kind].append(clock)
            self._kind[clock] = kind
        self._series = list(kinds)
        self._kinds_of: dict[int, list[int]] = {}
        for kind, numbers in enumerate(self._series):
            for number in numbers:
                self._kinds_of.setdefault(number, []).append(kind)
        self._thirds: dict[tuple[int, int], list[int]] = {}
        self._closed: dict[tuple[int, int], bool] = {}
        self._near: dict[int, set[int]] = {}
        # Two clocks that are read with very many others share as many lists.
        self._both = lru_cache(_KEPT)(lambda one, other: self._series[one] & self._series[other])
        self.clocks = sorted(series_of, key=ClockId.order)

    def ends(self, src: ClockId) -> Iterator[ClockId]:
        """The clocks after `src`, in order, that a path other than the direct one may lead to."""
        kind = self._kind[src]
        if kind not in self._near:
            self._near[kind] = {k for number in self._series[kind] for k in self._kinds_of[number]}
        heads: list[tuple[tuple[int, ...], int, int]] = []

        def add(k: int, place: int) -> None:
            if place < len(self._members[k]):
                heappush(heads, (self._members[k][place].order(), k, place))

        for k in self._near[kind]:
            add(k, bisect(self._members[k], src.order(), key=ClockId.order))
        while heads:
            _, k, place = heappop(heads)
            # Asked of a kind when its turn comes: of very many ends the first few are taken.
            if self._has_detour(kind, k):
                yield self._members[k][place]
                add(k, place + 1)

    def _has_detour(self, one: int, other: int) -> bool:
        """Whether there may be a path over a third clock that can contradict, or a longer one."""
        return bool(self._thirds_of(one, other)) or not self._is_closed(one, other)

    def vias(self, src: ClockId, dst: ClockId) -> list[ClockId]:
        """The clocks over which a path from one to the other may contradict the direct one."""
        return sorted(
            (
                via
                for kind in self._thirds_of(self._kind[src], self._kind[dst])
                for via in self._members[kind]
                if via not in (src, dst)
            ),
            key=ClockId.order,
        )

    def _thirds_of(self, one: int, other: int) -> list[int]:
        key = one, other
        if key not in self._thirds:
            self._thirds[key] = self._third_kinds(*key)
        return self._thirds[key]

    def closed(self, src: ClockId, dst: ClockId) -> bool:
        """Whether some third clock shares snapshots with both, contradicting or not."""
        return self._is_closed(self._kind[src], self._kind[dst])

    def _is_closed(self, one: int, other: int) -> bool:
        key = one, other
        if key not in self._closed:
            self._closed[key] = bool(self._tied_to_both(*key))
        return self._closed[key]

    def _tied_to_both(self, one: int, other: int) -> list[int]:
        """The kinds of clocks that share series with two others."""
        here, there = self._series[one], self._series[other]
        fewer = min(here, there, key=len)
        return [
            kind
            for kind in sorted({kind for number in fewer for kind in self._kinds_of[number]})
            if len(self._members[kind]) > (kind == one) + (kind == other)
            and not self._series[kind].isdisjoint(here)
            and not self._series[kind].isdisjoint(there)
        ]

    def _third_kinds(self, one: int, other: int) -> list[int]:
        both = self._both(one, other)
        # Snapshots that hold all three agree: only others can contradict them.
        return [
            kind
            for kind in self._tied_to_both(one, other)
            if not both == self._both(kind, one) == self._both(kind, other)
        ]
