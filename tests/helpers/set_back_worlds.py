"""Clocks that are set while they send each other messages: what is true is known.

A world's time is in ns from 0, as float64: a minute of it is exact to far less than a nanosecond.
Clocks read int64 ns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tracetime import ClockDomain, ClockGraph, Snapshot
from tracetime.graph.tube.results import Bars

S = 1_000_000_000

Values = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Sets = Sequence[tuple[float, float]]


@dataclass(frozen=True)
class SetClock:
    """A clock that runs `ppm` fast, and is set: (instant, by how much), ns; instants ascending."""

    name: str
    sets: Sets = ()
    ppm: float = 0.0
    begin_ns: int = 10**15

    def read(self, t: Floats) -> Values:
        moved = t * (1 + self.ppm * 1e-6)
        for at, size in self.sets:
            moved = moved + np.where(t >= at, size, 0.0)
        return np.floor(moved).astype(np.int64) + self.begin_ns

    def instants(self, values: Values) -> list[Floats]:
        """When it read some values: an array for each time that it was set; NaN where not then."""
        begins = [-np.inf, *(at for at, _ in self.sets)]
        sizes = np.cumsum([0.0, *(size for _, size in self.sets)])
        found = []
        for begin, end, moved in zip(begins, [*begins[1:], np.inf], sizes, strict=True):
            t = (values - self.begin_ns + 0.5 - moved) / (1 + self.ppm * 1e-6)
            found.append(np.where((t >= begin) & (t < end), t, np.nan))
        return found

    def domain(self) -> ClockDomain:
        """Of a machine of its own; two of them drift by 200 ppm at most."""
        return ClockDomain(self.name, max_drift_ppm=66.66, oscillator=self.name)


@dataclass(frozen=True)
class SetWorld:
    """Clocks of which every two exchange messages.

    Attributes:
        rate: messages a second and pair, both ways together.
        share_back: the share of the messages back that are sent.
        snapshots: of every two clocks, each known to 1 us.
        shuffled: whether they are added in no order.
    """

    clocks: Sequence[SetClock]
    seconds: float = 60.0
    rate: float = 100.0
    share_back: float = 1.0
    snapshots: int = 0
    shuffled: bool = False

    def graph(self, rng: np.random.Generator) -> ClockGraph:
        graph = ClockGraph(domains=[clock.domain() for clock in self.clocks])
        for one, other in combinations(self.clocks, 2):
            for src, dst, share in ((one, other, 1.0), (other, one, self.share_back)):
                self._send(graph, rng, src, dst, share)
            if self.snapshots:
                self._snap(graph, rng, one, other)
        return graph

    def _send(
        self,
        graph: ClockGraph,
        rng: np.random.Generator,
        src: SetClock,
        dst: SetClock,
        share: float,
    ) -> None:
        span = self.seconds * S
        sent = np.sort(rng.uniform(0, span, rng.poisson(share * self.rate * self.seconds / 2)))
        got = sent + 20_000 + rng.exponential(20_000, len(sent))
        if self.shuffled:
            order = rng.permutation(len(sent))
            sent, got = sent[order], got[order]
        graph.add_order(before=(src.read(sent), src.name), after=(dst.read(got), dst.name))

    def _snap(
        self, graph: ClockGraph, rng: np.random.Generator, one: SetClock, other: SetClock
    ) -> None:
        t = np.sort(rng.uniform(0, self.seconds * S, self.snapshots))
        half = {other.name: np.full(len(t), 1_000)}
        readings = {clock.name: clock.read(t) for clock in (one, other)}
        graph.add_snapshot(Snapshot(readings, reference=one.name, half_width_ns=half))

    def instants(self, rng: np.random.Generator) -> Floats:
        """Random instants, some beyond either end, and many about those at which clocks are set."""
        span = self.seconds * S
        about = [
            at + rng.uniform(-1.2, 1.2, 200) * max(abs(size), 0.05 * S)
            for clock in self.clocks
            for at, size in clock.sets
        ]
        t = np.concatenate([rng.uniform(-0.05 * span, 1.05 * span, 500), *about])
        return np.sort(t[(t > -0.05 * span) & (t < 1.05 * span)])


def missed_ns(
    graph: ClockGraph, src: SetClock, dst: SetClock, t: Floats, bars: Bars
) -> tuple[Floats, Floats]:
    """By how much bars miss what dst read at instants: of any instant of a reading, and of each.

    A reading that src had twice is of two instants; where the graph says so, its bar holds both.
    """
    values = src.read(t)
    got = graph.convert(
        values, src.name, dst.name, policy="tube", bars=bars, bounds=True, errors="mask"
    )
    low = _side(got.earliest, -np.inf, dst)
    high = _side(got.latest, np.inf, dst)
    every = [t, *src.instants(values)]
    missed = []
    for at in every:
        truth = (dst.read(np.nan_to_num(at)) - dst.begin_ns).astype(np.float64)
        missed.append(np.where(np.isnan(at), np.nan, np.maximum(low - truth, truth - high)))
    known = np.array(missed[1:])
    # A reading is rounded: its instant is known to a nanosecond or two.
    nearest = np.nanmin(np.vstack([missed[0], known]), axis=0) - 2
    twice = ~got.estimate.is_valid().to_numpy(zero_copy_only=False)
    return np.fmax(np.where(twice, missed[0], nearest), 0), np.fmax(missed[0], 0)


def _side(side: pa.Array, when_open: float, clock: SetClock) -> Floats:
    known = side.is_valid().to_numpy(zero_copy_only=False)
    values = side.fill_null(0).to_numpy()
    known &= np.abs(values.astype(np.float64)) < 2.0**62
    return np.where(known, (values - clock.begin_ns).astype(np.float64), when_open)
