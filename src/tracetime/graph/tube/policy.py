"""The tube policy over a whole graph: paths of least error, and what their loops say.

One hop is a pair's tube (`pairs.py`); here values travel over several, with their bars.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import chain, islice, pairwise
from operator import attrgetter
from typing import Final, Generic, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from tracetime.clocks.families import COARSE
from tracetime.clocks.ids import ClockId
from tracetime.errors import (
    AMBIGUOUS_SOURCE,
    NO_PATH,
    OVERFLOW,
    REASONS,
    RESOLVED,
    ConversionError,
    UsageError,
)
from tracetime.graph.clock_names import named
from tracetime.graph.explanation import Outside, farthest_outside, reading
from tracetime.graph.rate import saturated_ns
from tracetime.graph.routes import Steps, detour, least_error
from tracetime.graph.ticks import Unit
from tracetime.graph.tube import Bars, Limits
from tracetime.graph.tube.distances import Reach
from tracetime.graph.tube.machines import Machines, untied
from tracetime.graph.tube.neighbours import Neighbours
from tracetime.graph.tube.pairs import Pair, Pairs
from tracetime.graph.tube.tick_periods import Tick
from tracetime.graph.tube.triangles import Triangles
from tracetime.graph.tube.wraps import Counter
from tracetime.text import count, duration

Values = npt.NDArray[np.int64]
Marks = npt.NDArray[np.uint8]

_CHECKED_LOOPS: Final = 1024
_DETOURS: Final = 256
_DETOUR_STEPS: Final = 500_000
_FEW: Final = 256
_MANY: Final = 8
"""Of so many snapshots, a few changes of rate do not leave all in contradiction."""
# Above every bar: for a tube along a clock that was set back, where no other path leads.
_LAST_RESORT: Final = 2.0**63
# Above the bars that matter: for one on which readings are two instants that are one on another.
_TWICE: Final = 2.0**50
_HUB: Final = 16
"""From a clock that shares snapshots with more others, the best way is found out once."""
_INT64: Final = np.iinfo(np.int64)


Converted = TypeVar("Converted")


class Bounds(NamedTuple, Generic[Converted]):
    """Converted timestamps: the best estimate, and the earliest and latest that can be.

    Ints for an int; int64 arrays of one length, or Arrow arrays where errors are masked.
    """

    estimate: Converted
    earliest: Converted
    latest: Converted


class Reached(NamedTuple):
    """Values on the target clock, int64 arrays of one length; status indexes errors.REASONS."""

    estimate: Values
    earliest: Values
    latest: Values
    status: Marks


class TubeHop(NamedTuple):
    """One step of a conversion: where it came to, and what its bar rests on.

    estimate, earliest, latest: on dst, ns (ticks where dst counts them). snapshots: how many the
    pair shares. half_width_ns: the median of theirs; `assumed` where the trace says none.
    learnt: the rate of a clock was taken from these snapshots. unit: "ns" or "ticks", of where it
    came to and its bar. extrapolated: "before first" or "after last" of those snapshots, or ""
    among them; outside_ns: how far from them. src_tick_ns, dst_tick_ns: what the clocks tick by,
    where their readings show more than they say; else None.
    """

    src: ClockId
    dst: ClockId
    estimate: int
    earliest: int
    latest: int
    snapshots: int
    half_width_ns: float
    assumed: bool
    drift_ppm: float
    wander_ppm: float
    learnt: bool
    unit: Unit
    extrapolated: str
    outside_ns: int
    src_tick_ns: float | None
    dst_tick_ns: float | None

    @property
    def lags(self) -> bool:
        """Whether a clock is a COARSE one: how far it lags is known as far as that was seen."""
        return bool(COARSE & {self.src.clock, self.dst.clock})

    @property
    def outside(self) -> Outside | None:
        """How far outside the snapshots the value lies; None within them."""
        if not self.extrapolated:
            return None
        return Outside(self.extrapolated, self.outside_ns, "ns", self.src, self.dst)


@dataclass(frozen=True, slots=True)
class TubeExplanation:
    """A conversion with its bar, and where that comes from; `str()` tells it in words.

    Attributes:
        bars: as asked for; see `basis`.
        names: what clocks are called.
        value_unit: whether `src` counts ns (or its units of them) or ticks.
    """

    value: int
    src: ClockId
    dst: ClockId
    bars: Bars
    steps: list[TubeHop]
    result: int
    earliest: int
    latest: int
    names: Mapping[ClockId, str]
    value_unit: Unit = "ns"

    @property
    def unit(self) -> Unit:
        """Of the result and its bar."""
        return self.steps[-1].unit if self.steps else self.value_unit

    @property
    def outside(self) -> Outside | None:
        """Where this leads farthest outside of its snapshots; None where it stays within."""
        return farthest_outside(self.steps)

    @property
    def basis(self) -> Bars:
        """What the bar is: on what nobody measured or promised an estimate, whatever asked."""
        unsure = any(step.assumed or step.learnt or step.lags for step in self.steps)
        return "estimated" if unsure else self.bars

    def __str__(self) -> str:
        told = f"{self.bars} bars"
        if self.basis != self.bars:
            what = (
                ("half-widths are assumed", any(step.assumed for step in self.steps)),
                ("a rate is learnt", any(step.learnt for step in self.steps)),
                ("a COARSE clock's lag is as far as it was seen", any(s.lags for s in self.steps)),
            )
            told += ", but estimates: " + " and ".join(why for why, so in what if so)
        unit = self.unit
        lines = [
            f"{reading(self.src, self.value, self.value_unit)} -> "
            f"{reading(self.dst, self.result, unit)}",
            f"  between {self.earliest} and {self.latest} "
            f"(-{self.result - self.earliest} +{self.latest - self.result} {unit}), {told}",
        ]
        for number, hop in enumerate(self.steps, 1):
            widths = "assumed" if hop.assumed else "measured"
            lines.append(
                f"  {number}. {hop.src} -> {hop.dst} {hop.estimate}, bar "
                f"-{hop.estimate - hop.earliest} +{hop.latest - hop.estimate} {hop.unit}: "
                f"{count(hop.snapshots, 'snapshot')}, "
                f"half-width {hop.half_width_ns:.0f} ns ({widths}), "
                f"drift within {hop.drift_ppm:.0f} ppm, wander within {hop.wander_ppm:g} ppm"
                + (", rate learnt from these" if hop.learnt else "")
                + (", lag as far as it was seen" if hop.lags and not hop.assumed else "")
                + "".join(
                    f", {clock} ticks by {duration(tick_ns)} as its readings show"
                    for clock, tick_ns in ((hop.src, hop.src_tick_ns), (hop.dst, hop.dst_tick_ns))
                    if tick_ns is not None
                )
            )
        if self.outside is not None:
            lines.append(f"  {self.outside}")
        return named("\n".join(lines), self.names)


class PairDiscontinuity(NamedTuple):
    """A discontinuity between two clocks; see `graph.tube.findings.Discontinuity`.

    a_from, a_to are on src, the steadier clock; snapshots are counted over the graph from 0.
    """

    src: ClockId
    dst: ClockId
    kind: str
    a_from: int
    a_to: int
    size_ns: tuple[int, int] | None
    rate_ppm: tuple[float, float] | None
    snapshots: tuple[int, ...]


class Inconsistency(NamedTuple):
    """Two paths from src to dst whose bars do not meet at an instant of src, by gap_ns.

    The one is direct, the other leads over the clocks `via`.
    """

    src: ClockId
    dst: ClockId
    via: tuple[ClockId, ...]
    at_ns: int
    gap_ns: int


Known = Callable[[ClockId], list[ClockId] | None]
"""The best way from a clock to where a search leads, where that is known."""
Near = Callable[[Counter], tuple[Values, Values]]
"""The spans, (lows, highs), that readings of a counter lie in: int64, in its readings' unit."""


