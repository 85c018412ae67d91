"""Loops of three clocks that snapshots can contradict each other in."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Iterator
from functools import lru_cache
from heapq import heappop, heappush
from typing import Final

from tracetime.clocks.ids import ClockId

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
