"""Paths through the pairs of clocks: the one of least error, and one that avoids a pair."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterable
from heapq import heappop, heappush
from itertools import pairwise

from tracetime.clocks.ids import ClockId


def least_error(
    source: ClockId,
    target: ClockId,
    neighbours: Callable[[ClockId], Iterable[ClockId]],
    bar_ns: Callable[[ClockId, ClockId], float],
    known: Callable[[ClockId], list[ClockId] | None],
    steps: SearchBudget,
    ahead: Callable[[ClockId], float] = lambda here: 0.0,
) -> list[ClockId] | None:
    """The path of least summed bars, then of fewest hops, then of the smallest ids (Dijkstra).

    None, too, where the search takes more steps than are left.

    bar_ns: the median half-width of a hop's bars, ns; infinite where it has none.
    known: the path from a clock to the target where an earlier search found it; used as it is.
    ahead: no path from a clock to the target is less, ns; asked where one to the target is known.
    """
    queue: list[tuple[float, int, list[ClockId]]] = [(0.0, 0, [source])]
    done: set[ClockId] = set()
    least = float("inf")
    while queue and not steps.spent:
        width, hops, path = heappop(queue)
        here = path[-1]
        if here == target:
            return path
        if here in done:
            continue
        done.add(here)
        # Sums are rounded, but never in another order than the numbers that were added.
        if least < float("inf") and width + ahead(here) > least:
            continue
        rest = known(here) if here != source else None
        if rest is not None:
            for one, there in pairwise(rest):
                width += bar_ns(one, there)
            steps.take(len(rest))
            least = min(least, width)
            heappush(queue, (width, hops + len(rest) - 1, [*path, *rest[1:]]))
            continue
        for there in neighbours(here):
            steps.take(1)
            if there not in done:
                hop = bar_ns(here, there)
                if hop < float("inf"):
                    if there == target:
                        least = min(least, width + hop)
                    heappush(queue, (width + hop, hops + 1, [*path, there]))
    return None


class SearchBudget:
    """The steps that several searches may still take together; None for any number."""

    def __init__(self, left: int | None) -> None:
        self.left = left

    @property
    def spent(self) -> bool:
        """Whether none is left."""
        return self.left is not None and self.left <= 0

    def take(self, n: int) -> None:
        """Count n steps."""
        if self.left is not None:
            self.left -= n


def detour(
    source: ClockId,
    target: ClockId,
    neighbours: Callable[[ClockId], Collection[ClockId]],
    steps: SearchBudget,
) -> list[ClockId] | None:
    """The path of fewest hops between two neighbours that is not the one hop between them.

    None where there is none, or where the search takes more steps than are left.
    """
    came_from: dict[ClockId, ClockId] = {}
    queue = deque([source])
    while queue and not steps.spent:
        here = queue.popleft()
        others = neighbours(here)
        steps.take(1 + len(others))
        for there in others:
            if there in came_from or there == source or (here == source and there == target):
                continue
            came_from[there] = here
            if there == target:
                path = [target]
                while path[-1] != source:
                    path.append(came_from[path[-1]])
                return path[::-1]
            queue.append(there)
    return None
