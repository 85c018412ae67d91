"""Many clocks that orders tie: bars by the path of least error and by those over one more clock.

Closing bars over all of them would take n^3 steps an instant, and a tube for each pair.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import pairwise
from typing import Final

from tracetime.clocks.ids import ClockId
from tracetime.graph.tube.bars import Bars
from tracetime.graph.tube.explanation import MeshHop
from tracetime.graph.tube.hops import hop
from tracetime.graph.tube.neighbours import Neighbours
from tracetime.graph.tube.pair import Pair
from tracetime.graph.tube.path_bounds import Bound, bound_of, explained, within
from tracetime.graph.tube.results import Reached

# Each takes two tubes: more than these narrow bars little.
_MOST_VIAS: Final = 16


class TwoHops:
    """Clocks that orders tie, too many to close over all.

    Args:
        clocks: the clocks.
        neighbours: by clock, those it shares snapshots or messages with.
        pair: of two of them; None where they have no tube, or count no ns.
    """

    def __init__(
        self,
        clocks: Collection[ClockId],
        neighbours: Neighbours,
        pair: Callable[[ClockId, ClockId], Pair | None],
    ) -> None:
        self.clocks = clocks
        self._neighbours = neighbours
        self._pair = pair

    def holds(self, one: ClockId, other: ClockId) -> bool:
        """Whether a step of a path leads within these clocks."""
        return one in self.clocks and other in self.clocks

    def convert(
        self, path: Sequence[ClockId], before: Reached, after: Reached, bars: Bars
    ) -> Reached:
        """Values converted; args as of `Mesh.convert`."""
        return within(after, after.estimate, self._bounds(path, before, after, bars))

    def explain(
        self, path: Sequence[ClockId], before: Reached, after: Reached, bars: Bars
    ) -> MeshHop:
        """Which path bounds each side of one value; args as of `Mesh.convert`."""
        bounds = list(self._bounds(path, before, after, bars))
        return explained(bounds, len(self.clocks), fitted=False)

    def _bounds(
        self, path: Sequence[ClockId], before: Reached, after: Reached, bars: Bars
    ) -> Iterator[Bound]:
        yield bound_of(path, after)
        for way in self._ways(path[0], path[-1]):
            if way != list(path):
                here: Reached | None = before
                for src, dst in pairwise(way):
                    pair = self._pair(src, dst)
                    here = None if pair is None or here is None else hop(pair, src, here, bars)
                if here is not None:
                    yield bound_of(way, here)

    def _ways(self, src: ClockId, dst: ClockId) -> list[list[ClockId]]:
        """The direct way, and those over one clock."""
        direct = [[src, dst]] if dst in self._neighbours[src] else []
        both = [c for c in self._neighbours[src] if c in self._neighbours[dst]]
        return direct + [[src, via, dst] for via in both if via in self.clocks][:_MOST_VIAS]
