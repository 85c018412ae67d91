"""Several clocks that orders tie: bars closed over all of them, one fit for all estimates.

A conversion keeps to what every path allows: the pairs one after the other at one instant, and
paths that wait on a clock until a pair is known better. The estimate is the path's,
moved to the fit of all pairs (closing.py). Which clocks are one mesh: meshes.py.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

import numpy as np

from tracetime.clocks.ids import ClockId
from tracetime.graph.tube.closing import (
    OPEN,
    Bound,
    Closed,
    bound_of,
    close,
    explained,
    fit,
    is_usual,
    within,
)
from tracetime.graph.tube.evidence import FARTHEST, OPEN_HIGH, OPEN_LOW
from tracetime.graph.tube.explanation import MeshHop
from tracetime.graph.tube.mesh_edges import Edges, Read, spread
from tracetime.graph.tube.results import Bars, Reached
from tracetime.graph.values import Floats, Marks, Mask, Values

Path = tuple[int, ...]

# Of the paths that bound a side at some instant, those that do at most instants: the others add
# little, and every path costs as much as a conversion.
_PATHS: Final = 4


class Fit(NamedTuple):
    """The fit of all estimates at the instants: what clocks read, int64[n, K] and parts of ns."""

    readings: Values
    parts: Floats


class Mesh:
    """The clocks that are tied to each other by orders.

    Args:
        edges: the pairs among them. Instants are told by readings of their first clock.
    """

    def __init__(self, edges: Edges) -> None:
        self.edges = edges
        self.clocks = edges.clocks
        self._number = {clock: number for number, clock in enumerate(edges.clocks)}
        self._reads: dict[Bars, Read] = {}
        self._closed: dict[Bars, Closed | None] = {}
        self._steps: dict[Bars, Marks] = {}
        self._paths: dict[tuple[int, int, Bars], list[Path]] = {}
        self._fit: Fit | None = None
        self._moves: dict[Path, tuple[Values, Floats]] = {}

    def holds(self, one: ClockId, other: ClockId) -> bool:
        """Whether a step of a path is a pair of the mesh."""
        if one not in self._number or other not in self._number:
            return False
        return self.edges.has(self._number[one], self._number[other])

    def convert(
        self, path: Sequence[ClockId], before: Reached, after: Reached, bars: Bars
    ) -> Reached:
        """Values converted within the mesh.

        path: the clocks of the least-error path, all of the mesh. before: the values of its first
        clock; after: what they are on its last one by that path alone.
        """
        estimate = after.estimate + self._moved(path, before.estimate)
        return within(after, estimate, self._bounds(path, before, after, bars))

    def explain(
        self, path: Sequence[ClockId], before: Reached, after: Reached, bars: Bars
    ) -> MeshHop:
        """Which path bounds each side of one value; args as of `convert`."""
        bounds = list(self._bounds(path, before, after, bars))
        return explained(bounds, len(self.clocks), fitted=True)

    def _bounds(
        self, path: Sequence[ClockId], before: Reached, after: Reached, bars: Bars
    ) -> Iterator[Bound]:
        """What the paths allow, the given one first; open where a path says nothing."""
        yield bound_of(path, after)
        given = tuple(self._number[clock] for clock in path)
        ends = given[0], given[-1]
        for other in self._candidates(*ends, bars):
            if other != given:
                there = self.edges.along(other, before, bars)
                yield bound_of([self.clocks[number] for number in other], there)
        yield from self._waiting(*ends, before, bars)

    def read(self, bars: Bars) -> Read:
        """What the clocks read at the instants."""
        if bars not in self._reads:
            self._reads[bars] = self.edges.read(bars)
        return self._reads[bars]

    def closed(self, bars: Bars) -> Closed | None:
        """The closed bounds; None where the pairs contradict each other."""
        if bars not in self._closed:
            read = self.read(bars)
            self._closed[bars] = close(
                self.edges.at,
                self.edges.upper(read, bars),
                self.edges.widths(),
                self.edges.steps(read),
            )
        return self._closed[bars]

    def _candidates(self, one: int, other: int, bars: Bars) -> list[Path]:
        """The pair itself, and the paths that bound a side at most of the instants."""
        key = one, other, bars
        if key not in self._paths:
            closed = self.closed(bars)
            found: list[Path] = []
            # Where pairs contradict each other, nobody knows which of them is wrong.
            if closed is not None:
                counts = Counter(closed.paths(one, other))
                counts.update(path[::-1] for path in closed.paths(other, one))
                found = [path for path, _ in counts.most_common(_PATHS) if self._exists(path)]
                if self.edges.has(one, other):
                    found.insert(0, (one, other))
            self._paths[key] = list(dict.fromkeys(found))
        return self._paths[key]

    def _exists(self, path: Path) -> bool:
        """Whether each step of a path is a pair; not of the one that stands for no bound."""
        return all(self.edges.has(*ends) for ends in pairwise(path))

    def _waiting(self, one: int, other: int, before: Reached, bars: Bars) -> Iterator[Bound]:
        """What the closed bounds at the instants around each value allow."""
        closed, at = self.closed(bars), self.edges.at
        if closed is None:
            return
        upper = closed.upper
        # What the source read at each instant: surely not before, surely not after.
        first = np.where(upper[one, 0] < FARTHEST, at - upper[one, 0], OPEN_LOW)
        last = np.where(upper[0, one] < FARTHEST, at + upper[0, one], OPEN_HIGH)
        past, future = np.maximum.accumulate(last), np.minimum.accumulate(first[::-1])[::-1]
        left = np.searchsorted(past, before.earliest, side="right") - 1
        right = np.searchsorted(future, before.latest, side="left")
        count = self._steps_before(one, other, bars)
        near = np.maximum(left, 0), np.minimum(right, len(at) - 1)
        steady = (count[near[0]] == count[near[1]]) & (near[0] <= near[1])
        if self.edges.are_open:
            # A machine may have slept before the first instant, or after the last.
            steady &= (left >= 0) & (right < len(at))
        drift = self.edges.drift(one, other)
        for k, there in ((near[0], left >= 0), (near[1], right < len(at))):
            held = steady & there & (first[k] != OPEN_LOW) & (last[k] != OPEN_HIGH)
            low = _held(before.earliest, upper[other, one, k], held, first[k], last[k], drift)
            high = _held(before.latest, upper[one, other, k], held, first[k], last[k], drift)
            yield Bound(
                self._path_at(other, one, k, bars)[::-1],
                np.where(low < OPEN, before.earliest - low, OPEN_LOW),
                np.full(len(k), OPEN_HIGH),
                True,
            )
            yield Bound(
                self._path_at(one, other, k, bars),
                np.full(len(k), OPEN_LOW),
                np.where(high < OPEN, before.latest + high, OPEN_HIGH),
                True,
            )

    def _path_at(self, one: int, other: int, instants: Values, bars: Bars) -> list[ClockId]:
        """The path behind the closed bound at an instant; of several instants the ends alone."""
        path: Path = (one, other)
        closed = self.closed(bars)
        if len(instants) == 1 and closed is not None:
            path = closed.path(one, other, int(instants[0]))
        return [self.clocks[number] for number in path]

    def _steps_before(self, one: int, other: int, bars: Bars) -> Values:
        """How often one of two clocks may have stepped before each instant."""
        if bars not in self._steps:
            self._steps[bars] = self.edges.steps(self.read(bars))
        steps = self._steps[bars]
        counts: Values = np.append(0, np.cumsum(steps[one] | steps[other], dtype=np.int64))
        return counts

    def fitted(self) -> Fit:
        """What the clocks read at the instants, by the fit of all pairs."""
        if self._fit is None:
            read = self.read("estimated")
            pairs = np.array([(edge.one, edge.other) for edge in self.edges.edges])
            said = self.edges.estimates(read)
            moved = fit(len(self.clocks), pairs, said.offsets, said.variances)
            whole = np.rint(moved).astype(np.int64)
            self._fit = Fit(read.estimate + whole, moved - whole)
        return self._fit

    def _moved(self, path: Sequence[ClockId], values: Values) -> Values:
        """How far the fit is from a path's estimate, ns, at values of its first clock."""
        given = tuple(self._number[clock] for clock in path)
        if given not in self._moves:
            readings, parts = self.fitted()
            own = readings[given[0]]
            status = np.zeros(len(own), dtype=np.uint8)
            there = self.edges.along(given, Reached(own, own, own, status), "estimated")
            usual = is_usual(there)
            move = readings[given[-1]] - there.estimate + parts[given[-1]] - parts[given[0]]
            at = np.maximum.accumulate(own[usual])
            self._moves[given] = at, move[usual]
        at, move = self._moves[given]
        if not len(at):
            return np.zeros_like(values)
        since = (values - at[0]).astype(np.float64)
        moved: Floats = np.rint(np.interp(since, (at - at[0]).astype(np.float64), move))
        return moved.astype(np.int64)


def _held(
    values: Values, bound: Values, held: Mask, first: Values, last: Values, drift: float
) -> Values:
    """A bound of offsets, at a reading within [first, last], as it is at other values, or OPEN."""
    away = np.maximum(
        np.abs(values.astype(np.float64) - first), np.abs(values.astype(np.float64) - last)
    )
    near = held & (np.abs(bound) < FARTHEST) & (away < FARTHEST)
    # A float is off by 256 ns of a far distance at most, which drifts by less than it is.
    away_ns = np.where(near, np.ceil(away) + 512, 0).astype(np.int64)
    held_bound: Values = np.where(near, bound + spread(drift, away_ns), OPEN)
    return held_bound