class TubePolicy:
    """Conversions with bars, for one state of a graph.

    Args:
        pairs: the tubes.
        neighbours: by clock, those it shares snapshots with.
        machines: which of them are tied.
        reach: how far clocks are from each other, and what their ways may take.
    """

    def __init__(
        self, pairs: Pairs, neighbours: Neighbours, machines: Machines, reach: Reach
    ) -> None:
        self.machines = machines
        self._pairs = pairs
        self._neighbours = neighbours
        self._reach = reach
        self._paths: dict[tuple[ClockId, ClockId], list[ClockId]] = {}
        self._bars: dict[tuple[ClockId, ClockId], float | ConversionError] = {}

    def pair(self, one: ClockId, other: ClockId) -> Pair:
        """The tube of two clocks that share snapshots.

        Raises:
            ConversionError: a clock is unknown, they share no snapshot, or their rate is open.
        """
        for clock in (one, other):
            if clock not in self._neighbours:
                raise ConversionError(
                    f"no snapshot has {clock} with another clock", "unknown_source_clock"
                )
        return self._pairs.pair(one, other)

    def has_room(self, one: ClockId, other: ClockId) -> bool:
        """Whether two clocks have a tube, or may have one within the limit."""
        return self._pairs.has_room(one, other)

    def beside(self, clock: ClockId) -> list[ClockId]:
        """The clocks that a tube may lead to from this one."""
        return self._neighbours[clock]

    def shared(self, one: ClockId, other: ClockId) -> tuple[Values, Values, Values]:
        """(snapshots, one_ns, other_ns) in which two clocks were read together, in file order."""
        return self._pairs.shared(one, other)

    def limits(self, one: ClockId, other: ClockId) -> Limits:
        """What two clocks may do against each other, at most."""
        return self._pairs.limits(one, other)

    def least_assumed_ns(self, one: ClockId, other: ClockId) -> int:
        """The least half-width that is assumed of a snapshot of two clocks, where nothing says."""
        return self._pairs.least_assumed_ns(one, other)

    def expect(self, sources: Iterable[ClockId], target: ClockId) -> None:
        """Say before the first conversion which clocks will be converted to another.

        Raises:
            TraceError: that takes more tubes, or more hops, than it may.
        """
        tied = (source for source in sources if self.machines.are_tied(source, target))
        self._reach.expect(tied, target)

    def path(  # noqa: C901  the functions within it share what one search knows
        self, source: ClockId, target: ClockId
    ) -> list[ClockId]:
        """The clocks of the least-error path, source first.

        Raises:
            ConversionError: a clock is unknown, or no path leads there.
        """
        for clock, reason in ((source, "unknown_source_clock"), (target, "unknown_target_clock")):
            if clock not in self._neighbours:
                raise ConversionError(f"no snapshot has {clock} with another clock", reason)
        # Else every clock of a machine would be looked at for a way that there is not.
        if not self.machines.are_tied(source, target):
            raise untied(source, target)
        found = self._paths.get((source, target))
        if found is None:
            faults: list[ConversionError] = []

            def bar_ns(one: ClockId, other: ClockId) -> float:
                bar = self._bar_ns(one, other)
                if isinstance(bar, ConversionError):
                    faults.append(bar)
                    return float("inf")
                return bar

            self._reach.expect([source], target)
            hops = self._reach.hops(source, target)
            if hops is None:
                raise _no_way(source, target)
            self._reach.check_length(hops)

            def search(start: ClockId, known: Known) -> list[ClockId] | None:
                return least_error(
                    start, target, lambda here: self._neighbours.onward(here, target), bar_ns,
                    known, self._reach.steps,
                )  # fmt: skip

            def made(here: ClockId) -> list[ClockId] | None:
                return self._paths.get((here, target))

            def known(here: ClockId) -> list[ClockId] | None:
                # From a hub many ways are weighed, and many clocks lead over it: once for all.
                if made(here) is None and len(self._neighbours[here]) > _HUB:
                    way = search(here, made)
                    if way is not None:
                        self._paths[here, target] = way
                return made(here)

            reached = search(source, known)
            self._reach.check_steps()
            if reached is None and faults:
                raise faults[0]
            if reached is None:
                raise _no_way(source, target)
            self._reach.found(reached)
            found = self._paths[source, target] = reached
        return found

    def _bar_ns(self, one: ClockId, other: ClockId) -> float | ConversionError:
        """What one hop adds to a way's bars, ns; or why there is no tube for it."""
        if (one, other) not in self._bars:
            try:
                pair = self._pairs.pair(one, other)
                if self._pairs.was_set_back(pair.a):
                    bar = _LAST_RESORT
                else:
                    bar = self._pairs.bar_from(one, pair)
                    bar += _TWICE * (one == pair.b and self._pairs.only_stood_still(pair))
                self._bars[one, other] = bar
            except ConversionError as fault:
                self._bars[one, other] = fault.with_traceback(None)
        return self._bars[one, other]

    def line(self, one: ClockId, other: ClockId) -> ClockId:
        """The clock to compare readings of two clocks on, which must not have been set back.

        The steadier of the two, the other, or one that both lead to; the steadier where all were
        set back.

        Raises:
            ConversionError: as `path`.
        """
        steadier, less_so = self._pairs.steadier_first(one, other)
        # From the less steady one: the other may be a hub, with a tube to each of its neighbours.
        path = self.path(less_so, steadier)
        beside = (c for c in self._neighbours[steadier] if self.machines.are_tied(c, steadier))
        among = chain((steadier, less_so), path, beside)
        return next((c for c in among if not self._pairs.was_set_back(c)), steadier)

    def convert(
        self,
        values: Values,
        source: ClockId,
        target: ClockId,
        bars: Bars,
        near: Near | None = None,
    ) -> tuple[Reached, list[Reached]]:
        """Convert values; returns what they came to, and what after each hop.

        values: int64, ns (ticks where the source's rate says so), 1-d.
        near: where the values of a source that wraps lie; None for somewhere among its snapshots.
        """
        here = self._unfolded(values, source, near)
        after = []
        for src, dst in pairwise(self.path(source, target)):
            here = _hop(self._pairs.pair(src, dst), src, here, bars)
            after.append(here)
        return here, after

    def _unfolded(self, values: Values, source: ClockId, near: Near | None) -> Reached:
        """The values themselves; of a counter, with the wrap that they must belong to."""
        status = np.zeros(len(values), dtype=np.uint8)
        counter = self.counter(source)
        if counter is None:
            return Reached(values, values, values, status)
        first, last = (
            counter.wraps_of(values) if near is None else counter.unfold(values, *near(counter))
        )
        status[first != last] = AMBIGUOUS_SOURCE
        return Reached(first, first, last, status)

    def counter(self, clock: ClockId) -> Counter | None:
        """A clock that wraps, unfolded; None for one that does not."""
        return self._pairs.counter(clock)

    def shown_tick(self, clock: ClockId) -> Tick | None:
        """What a clock ticks by where its readings show more than it is said to; else None."""
        return self._pairs.shown_tick(clock)

    def explain(
        self, value: int, source_ns: int, source: ClockId, target: ClockId, bars: Bars,
        names: Mapping[ClockId, str], near: Near | None = None,
    ) -> TubeExplanation:  # fmt: skip
        """One conversion, hop by hop; source_ns is the value in the source's ns or ticks."""
        given = np.array([source_ns], dtype=np.int64)
        final, after = self.convert(given, source, target, bars, near)
        path = self.path(source, target)
        before = self._unfolded(given, source, near)
        steps = []
        for (src, dst), reached in zip(pairwise(path), after, strict=True):
            pair = self._pairs.pair(src, dst)
            limits = pair.tube.limits
            side, outside_ns = _outside(pair, before if src == pair.a else reached)
            before = reached
            steps.append(
                TubeHop(
                    src, dst, reached.estimate.item(), reached.earliest.item(),
                    reached.latest.item(), len(pair.snapshots), pair.half_width_ns,
                    pair.assumed, limits.drift * 1e6, float(pair.tube.wander.max() * 1e6),
                    pair.learnt, _unit(pair, dst), side, outside_ns, *(
                        None if clock not in pair.ticks else pair.ticks[clock].period_ns
                        for clock in (src, dst)
                    ),
                )
            )  # fmt: skip
        return TubeExplanation(
            value, source, target, bars, steps, final.estimate.item(), final.earliest.item(),
            final.latest.item(), names, _unit(self._pairs.pair(*path[:2]), source),
        )  # fmt: skip

    def discontinuities(self, pairs: list[tuple[ClockId, ClockId]]) -> list[PairDiscontinuity]:
        """What was found in the tubes of some pairs, in order of src, dst and place.

        Pairs that have no tube (a rate or a number of wraps is open) are left out.
        """
        known: list[Pair] = []
        for one, other in pairs:
            with suppress(ConversionError):
                known.append(self._pairs.pair(one, other))
        found: list[PairDiscontinuity] = []
        for pair in sorted(known, key=lambda pair: (pair.a, pair.b)):
            found += sorted(_befell(pair), key=attrgetter("a_from", "a_to", "kind"))
        return found

    def inconsistencies(
        self, series: list[tuple[ClockId, ...]]
    ) -> tuple[list[Inconsistency], bool]:
        """Loops of clocks whose two ways do not meet, the widest gap of each.

        Of three clocks all loops; of more those whose ends are in none of three, by the shortest
        way round.

        Args:
            series: the lists of clocks that snapshots have had.

        Returns:
            what was found, and whether there are more than the `_CHECKED_LOOPS` that were compared.
        """
        found = []
        loops = self._loops(Triangles(series))
        for src, *via, dst in islice(loops, _CHECKED_LOOPS):
            with suppress(ConversionError):
                gap = self._gap(src, dst, tuple(via))
                if gap is not None:
                    found.append(gap)
        return found, next(loops, None) is not None

    def _loops(self, triangles: Triangles) -> Iterator[list[ClockId]]:
        """Paths of more than one hop between clocks that share snapshots."""
        around = self._neighbours
        searched = 0
        steps = Steps(_DETOUR_STEPS)
        for src in triangles.clocks:
            for dst in triangles.ends(src):
                for via in triangles.vias(src, dst):
                    yield [src, via, dst]
                if searched == _DETOURS or steps.spent or triangles.closed(src, dst):
                    continue
                # Most clocks are tied to one other alone: no way leads round.
                if min(len(around[src]), len(around[dst])) > 1:
                    searched += 1
                    path = detour(src, dst, around.__getitem__, steps)
                    if path is not None:
                        yield path

    def _gap(self, src: ClockId, dst: ClockId, via: tuple[ClockId, ...]) -> Inconsistency | None:
        """Where two ways are furthest apart, if guaranteed bars do not meet or estimated never do.

        Guaranteed bars are wide between snapshots, and hide much where those of the two ways were
        taken at different times. That estimated ones miss each other somewhere may be a rate that
        did not hold; that they do at all of many snapshots is not.
        """
        direct, path = self._pairs.pair(src, dst), (src, *via, dst)
        points_ns = direct.tube.evidence.a
        points_ns = points_ns if direct.a == src else direct.tube.convert(points_ns).estimate
        few_ns = points_ns[:: max(1, len(points_ns) // _FEW)]
        apart_ns, known = self._apart(path, points_ns, "guaranteed")
        if not apart_ns.any():
            # Where estimated bars meet at one of a few, the others need not be looked at.
            for at_ns in (few_ns, points_ns):
                apart_ns, known = self._apart(path, at_ns, "estimated")
                if not apart_ns[known].all():
                    return None
            if int(known.sum()) < _MANY:
                return None
        worst = int(np.argmax(apart_ns))
        return Inconsistency(src, dst, via, int(points_ns[worst]), int(apart_ns[worst]))

    def _apart(
        self, path: tuple[ClockId, ...], at_ns: Values, bars: Bars
    ) -> tuple[Values, npt.NDArray[np.bool_]]:
        """How far from the direct way the bars of a path end, ns, and where both say something.

        at_ns: on the first clock; 0 apart where they meet, or one says nothing.
        """
        ends = path[0], path[-1]
        direct = self._pairs.pair(*ends)
        points, _ = _ticks(at_ns, direct.rate_of(ends[0]), 0.5)
        here, known = self._along(ends, points, bars)
        there, also = self._along(path, points, bars)
        gaps = np.maximum(here.earliest - there.latest, there.earliest - here.latest)
        gaps = np.where(known & also, gaps, 0)
        gaps_ns, _ = _scaled(gaps, direct.rate_of(ends[1]))
        return np.where(gaps > 0, np.maximum(gaps_ns, 1), 0), known & also

    def _along(
        self, path: tuple[ClockId, ...], points: Values, bars: Bars
    ) -> tuple[Reached, npt.NDArray[np.bool_]]:
        """Points brought along a path, and which say something about it.

        Estimated bars do between snapshots alone: a rate that held may not have gone on for ever.
        """
        here = Reached(points, points, points, np.zeros(len(points), dtype=np.uint8))
        known = np.ones(len(points), dtype=bool)
        for src, dst in pairwise(path):
            pair, before = self._pairs.pair(src, dst), here
            here = _hop(pair, src, here, bars)
            if bars == "estimated":
                on_a = before.estimate if src == pair.a else here.estimate
                a, _ = _scaled(on_a, pair.a_rate)
                covered = pair.tube.evidence.a
                known &= (covered[0] <= a) & (a <= covered[-1])
        return here, known & (here.status == RESOLVED)


def _no_way(source: ClockId, target: ClockId) -> ConversionError:
    return ConversionError(f"the snapshots do not lead from {source} to {target}", REASONS[NO_PATH])


def _befell(pair: Pair) -> Iterator[PairDiscontinuity]:
    """What was found in the tube of a pair, and what no tube holds."""
    yield from map(partial(_far, pair), pair.far)
    number = pair.snapshots.tolist()
    for d in pair.tube.discontinuities:
        on = tuple([number[i] for i in d.snapshots])
        yield PairDiscontinuity(pair.a, pair.b, d.kind, d.a_from, d.a_to, d.size_ns, d.rate_ppm, on)


def _far(pair: Pair, which: tuple[int, int, int]) -> PairDiscontinuity:
    """A snapshot beyond what a tube holds, as the outlier that it is."""
    number, a, b = which
    bar = pair.tube.convert(np.array([a], dtype=np.int64))
    size = (b - bar.latest.item(), b - bar.earliest.item())
    return PairDiscontinuity(pair.a, pair.b, "outlier", a, a, size, None, (number,))


def _unit(pair: Pair, clock: ClockId) -> Unit:
    """What the readings of a clock of the pair count."""
    return "ns" if pair.rate_of(clock) == 1 else "ticks"


def _outside(pair: Pair, on_a: Reached) -> tuple[str, int]:
    """On which side of the pair's snapshots an estimate lies, and how far from them, ns."""
    ns, covered = _scaled(on_a.estimate, pair.a_rate)[0].item(), pair.tube.evidence.a
    first, last = int(covered[0]), int(covered[-1])
    if ns < first:
        return "before first", first - ns
    return ("after last", ns - last) if ns > last else ("", 0)


def _hop(pair: Pair, src: ClockId, here: Reached, bars: Bars) -> Reached:
    """Bring values of src, with their bars, over one pair."""
    own = pair.rate_of(src)
    estimate, beyond = _scaled(here.estimate, own)
    earliest, latest = (
        estimate if values is here.estimate else _scaled(values, own)[0] for values in here[1:3]
    )
    exact = np.array_equal(earliest, latest)
    there = pair.tube.convert(
        estimate, bars=bars, inverse=src == pair.b, within=None if exact else (earliest, latest)
    )
    rate = pair.rate_of(pair.a if src == pair.b else pair.b)
    low, high = _ticks(there.earliest, rate, 0)[0], _ticks(there.latest, rate, 1)[0]
    ticks, left = _ticks(there.estimate, rate, 0.5)
    status = np.where(here.status, here.status, there.status)
    return Reached(
        # An estimate rests on all evidence, guaranteed or not: it stays within these bars.
        np.clip(ticks, low, high),
        low,
        high,
        np.where((status == RESOLVED) & (beyond | left), np.uint8(OVERFLOW), status),
    )


def _scaled(values: Values, rate: Fraction) -> tuple[Values, npt.NDArray[np.bool_]]:
    """Readings at `rate` ns a tick as ns, within int64; and which do not fit."""
    if rate == 1:
        return values, np.zeros(len(values), dtype=bool)
    return saturated_ns(values, rate)


def _ticks(ns: Values, rate: Fraction, up: float) -> tuple[Values, npt.NDArray[np.bool_]]:
    """ns as readings of a clock with `rate` ns a tick: the first one, the nearest, or the last.

    up: 0, 0.5 or 1. A clock faster than 1 GHz has several ticks in a nanosecond.
    """
    if rate == 1:
        return _scaled(ns, rate)
    if up == 0.5:
        half = min(rate.numerator // (2 * rate.denominator), int(_INT64.max))
        return saturated_ns(np.where(ns > _INT64.max - half, ns, ns + half), 1 / rate)
    return saturated_ns(ns + (ns < _INT64.max) if up == 1 else ns, 1 / rate)


def check_bars(bars: str) -> None:
    """Raise UsageError for bars that there are none of."""
    if bars not in ("estimated", "guaranteed"):
        raise UsageError(f"bars are 'estimated' or 'guaranteed', not {bars!r}")


def overflowed(status: Marks) -> npt.NDArray[np.bool_]:
    """Which values left int64."""
    result: npt.NDArray[np.bool_] = status == OVERFLOW
    return result
