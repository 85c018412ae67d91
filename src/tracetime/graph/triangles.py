"""Loops of three clocks that snapshots can contradict each other in."""

from __future__ import annotations

from tracetime.clocks import ClockId


class Triangles:
    """Three clocks that are tied to each other, but not always by the same snapshots.

    Clocks that stand in the same series are alike here, and there are few kinds of them: what
    holds for a kind is found out once. Traces with thousands of clocks have millions of triangles
    that need no look.

    Args:
        series: the lists of clocks that snapshots have had.
    """

    def __init__(self, series: list[tuple[ClockId, ...]]) -> None:
        stands_in: dict[ClockId, set[int]] = {}
        for number, clocks in enumerate(series):
            for clock in clocks if len(clocks) > 1 else ():
                stands_in.setdefault(clock, set()).add(number)
        kinds: dict[frozenset[int], int] = {}
        self._kind: dict[ClockId, int] = {}
        self._members: list[list[ClockId]] = []
        for clock in sorted(stands_in):
            kind = kinds.setdefault(frozenset(stands_in[clock]), len(kinds))
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

    def vias(self, src: ClockId, dst: ClockId) -> list[ClockId]:
        """The clocks over which a way from one to the other may contradict the direct one."""
        key = self._kind[src], self._kind[dst]
        if key not in self._thirds:
            self._thirds[key] = self._third_kinds(*key)
        return sorted(
            via
            for kind in self._thirds[key]
            for via in self._members[kind]
            if via not in (src, dst)
        )

    def closed(self, src: ClockId, dst: ClockId) -> bool:
        """Whether some third clock shares snapshots with both, contradicting or not."""
        key = self._kind[src], self._kind[dst]
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
            and self._series[kind] & here
            and self._series[kind] & there
        ]

    def _third_kinds(self, one: int, other: int) -> list[int]:
        here, there = self._series[one], self._series[other]
        both = here & there
        found = []
        for kind in self._tied_to_both(one, other):
            third = self._series[kind]
            # Snapshots that hold all three agree by nature: only others can contradict them.
            if not both == both & third == third & here == third & there:
                found.append(kind)
        return found
