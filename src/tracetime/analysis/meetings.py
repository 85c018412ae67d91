"""The clocks on which readings of several clocks are compared.

The paths of clocks to the trace clock form a tree. Two clocks are compared where their paths meet,
not further on: what both may be off by together does not count there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from tracetime.clocks.ids import ClockId
from tracetime.errors import ConversionError
from tracetime.graph.graph import Graph

Values = npt.NDArray[np.int64]
Rows = npt.NDArray[np.intp]
Numbers = npt.NDArray[np.int32]

_NOT_HERE = -1


@dataclass(frozen=True, eq=False, slots=True)
class Meeting:
    """Where paths meet.

    Attributes:
        on: the clock on which to compare.
        through: by number of a clock, over which neighbour its path comes here; -1 for none. The
            last one is that of no clock.
        unsteady: by number of a clock, whether it was set back, so that it does not decide what
            came first; it counts where its path first leads.
    """

    on: ClockId
    through: Values
    unsteady: npt.NDArray[np.bool_]

    def members(self, begins: Numbers, ends: Numbers) -> tuple[Rows, Values]:
        """The slices both of whose clocks come here, and the group of each.

        Those of one group are not compared here. Slices that begin on one clock and end on another
        one that first meets it here are groups of their own: neither clock decides about them; so
        are those on a clock that was set back.

        begins, ends: the number of the clock of each; -1 of none.
        """
        first, last = self.through[begins], self.through[ends]
        rows = np.flatnonzero((first != _NOT_HERE) & (last != _NOT_HERE))
        first, last = first[rows], last[rows]
        alone = (first != last) | self.unsteady[begins[rows]] | self.unsteady[ends[rows]]
        return rows, np.where(alone, len(self.through) + np.arange(len(rows)), first)


def meetings(graph: Graph, trace_clock: ClockId, clocks: list[ClockId]) -> Iterator[Meeting]:
    """Where the paths of some clocks to the trace clock meet, by number of the clocks.

    A clock that was set back does not tell what came first: another one takes its place, or what
    meets there is not compared.
    """
    tubes = graph.tubes
    onward = _onward(graph, trace_clock, clocks)
    through: dict[ClockId, dict[int, ClockId]] = {}
    for number, clock in enumerate(clocks):
        here = clock
        if clock not in onward:
            continue
        came_from: ClockId | None = clock
        while came_from is not None:
            through.setdefault(here, {})[number] = came_from
            came_from, here = (here, onward[here]) if here != onward[here] else (None, here)
    for here, members in through.items():
        neighbours = list(dict.fromkeys(members.values()))
        unsteady = np.zeros(len(clocks) + 1, np.bool_)
        for number, neighbour in members.items():
            decides = neighbour != clocks[number] or neighbour == here != trace_clock
            unsteady[number] = not decides and tubes.was_set_back(neighbour)
        if len(neighbours) < 2 and not unsteady.any():
            continue
        on = tubes.reference(here, here)
        if tubes.was_set_back(on):
            continue
        places = np.full(len(clocks) + 1, _NOT_HERE)
        for number, neighbour in members.items():
            places[number] = neighbours.index(neighbour)
        yield Meeting(on, places, unsteady)


def _onward(graph: Graph, trace_clock: ClockId, clocks: list[ClockId]) -> dict[ClockId, ClockId]:
    """The next clock on the way to the trace clock, which itself stays; of clocks with a path."""
    onward = {trace_clock: trace_clock}
    for clock in clocks:
        try:
            path = graph.tubes.path(clock, trace_clock) if clock != trace_clock else []
        except ConversionError:
            continue
        for here, there in pairwise(path):
            if here in onward:
                break
            onward[here] = there
    return onward
