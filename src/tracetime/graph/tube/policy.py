"""The tube policy over a whole graph: conversions with bars, along paths of least error.

One hop is a pair's tube (`pairs.py`, `pair.py`); here values go over several.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from tracetime.clocks.ids import ClockId
from tracetime.columns.ragged import Ragged
from tracetime.errors import AMBIGUOUS_SOURCE, ConversionError
from tracetime.graph.tube.discontinuities import Discontinuities, PairDiscontinuities
from tracetime.graph.tube.graph_data import Neighbours, alone
from tracetime.graph.tube.machines import Machines, Together
from tracetime.graph.tube.pair import Pair, hop, outside, to_ns, unit_of
from tracetime.graph.tube.pairs import Pairs
from tracetime.graph.tube.paths import Paths, Reach
from tracetime.graph.tube.results import Bars, Inconsistency, Reached
from tracetime.graph.tube.wraps import Near
from tracetime.graph.values import Values

if TYPE_CHECKING:
    from tracetime.graph.tube.explanation import MeshHop, TubeExplanation, TubeHop
    from tracetime.graph.tube.mesh import Mesh
    from tracetime.graph.tube.meshes import AnyMesh, Meshes


class TubePolicy:
    """Conversions with bars, for one state of a graph.

    Args:
        pairs: the tubes.
        neighbours: by clock, those it shares snapshots with.
        machines: which of them are tied.
        reach: how far clocks are from each other, and how many tubes and hops paths may take.
        together: what all pairs say of the clocks.
        ordered: the pairs of clocks with orders.

    Attributes:
        pairs, neighbours, machines: as given.
        paths: of least error.
    """

    def __init__(
        self,
        pairs: Pairs,
        neighbours: Neighbours,
        machines: Machines,
        reach: Reach,
        together: Together,
        ordered: Sequence[tuple[ClockId, ClockId]] = (),
    ) -> None:
        self.machines = machines
        self.pairs = pairs
        self.neighbours = neighbours
        self._reach = reach
        self._together = together
        self.paths = Paths(pairs, neighbours, machines, reach)
        self._meshes: Meshes | None = None
        if ordered:
            # Most graphs have no orders.
            from tracetime.graph.tube.meshes import Meshes

            self._meshes = Meshes(pairs, neighbours, ordered)

    def pair(self, one: ClockId, other: ClockId) -> Pair:
        """The tube of two clocks that share snapshots.

        Raises:
            ConversionError: a clock is unknown, they share no snapshot, or their rate is open.
        """
        for clock in (one, other):
            if clock not in self.neighbours:
                raise alone(clock, "unknown_source_clock")
        return self.pairs.pair(one, other)

    def meshes(self) -> list[Mesh]:
        """The meshes of clocks that orders tie; none without orders."""
        return [] if self._meshes is None else self._meshes.all()

    def _stretches(self, path: list[ClockId]) -> Iterable[tuple[list[ClockId], AnyMesh | None]]:
        """Return a path in parts; see `Meshes.stretches`."""
        if self._meshes is None:
            return ((list(hop), None) for hop in pairwise(path))
        return self._meshes.stretches(path)

    def expect(self, sources: Iterable[ClockId], target: ClockId) -> None:
        """Count, before the first conversion, the clocks that will be converted to another.

        Raises:
            TraceError: that takes more tubes, or more hops, than it may.
        """
        tied = (source for source in sources if self.machines.are_tied(source, target))
        self._reach.expect(tied, target)

    def path(self, source: ClockId, target: ClockId) -> list[ClockId]:
        """The clocks of the least-error path, source first.

        Raises:
            ConversionError: a clock is unknown, or no path leads there.
        """
        return self.paths.path(source, target)

    def are_linked(self, source: ClockId, target: ClockId) -> bool:
        """Whether readings or messages link two clocks, be it over many others."""
        tied = self.machines.are_tied(source, target)
        return tied and self._reach.hops(source, target) is not None

    def convert(
        self, values: Values, source: ClockId, target: ClockId, bars: Bars, near: Near | None = None
    ) -> tuple[Reached, list[Reached]]:
        """Convert values; returns the results, and those after each hop.

        values: int64, ns (ticks where the source's rate says so), 1-d.
        near: where the values of a source that wraps are; None for somewhere among its snapshots.
        """
        here = start = self._unfolded(values, source, near)
        after: list[Reached] = []
        path, closed = self.path(source, target), False
        for stretch, mesh in self._stretches(path):
            before = here
            for src, dst in pairwise(stretch):
                here = hop(self.pairs.pair(src, dst), src, here, bars)
                after.append(here)
            if mesh is not None:
                here = after[-1] = mesh.convert(stretch, before, here, bars)
                closed = True
        return self._together.held(path, [start, *after], closed=closed), after

    def _unfolded(self, values: Values, source: ClockId, near: Near | None) -> Reached:
        """The values themselves; of a counter, with the wrap that they must belong to."""
        status = np.zeros(len(values), dtype=np.uint8)
        counter = self.pairs.counter(source)
        if counter is None:
            return Reached(values, values, values, status)
        first, last = (
            counter.wraps_of(values) if near is None else counter.unfold(values, *near(counter))
        )
        status[first != last] = AMBIGUOUS_SOURCE
        return Reached(first, first, last, status)

    def explain(
        self,
        value: int,
        source_ns: int,
        source: ClockId,
        target: ClockId,
        bars: Bars,
        names: Mapping[ClockId, str],
        near: Near | None = None,
    ) -> TubeExplanation:
        """One conversion, hop by hop; source_ns is the value in the source's ns or ticks."""
        from tracetime.graph.tube.explanation import TubeExplanation

        given = np.array([source_ns], dtype=np.int64)
        final, after = self.convert(given, source, target, bars, near)
        path = self.path(source, target)
        before = start = self._unfolded(given, source, near)
        is_held = final.first_bar() == after[-1].first_bar()
        steps = []
        for (src, dst), reached in zip(pairwise(path), after, strict=True):
            steps.append(_step(self.pairs.pair(src, dst), src, before, reached, bars))
            before = reached
        return TubeExplanation(
            value=value,
            src=source,
            dst=target,
            bars=bars,
            steps=steps,
            result=final.estimate.item(),
            earliest=final.first_bar()[0],
            latest=final.first_bar()[1],
            names=names,
            value_unit=unit_of(self.pairs.pair(*path[:2]), source),
            meshes=self._closed_over(path, start, after, bars),
            jumped=[] if is_held else self._together.jumped(path, [start, *after]),
        )

    def _closed_over(
        self, path: list[ClockId], here: Reached, after: list[Reached], bars: Bars
    ) -> list[MeshHop]:
        """The parts of a path within meshes; after: of each hop of one value, converted."""
        found, hops = [], 0
        for stretch, mesh in self._stretches(path):
            hops += len(stretch) - 1
            if mesh is not None:
                alone = here
                for src, dst in pairwise(stretch):
                    alone = hop(self.pairs.pair(src, dst), src, alone, bars)
                found.append(mesh.explain(stretch, here, alone, bars))
            here = after[hops - 1]
        return found

    def rate_unproven(self, source: ClockId, target: ClockId) -> bool:
        """Whether estimated bars of a conversion may take a rate that two snapshots show."""
        hops = pairwise(self.path(source, target))
        return any(self.pairs.pair(*hop).tube.rate_unproven() for hop in hops)

    def discontinuities(self, pairs: list[tuple[ClockId, ClockId]]) -> PairDiscontinuities:
        """The discontinuities of some pairs, in order of src, dst and place.

        Those of `built` alone have any.
        """
        in_order = sorted(self.built(pairs), key=lambda pair: (pair.a, pair.b))
        return PairDiscontinuities.joined(list(map(_discontinuities_of, in_order)))

    def built(self, pairs: list[tuple[ClockId, ClockId]]) -> list[Pair]:
        """Some pairs with their tubes, but for those that have none.

        Such are those whose rate is open, or a number of wraps.
        """
        known: list[Pair] = []
        for one, other in pairs:
            with suppress(ConversionError):
                known.append(self.pairs.pair(one, other))
        return known

    def inconsistencies(
        self, series: list[tuple[ClockId, ...]]
    ) -> tuple[list[Inconsistency], bool]:
        """Loops of clocks whose two paths do not meet; see `Loops.inconsistencies`."""
        from tracetime.graph.tube.loops import Loops

        return Loops(self.pairs, self.neighbours).inconsistencies(series)


def _step(pair: Pair, src: ClockId, before: Reached, after: Reached, bars: Bars) -> TubeHop:
    """A hop of one value over a pair, from src."""
    from tracetime.graph.tube.binding import binding_orders, feasible_rates
    from tracetime.graph.tube.explanation import TubeHop

    dst = pair.b if src == pair.a else pair.a
    on_a, _ = to_ns((before if src == pair.a else after).estimate, pair.a_rate)
    low_by, high_by = binding_orders(pair, on_a.item(), bars)
    rates = feasible_rates(pair, on_a.item())
    extrapolated, outside_ns = outside(pair, before if src == pair.a else after)
    src_tick, dst_tick = pair.ticks.get(src), pair.ticks.get(dst)
    return TubeHop(
        src=src,
        dst=dst,
        estimate=after.estimate.item(),
        earliest=after.first_bar()[0],
        latest=after.first_bar()[1],
        snapshots=len(pair.snapshots),
        half_width_ns=pair.half_width_ns,
        assumed=pair.assumed,
        drift_ppm=pair.tube.limits.drift * 1e6,
        wander_ppm=float(pair.tube.wander.max() * 1e6),
        learnt=pair.learnt,
        rate_unproven=bars == "estimated" and pair.tube.rate_unproven(on_a.item()),
        gaps_apart=pair.tube.gaps_apart,
        unit=unit_of(pair, dst),
        extrapolated=extrapolated,
        outside_ns=outside_ns,
        src_tick_ns=None if src_tick is None else src_tick.period_ns,
        dst_tick_ns=None if dst_tick is None else dst_tick.period_ns,
        orders=0 if pair.orders is None else len(pair.orders.a_ns),
        # The higher the offset b - a, the earlier a.
        earliest_by=low_by if src == pair.a else high_by,
        latest_by=high_by if src == pair.a else low_by,
        rates=rates if rates is None or src == pair.a else rates.inverse(),
    )


def _discontinuities_of(pair: Pair) -> PairDiscontinuities:
    """The discontinuities of a pair's tube, and the snapshots that are too far off for any."""
    found, n = pair.tube.discontinuities, len(pair.snapshots)
    is_order = found.snapshots.flat >= n
    on, orders = (found.snapshots.only(which) for which in (~is_order, is_order))
    found = replace(found, snapshots=replace(on, flat=pair.snapshots[on.flat]))
    if pair.orders is not None:
        orders = replace(orders, flat=pair.orders.orders.numbers[orders.flat - n])
    every = PairDiscontinuities.between(pair.a, pair.b, found, orders)
    return every if not pair.far else PairDiscontinuities.joined([_far(pair), every]).in_order()


def _far(pair: Pair) -> PairDiscontinuities:
    """The snapshots beyond what a tube holds, as the outliers that they are."""
    numbers, a, b = (list(column) for column in zip(*pair.far, strict=True))
    bar = pair.tube.convert(np.array(a, dtype=np.int64))
    least, most = (
        [one - side for one, side in zip(b, sides.tolist(), strict=True)]
        for sides in (bar.latest, bar.earliest)
    )
    on, orders = Ragged.of((number,) for number in numbers), Ragged.of(() for _ in numbers)
    found = Discontinuities.made("outlier", (a, a), on, (least, most))
    return PairDiscontinuities.between(pair.a, pair.b, found, orders)
