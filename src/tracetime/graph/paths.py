"""Least-error paths: through the pairs of clocks whose bars are narrowest."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from heapq import heappop, heappush

from tracetime.clocks import ClockId


def least_error(
    source: ClockId,
    target: ClockId,
    neighbours: Callable[[ClockId], Iterable[ClockId]],
    bar_ns: Callable[[ClockId, ClockId], float],
) -> list[ClockId] | None:
    """The path of least summed bars, then of fewest hops, then of the smallest ids (Dijkstra).

    bar_ns: the median half-width of a hop's bars, ns; infinite where it has none.
    """
    queue: list[tuple[float, int, list[ClockId]]] = [(0.0, 0, [source])]
    done: set[ClockId] = set()
    while queue:
        width, hops, path = heappop(queue)
        here = path[-1]
        if here == target:
            return path
        if here in done:
            continue
        done.add(here)
        for there in neighbours(here):
            if there not in done:
                hop = bar_ns(here, there)
                if hop < float("inf"):
                    heappush(queue, (width + hop, hops + 1, [*path, there]))
    return None
