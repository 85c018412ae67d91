"""Which clocks are a mesh: those that orders tie to each other, three or more."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import combinations, pairwise
from typing import Final, TypeAlias

from tracetime.clocks.families import steadiness
from tracetime.clocks.ids import ClockId
from tracetime.errors import ONE_SIDED, ConversionError, TraceError
from tracetime.graph.tube.closing import Bound, bound_of, explained, within
from tracetime.graph.tube.explanation import MeshHop
from tracetime.graph.tube.graph_data import Neighbours
from tracetime.graph.tube.limits import Limits
from tracetime.graph.tube.machines import MOST_CLOCKS
from tracetime.graph.tube.mesh import Mesh
from tracetime.graph.tube.mesh_edges import Edge, Edges
from tracetime.graph.tube.pair import Pair, hop
from tracetime.graph.tube.pairs import Pairs
from tracetime.graph.tube.results import Bars, Reached

# Two clocks have one pair: nothing closes over it.
_FEWEST_CLOCKS: Final = 3

# Each takes two tubes: more than these narrow bars little.
_MOST_VIAS: Final = 16


class TwoHops:
    """Clocks that orders tie, too many to close over all: that takes n^3 steps an instant.

    Bars are those of the path of least error, narrowed by the paths over one more clock.

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


AnyMesh: TypeAlias = Mesh | TwoHops


class Meshes:
    """The meshes of a graph, made where they are needed; a graph without orders has none.

    Args:
        pairs: the tubes.
        neighbours: by clock, those it shares snapshots or messages with.
        ordered: the pairs of clocks with orders.
    """

    def __init__(
        self, pairs: Pairs, neighbours: Neighbours, ordered: Iterable[tuple[ClockId, ClockId]]
    ) -> None:
        self._pairs = pairs
        self._neighbours = neighbours
        self._groups = _groups(ordered, neighbours)
        self._made: dict[frozenset[ClockId], dict[ClockId, AnyMesh]] = {}

    def of(self, clock: ClockId) -> AnyMesh | None:
        """The mesh that a clock is in; None in most graphs."""
        group = self._groups.get(clock)
        if group is None:
            return None
        if group not in self._made:
            self._made[group] = {c: mesh for mesh in self._meshes(group) for c in mesh.clocks}
        return self._made[group].get(clock)

    def all(self) -> list[Mesh]:
        """Every mesh whose bars close over all of its clocks."""
        found = (self.of(clock) for clock in self._groups)
        return list({id(mesh): mesh for mesh in found if isinstance(mesh, Mesh)}.values())

    def stretches(self, path: Sequence[ClockId]) -> Iterator[tuple[list[ClockId], AnyMesh | None]]:
        """A path in parts: those within a mesh, and single hops between other clocks."""
        first = 0
        while first < len(path) - 1:
            last, mesh = first + 1, self.of(path[first])
            if mesh is not None and mesh.holds(path[first], path[last]):
                while last + 1 < len(path) and mesh.holds(path[last], path[last + 1]):
                    last += 1
            else:
                mesh = None
            yield list(path[first : last + 1]), mesh
            first = last

    def _meshes(self, group: frozenset[ClockId]) -> Iterator[AnyMesh]:
        if len(group) > MOST_CLOCKS:
            yield TwoHops(group, self._neighbours, self._pair)
            return
        clocks = sorted((clock for clock in group if self._is_plain(clock)), key=steadiness)
        number = {clock: k for k, clock in enumerate(clocks)}
        made = [
            pair
            for one, other in combinations(clocks, 2)
            if other in self._neighbours[one] and (pair := self._pair(one, other)) is not None
        ]
        fell = _set_back(made)
        made = [pair for pair in made if fell.isdisjoint((pair.a, pair.b))]
        stepped = {c for pair in made if len(pair.tube.breaks) for c in (pair.a, pair.b)}
        # Messages of one direction do not show that a clock steps: others have to.
        made = [p for p in made if stepped.isdisjoint((p.a, p.b)) or not _is_open(p)]
        for members in _hanging_together(clocks, [(pair.a, pair.b) for pair in made]):
            if len(members) >= _FEWEST_CLOCKS:
                members.sort(key=number.__getitem__)
                place = {clock: k for k, clock in enumerate(members)}
                edges = [Edge(place[p.a], place[p.b], p) for p in made if p.a in place]
                yield Mesh(Edges(members, edges, self._limits))

    def _limits(self, one: ClockId, other: ClockId) -> Limits:
        return self._pairs.limits(*self._pairs.steadier_first(one, other))

    def _is_plain(self, clock: ClockId) -> bool:
        """Whether each reading of a clock is one instant, in ns, as far as tubes may be made."""
        with suppress(ConversionError, TraceError):
            return self._pairs.counter(clock) is None and not self._pairs.was_set_back(clock)
        return False

    def _pair(self, one: ClockId, other: ClockId) -> Pair | None:
        if self._pairs.has_room(one, other):
            with suppress(ConversionError):
                pair = self._pairs.pair(one, other)
                if pair.a_rate == pair.b_rate == 1:
                    return pair
        return None


def _set_back(pairs: Iterable[Pair]) -> set[ClockId]:
    """The clocks of which orders show, or suggest, that they were set back.

    Against one that several others rise it may have been set back where no message shows it; which
    instant a reading of it means then differs from pair to pair.
    """
    found, rises = set(), Counter[ClockId]()
    for pair in pairs:
        if pair.tube.is_read_twice:
            found.add(pair.a)
        if pair.tube.has_set_back and steadiness(pair.b) < steadiness(pair.a):
            found.add(pair.b)
        rises[pair.a] += pair.tube.may_have_fallen
    return found | {clock for clock, n in rises.items() if n > 1}


def _is_open(pair: Pair) -> bool:
    """Whether all evidence of a pair is of one direction."""
    return bool((pair.tube.convert(pair.tube.evidence.a).status == ONE_SIDED).all())


def _groups(
    ordered: Iterable[tuple[ClockId, ClockId]], neighbours: Neighbours
) -> dict[ClockId, frozenset[ClockId]]:
    """By clock with orders, those that orders or snapshots tie it to, of three clocks or more."""
    ties = list(ordered)
    clocks = sorted({clock for tie in ties for clock in tie}, key=ClockId.order)
    if len(clocks) <= MOST_CLOCKS:
        ties += [(one, other) for one, other in combinations(clocks, 2) if other in neighbours[one]]
    groups = (frozenset(group) for group in _hanging_together(clocks, ties))
    return {clock: group for group in groups if len(group) >= _FEWEST_CLOCKS for clock in group}


def _hanging_together(
    clocks: Iterable[ClockId], ties: Iterable[tuple[ClockId, ClockId]]
) -> list[list[ClockId]]:
    """Clocks that ties lead between, in the order of the clocks."""
    group = {clock: [clock] for clock in clocks}
    for one, other in ties:
        here, there = sorted((group[one], group[other]), key=len, reverse=True)
        if here is not there:
            here.extend(there)
            for clock in there:
                group[clock] = here
    return list({id(members): members for members in group.values()}.values())
