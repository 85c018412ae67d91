"""The pairs of a mesh of clocks, and what they say at instants of one of the clocks.

An instant is told by the reading of the mesh's reference clock. What other clocks read then is
known within bars alone: a pair says at an instant what it says over all that its clock a may read.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from heapq import heappop, heappush
from itertools import pairwise
from typing import Final, NamedTuple

import numpy as np

from tracetime.clocks.ids import ClockId
from tracetime.graph.tube.closing import MOST_INSTANTS, OPEN, is_usual
from tracetime.graph.tube.evidence import FARTHEST, OPEN_HIGH, OPEN_LOW
from tracetime.graph.tube.limits import Limits, slope_up
from tracetime.graph.tube.pair import Pair, hop
from tracetime.graph.tube.results import Bars, Reached
from tracetime.graph.values import Floats, Marks, Mask, Values

# Instants that a pair contributes at least.
_FEWEST: Final = 2
# Multiples of it, less their whole parts, spread evenly however many there are.
_GOLDEN: Final = 0.6180339887498949
# A standard deviation for estimates whose bar has one side: any two-sided pair is surer.
_ONE_SIDED_NS: Final = 1e6
# The deviations of the smoother of orders are 3 to 5 times too small.
_TOO_SURE: Final = 4.0
# Ways are hardly alike to a hundredth of what they take: a curve does not know by how much.
_ASYMMETRY: Final = 0.01
# An estimate rests on all evidence of a pair, a good part of which are too far away to help.
_SMOOTHED: Final = 4


class Edge(NamedTuple):
    """A pair of a mesh's clocks; one, other: the numbers of the pair's clocks a and b."""

    one: int
    other: int
    pair: Pair


class Read(NamedTuple):
    """What every clock reads at every instant, int64[n, K] ns; OPEN_LOW, OPEN_HIGH: unknown."""

    estimate: Values
    earliest: Values
    latest: Values


class Estimates(NamedTuple):
    """What pairs say at instants, float64[P, K].

    offsets: ns beyond the difference of what the two clocks are taken to read. halves: half-widths
    of the estimated bars, ns. variances: of the offsets, ns^2.
    """

    offsets: Floats
    halves: Floats
    variances: Floats


class Edges:
    """The pairs of a mesh.

    Args:
        clocks: of the mesh, the reference first, which steps least; they count ns and do not wrap.
        edges: its pairs, by which all clocks hang together.
        limits: of two clocks.
    """

    def __init__(
        self,
        clocks: Sequence[ClockId],
        edges: Sequence[Edge],
        limits: Callable[[ClockId, ClockId], Limits],
    ) -> None:
        self.clocks = list(clocks)
        self.edges = list(edges)
        self._limits = limits
        self._to: list[dict[int, Pair]] = [{} for _ in clocks]
        for one, other, pair in edges:
            self._to[one][other] = self._to[other][one] = pair
        self._parents = self._tree()
        self.at = self._instants()

    def drift(self, one: int, other: int) -> float:
        """How fast the offset of two clocks may change, ns per ns of either."""
        return self._limits(self.clocks[one], self.clocks[other]).drift

    def has(self, one: int, other: int) -> bool:
        """Whether two clocks are a pair."""
        return other in self._to[one]

    def along(self, path: Sequence[int], here: Reached, bars: Bars) -> Reached:
        """Values of the first clock of a path, converted pair by pair."""
        for one, other in pairwise(path):
            here = hop(self._to[one][other], self.clocks[one], here, bars)
        return here

    def _tree(self) -> list[int]:
        """By clock, the one before it on the path of least bars from the reference."""
        parents = [-1] * len(self.clocks)
        done: set[int] = set()
        queue = [(0.0, 0, 0)]
        while queue:
            width, here, parent = heappop(queue)
            if here not in done:
                done.add(here)
                parents[here] = parent
                for there, pair in self._to[here].items():
                    heappush(queue, (width + min(pair.bar_ns, OPEN), there, here))
        return parents

    def _from_reference(self, clock: int) -> list[int]:
        path = [clock]
        while path[-1] != 0:
            path.append(self._parents[path[-1]])
        return path[::-1]

    def _instants(self) -> Values:
        """Where the evidence of every pair stands, as the reference reads it."""
        most = max(_FEWEST, MOST_INSTANTS // len(self.edges))
        found = []
        for k, (one, _, pair) in enumerate(self.edges):
            a = pair.tube.evidence.a
            # Not all pairs at the same times: else there were long gaps between them.
            shares = (np.arange(most) + k * _GOLDEN % 1) / most
            some = a[np.unique((shares * len(a)).astype(np.int64))]
            back = self.along(self._from_reference(one)[::-1], _exactly(some), "estimated")
            found.append(back.estimate[is_usual(back)])
        at = np.unique(np.concatenate(found))
        return at[np.unique(np.linspace(0, len(at) - 1, MOST_INSTANTS).astype(np.int64))]

    def read(self, bars: Bars) -> Read:
        """What every clock reads at the instants."""
        start = _exactly(self.at)
        reached = [self.along(self._from_reference(c), start, bars) for c in range(len(self._to))]
        out = Read(
            np.stack([column.estimate for column in reached]),
            np.stack([column.earliest for column in reached]),
            np.stack([column.latest for column in reached]),
        )
        # Evidence of one direction closes over the others, side by side.
        for _ in self.clocks:
            if not ((out.earliest == OPEN_LOW) | (out.latest == OPEN_HIGH)).any():
                break
            if not self._narrow(out, bars):
                break
        return out

    def _narrow(self, read: Read, bars: Bars) -> bool:
        """Narrow what clocks read by what their neighbours do; whether any became narrower."""
        status = np.zeros(len(self.at), dtype=np.uint8)
        narrower = False
        for one, other, _ in self.edges:
            for src, dst in ((one, other), (other, one)):
                here = Reached(read.estimate[src], read.earliest[src], read.latest[src], status)
                there = self.along((src, dst), here, bars)
                earliest = np.maximum(read.earliest[dst], there.earliest)
                latest = np.minimum(read.latest[dst], there.latest)
                # Estimated bars that miss the truth may miss each other.
                closer = (earliest <= latest) & is_usual(there)
                closer &= (earliest > read.earliest[dst]) | (latest < read.latest[dst])
                narrower |= bool(closer.any())
                read.earliest[dst][closer] = earliest[closer]
                read.latest[dst][closer] = latest[closer]
        np.clip(read.estimate, read.earliest, read.latest, out=read.estimate)
        return narrower

    def upper(self, read: Read, bars: Bars) -> Values:
        """By (clock, other clock, instant), the most that the other is ahead, ns, or OPEN."""
        n = len(self.clocks)
        upper = np.full((n, n, len(self.at)), OPEN, dtype=np.int64)
        for edge in self.edges:
            low, high = self._offsets(edge, read, bars)
            there, back = (edge.one, edge.other), (edge.other, edge.one)
            upper[there] = np.minimum(upper[there], high)
            upper[back] = np.minimum(upper[back], low)
        return upper

    def _offsets(self, edge: Edge, read: Read, bars: Bars) -> tuple[Values, Values]:
        """The most that clock a of a pair is ahead of b, and b of a, at the instants."""
        tube = edge.pair.tube
        earliest, latest = read.earliest[edge.one], read.latest[edge.one]
        known = (earliest != OPEN_LOW) & (latest != OPEN_HIGH)
        middle = np.where(known, earliest + (latest - earliest) // 2, earliest)
        there = tube.convert(middle, bars=bars)
        # The offset drifts from the middle to what clock a really read.
        drifted = spread(tube.limits.drift, np.maximum(middle - earliest, latest - middle))
        low = _offset(middle, there.earliest, known & (there.earliest != OPEN_LOW), drifted)
        high = _offset(there.latest, middle, known & (there.latest != OPEN_HIGH), drifted)
        for first, last in tube.breaks.tolist():
            over = known & (earliest <= last) & (latest >= first)
            if over.any():
                ends = earliest[over], latest[over]
                whole = tube.convert(middle[over], bars=bars, within=ends)
                low[over] = _offset(ends[1], whole.earliest, whole.earliest != OPEN_LOW)
                high[over] = _offset(whole.latest, ends[0], whole.latest != OPEN_HIGH)
        return low, high

    @property
    def are_open(self) -> bool:
        """Whether suspends leave readings at which nothing bounds a pair."""
        return any(edge.pair.tube.slept.opens for edge in self.edges)

    def widths(self) -> Values:
        """How fast offsets may change, 2^-52 ns per ns of the reference, int64[n, n]."""
        n = len(self.clocks)
        widths = np.zeros((n, n), dtype=np.int64)
        for one in range(n):
            for other in range(one):
                fastest = self.drift(one, other) * (1 + max(self._own(one), self._own(other)))
                widths[one, other] = widths[other, one] = slope_up(fastest)
        return widths

    def _own(self, clock: int) -> float:
        return self.drift(0, clock) if clock else 0.0

    def steps(self, read: Read) -> Marks:
        """By clock, whether it may have stepped from an instant to the next, uint8[n, K - 1]."""
        steps = np.zeros((len(self.clocks), len(self.at) - 1), dtype=np.uint8)
        for one, other, pair in self.edges:
            for first, last in pair.tube.breaks.tolist():
                over = (read.earliest[one, :-1] <= last) & (read.latest[one, 1:] >= first)
                steps[one] |= over
                steps[other] |= over
        # The instants themselves are uneven where the reference stepped.
        np.bitwise_or(steps, steps[0].copy(), out=steps)
        return steps

    def estimates(self, read: Read) -> Estimates:
        """What the pairs say at the instants, beyond what `read` says."""
        shape = len(self.edges), len(self.at)
        out = Estimates(np.empty(shape), np.empty(shape), np.empty(shape))
        for k, (one, other, pair) in enumerate(self.edges):
            there = pair.tube.convert(read.estimate[one])
            halves = (there.latest.astype(np.float64) - there.earliest) / 2
            halves = np.minimum(halves, _ONE_SIDED_NS)
            out.offsets[k] = there.estimate - read.estimate[other]
            out.halves[k] = halves
            out.variances[k] = _variances(pair, read.estimate[one], halves)
        return out


def _variances(pair: Pair, a: Values, halves: Floats) -> Floats:
    """Of a pair's estimates at readings of its clock a; halves: of its bars there."""
    variances = halves**2 / 3 * _SMOOTHED / max(_SMOOTHED, len(pair.tube.evidence.a))
    for curve in pair.tube.order_curves:
        begin = int(curve.x[0])
        here = a >= begin
        knots = (curve.x - begin).astype(np.float64)
        found = np.interp((a[here] - begin).astype(np.float64), knots, curve.variance)
        variances[here] = _TOO_SURE**2 * found + (_ASYMMETRY * halves[here]) ** 2
    return variances


def _exactly(values: Values) -> Reached:
    return Reached(values, values, values, np.zeros(len(values), dtype=np.uint8))


def _offset(there: Values, here: Values, known: Mask, drifted: Values | int = 0) -> Values:
    """there - here, and how far it may have drifted, ns; OPEN where unknown."""
    # Floats tell what fits.
    near = known & (np.abs(there.astype(np.float64) - here) < FARTHEST)
    offset: Values = np.where(near, there - here + np.minimum(drifted, FARTHEST), OPEN)
    return offset


def spread(drift: float, span: Values) -> Values:
    """How far an offset may drift over spans, ns, rounded up; FARTHEST at most."""
    # A float is off by less than a part in 2^50 of it.
    drifted = np.ceil(np.maximum(span, 0) * (drift * (1 + 2.0**-40))) + 1
    up: Values = np.where(span == 0, 0, np.minimum(drifted, FARTHEST)).astype(np.int64)
    return up
