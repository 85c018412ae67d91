"""The tubes of a graph's pairs of clocks, made when they are asked for.

What two clocks' snapshots say of each other is gathered here from every series that has both; what
follows from it is the tube's (`graph/tube/`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from tracetime.clocks.domain import ClockDomain
from tracetime.clocks.families import ONE_RATE, STOPS_IN_SUSPEND, WALL, steadiness
from tracetime.clocks.ids import BUILTIN_IDS, ClockId
from tracetime.errors import NO_PATH, REASONS, ConversionError
from tracetime.graph.rate import learn_rate, nominal_ns, saturated_ns
from tracetime.graph.tube import Evidence, Limits, Tube
from tracetime.graph.tube.counters import Counters
from tracetime.graph.tube.distances import too_many_tubes
from tracetime.graph.tube.evidence import (
    FARTHEST,
    LEAST_ASSUMED_NS,
    NOT_RECORDED,
    assumed_half_width,
    from_two_brackets,
)
from tracetime.graph.tube.lattice import Lattice
from tracetime.graph.tube.limits import MOST_DRIFT, Rise
from tracetime.graph.tube.machines import untied
from tracetime.graph.tube.measurements import Measured, Read
from tracetime.graph.tube.messages import Between, Boxes, equated
from tracetime.graph.tube.neighbours import Neighbours
from tracetime.graph.tube.pieces import correction_of
from tracetime.graph.tube.tick_periods import Tick
from tracetime.graph.tube.wraps import Counter
from tracetime.graph.values import ascending, difference
from tracetime.quantiles import median

Values = npt.NDArray[np.int64]

_SAMPLES: Final = 512
_FEW_SAMPLES: Final = 64
_BOOTTIME: Final = BUILTIN_IDS["BOOTTIME"]
# Of limits: what a counter whose rate had to be learnt from its snapshots may differ by.
_LEARNT_DRIFT_PPM: Final = 500.0
_MARGIN: Final = 1 << 56


class Pair(NamedTuple):
    """The tube of two clocks.

    Attributes:
        a, b: the steadier clock, along which the tube runs, and the other.
        snapshots: numbers of the snapshots it rests on, int64.
        a_rate, b_rate: ns per unit of the readings that were given; 1 where they are ns.
        half_width_ns: median of the evidence's half-widths.
        bar_ns: median half-width of the estimated bars over the whole coverage.
        assumed: whether half-widths were assumed.
        learnt: whether a clock's rate was, from these snapshots.
        ticks: what its clocks step by, where their readings show more than they say.
        far: (number, a, b) of snapshots left out: their readings are more than 73 years apart.
    """

    a: ClockId
    b: ClockId
    tube: Tube
    snapshots: Values
    a_rate: Fraction
    b_rate: Fraction
    half_width_ns: float
    bar_ns: float
    assumed: bool
    learnt: bool
    ticks: Mapping[ClockId, Tick]
    far: list[tuple[int, int, int]]

    def rate_of(self, clock: ClockId) -> Fraction:
        """ns per unit of that clock's readings."""
        return self.a_rate if clock == self.a else self.b_rate


class Pairs:
    """Tubes by pair, for one state of a graph.

    Args:
        shared: (snapshots, one_ns, other_ns) that two clocks have in common, in file order.
        measured: half-widths and centres of those snapshots.
        between: bounds of clocks that no snapshot has read together.
        domain: the limits of a clock.
        unit_ns: ns per unit of a clock, where the snapshots give one.
        neighbours: by clock, those it shares snapshots with.
        lattice: what a clock ticks on, in what its readings are in, as they show it.
        readings: all that a clock read in snapshots, ns, in no order.
        most: how many pairs may have a tube.
    """

    def __init__(  # noqa: PLR0913  the graph as pairs see it
        self,
        shared: Callable[[ClockId, ClockId], tuple[Values, Values, Values]],
        measured: Measured,
        between: Between,
        domain: Callable[[ClockId], ClockDomain],
        unit_ns: Callable[[ClockId], int],
        neighbours: Neighbours,
        lattice: Callable[[ClockId], Lattice | None],
        readings: Callable[[ClockId], Values],
        most: int | None = None,
    ) -> None:
        self._shared_in_all = shared
        self._measured = measured
        self._between = between
        self._domain = domain
        self._unit_ns = unit_ns
        self._neighbours = neighbours
        self._lattice = lattice
        self._readings = readings
        self._spans: dict[ClockId, tuple[int, int] | None] = {}
        self._most = most
        self._made: dict[tuple[ClockId, ClockId], Pair] = {}
        self._counters = Counters(
            self.shared, measured, domain, unit_ns, neighbours,
            lambda one, other: self.limits(one, other).drift, self._tube_ahead,
        )  # fmt: skip
        self._set_back: dict[ClockId, bool] = {}

    def pair(self, one: ClockId, other: ClockId) -> Pair:
        """The tube of two clocks that share snapshots.

        Raises:
            ConversionError: they share none, or not enough to learn a rate from.
            TraceError: of the clocks of a trace so many pairs have a tube as may.
        """
        a, b = self.steadier_first(one, other)
        made = self._made.get((a, b))
        if made is None:
            if not self.has_room(a, b):
                raise too_many_tubes(len(self._made))
            made = self._made[a, b] = self._make(a, b)
        return made

    def has_room(self, one: ClockId, other: ClockId) -> bool:
        """Whether two clocks have a tube, or may have one within the limit."""
        if self._most is None or len(self._made) < self._most:
            return True
        return tuple(self.steadier_first(one, other)) in self._made

    def steadier_first(self, one: ClockId, other: ClockId) -> list[ClockId]:
        """Two clocks, the one that steps and resets less before the other."""
        return sorted((one, other), key=steadiness)

    def was_set_back(self, clock: ClockId) -> bool:
        """Whether a clock fell by all the steadier ones it shares snapshots with.

        One of its readings can then be two instants: no tube can run along it.
        """
        if clock not in self._set_back:
            own, told = steadiness(clock), []
            for other in self._neighbours[clock]:
                if steadiness(other) < own:
                    with suppress(ConversionError):
                        pair = self.pair(other, clock)
                        told.append(pair.tube.has_set_back and not self._slept(pair))
            self._set_back[clock] = bool(told) and all(told)
        return self._set_back[clock]

    def only_stood_still(self, pair: Pair) -> bool:
        """Whether b fell by a and not by another clock that all of their snapshots have, too.

        Both stood still, in a suspend: by the other clock none of b's readings is two instants.
        """
        own = steadiness(pair.b)
        if not pair.tube.has_set_back:
            return False
        if self._slept(pair):
            return True
        for other in self._neighbours[pair.b]:
            if other != pair.a and steadiness(other) < own:
                with suppress(ConversionError):
                    beside = self.pair(other, pair.b)
                    if (
                        not beside.tube.has_set_back
                        and np.isin(pair.snapshots, beside.snapshots).all()
                    ):
                        return True
        return False

    def _slept(self, pair: Pair) -> bool:
        """Whether b fell by a only as a clock falls that nobody can set: its machine slept.

        By BOOTTIME of a's machine that of b's did not fall, as it does where one is started anew.
        """
        if pair.b.clock not in STOPS_IN_SUSPEND or pair.a.machine == pair.b.machine:
            return False
        theirs, own = (replace(clock, clock=_BOOTTIME, sequence=0) for clock in (pair.a, pair.b))
        if own not in self._neighbours[theirs]:
            return False
        with suppress(ConversionError):
            beside = self.pair(theirs, own)
            return (
                beside.b == own
                and not beside.tube.has_set_back
                and _keep_step(pair.snapshots, beside.snapshots)
                and not _fell(pair.tube.evidence)
            )
        return False

    def bar_from(self, clock: ClockId, pair: Pair) -> float:
        """Median half-width of a pair's bars over the time in which one of its clocks was read, ns.

        A pair whose own snapshots cover a part of that knows the rest by its limits alone, and
        nothing of what the clocks did there.
        """
        span = self._span(clock)
        if span is None or self.counter(clock) is not None:
            return pair.bar_ns
        ends = np.array(span, dtype=np.int64)
        first, last = saturated_ns(ends, pair.rate_of(clock))[0].tolist()
        low = high = pair.tube.evidence.a
        if clock == pair.b:
            low, high = low + pair.tube.evidence.low, high + pair.tube.evidence.high
        if low.min() <= first and last <= high.max():
            return pair.bar_ns
        points = [first + (last - first) * k // (_FEW_SAMPLES - 1) for k in range(_FEW_SAMPLES)]
        bars = pair.tube.convert(np.array(points, dtype=np.int64), inverse=clock == pair.b)
        return max(pair.bar_ns, median(difference(bars.latest, bars.earliest)) / 2)

    def _span(self, clock: ClockId) -> tuple[int, int] | None:
        """The least and the most that a clock read in snapshots; None where it was in none."""
        if clock not in self._spans:
            if len(self._between.worked_out):
                # What messages tell of two machines was not read together.
                ours = [c for c in self._neighbours[clock] if c.machine == clock.machine]
                read = [self.shared(clock, other)[1] for other in ours]
                readings = np.concatenate([np.empty(0, dtype=np.int64), *read])
            else:
                readings = self._readings(clock)
            # From 0 on two machines' clocks are said to be one: that was not read, either.
            readings = readings[readings != 0]
            some = len(readings) > 0
            self._spans[clock] = (int(readings.min()), int(readings.max())) if some else None
        return self._spans[clock]

    def counter(self, clock: ClockId) -> Counter | None:
        """A clock that wraps, unfolded; None for one that does not.

        Raises:
            ConversionError: its snapshots do not say how often it wrapped.
        """
        return self._counters.of(clock)

    def _tube_ahead(self, one: ClockId, other: ClockId) -> tuple[Tube, bool] | None:
        """The tube of two clocks, and whether `one` is its b; None where there is none."""
        with suppress(ConversionError):
            pair = self.pair(one, other)
            return pair.tube, one == pair.b
        return None

    def shared(self, one: ClockId, other: ClockId) -> tuple[Values, Values, Values]:
        """What two clocks read together: no snapshot in which that was worked out, or a rule."""
        snapshots, *columns = self._shared_in_all(one, other)
        if one.machine == other.machine:
            return snapshots, columns[0], columns[1]
        read = self._between.is_evidence(snapshots)
        ruled = equated(one, other, *columns)
        if ruled.any():
            # Whoever says how well they were read did read them.
            for clock in (one, other):
                ruled &= self._measured.reads(clock, snapshots).half < 0
            read &= ~ruled
        return snapshots[read], columns[0][read], columns[1][read]

    def _together(self, a: ClockId, b: ClockId) -> _Together:
        """What two clocks read together, short counters unfolded."""
        snapshots, *columns = self.shared(a, b)
        for i, clock in enumerate((a, b)):
            counter = self.counter(clock)
            if counter is not None:
                columns[i], known = counter.at(snapshots)
                snapshots = snapshots[known]
                columns = [column[known] for column in columns]
        one, other = (self._measured.reads(clock, snapshots) for clock in (a, b))
        boxed = np.zeros(len(snapshots), dtype=bool)
        together = _Together(snapshots, columns[0], columns[1], one, other, boxed)
        boxes = self._boxes(a, b)
        return together if boxes is None else together.beside(boxes)

    def _boxes(self, a: ClockId, b: ClockId) -> Boxes | None:
        """The bounds of two clocks, both of which count nanoseconds as messages do."""
        boxes = self._between.of(a, b)
        counters = self._counters
        if boxes is not None and any(
            self._unit_ns(clock) != 1 or counters.modulus(clock) is not None for clock in (a, b)
        ):
            return None
        return boxes

    def _make(self, a: ClockId, b: ClockId) -> Pair:
        given = self._together(a, b)
        if not len(given.snapshots):
            for clock, other in ((a, b), (b, a)):
                if self.counter(clock) is not None and len(self.shared(a, b)[0]):
                    raise self._counters.untied(clock, other)
            if a.machine != b.machine:
                raise untied(a, b)
            raise ConversionError(f"no snapshot has both {a} and {b}", REASONS[NO_PATH])
        a_rate = self._rate(a, given.a_ns, given.b_ns)
        b_rate = self._rate(b, given.b_ns, given.a_ns)
        given = given.at_rates(a_rate, b_rate)
        limits = self.limits(a, b)
        learnt = any(self._domain(clock).ns_per_tick is None for clock in (a, b))
        if learnt:
            limits = replace(limits, drift=_learnt_drift(given, limits.drift))
        near = given.near()
        far = given.only(~near)
        if near.any():
            given = given.only(near)
        shown = {
            clock: tick
            for clock, rate in ((a, a_rate), (b, b_rate))
            if (tick := self.observed_tick(clock, rate)) is not None
        }
        evidence = self._evidence(a, b, given, limits, shown)
        tube = Tube.build(evidence, limits)
        return Pair(
            a, b, tube, given.snapshots, a_rate, b_rate, median(evidence.half),
            _median_bar(tube), evidence.assumed, learnt, shown,
            list(zip(*(column.tolist() for column in far[:3]), strict=True)),
        )  # fmt: skip

    def observed_tick(self, clock: ClockId, rate: Fraction | None = None) -> Tick | None:
        """What a clock ticks by where its readings show more than it is said to; else None.

        Not of short counters, whose readings begin anew wherever they wrap.

        Args:
            rate: ns per unit of its readings; the declared one if not given.
        """
        lattice = self._lattice(clock)
        if lattice is None or self._counters.modulus(clock) is not None:
            return None
        rate = self._domain(clock).ns_per_tick if rate is None else rate
        if rate is None:
            return None
        tick = Tick.of(lattice, rate)
        return tick if tick.width_ns > self._said_tick_ns(clock) else None

    def _rate(self, clock: ClockId, readings: Values, others: Values) -> Fraction:
        rate = self._domain(clock).ns_per_tick
        return learn_rate(readings, others, str(clock)) if rate is None else rate

    def limits(self, a: ClockId, b: ClockId) -> Limits:
        """What two clocks, the steadier first, may do against each other."""
        one, other = self._domain(a), self._domain(b)
        rise: Rise = "suspend" if b.clock == _BOOTTIME and a.clock in STOPS_IN_SUSPEND else "step"
        return Limits.of(
            _drift_ppm(one),
            _drift_ppm(other),
            (one.wander_ppm, other.wander_ppm),
            shared_oscillator=one.oscillator is not None and one.oscillator == other.oscillator,
            rise=rise,
            may_differ=a.clock in WALL or b.clock in WALL,
            one_rate={a.clock, b.clock} <= ONE_RATE,
        )

    def _evidence(
        self, a: ClockId, b: ClockId, given: _Together, limits: Limits,
        shown: Mapping[ClockId, Tick],
    ) -> Evidence:  # fmt: skip
        snapshots, a_ns, b_ns, *reads, boxed = given
        one, other = (
            _with_tick(read, shown.get(clock), ~boxed)
            for clock, read in zip((a, b), reads, strict=True)
        )
        known = (one.half >= 0) & (other.half >= 0)
        if not (a_ns.any() or b_ns.any() or known.any()):
            # Equated by rule (a trace without snapshots): one clock by two names.
            return Evidence.of(a_ns, b_ns, 0)
        ticks = sum(shown[c].width_ns if c in shown else self._said_tick_ns(c) for c in (a, b))
        a_k, r_k, h_k = from_two_brackets(
            a_ns, one.centre, np.maximum(one.half, 0), b_ns, other.centre,
            np.maximum(other.half, 0), limits,
        )  # fmt: skip
        if boxed.any():
            # The offset is told where a is in the middle of its box, and drifts on the way there;
            # each middle has been rounded twice.
            drifted = np.ceil(one.half * limits.drift).astype(np.int64)
            h_k = h_k + np.where(boxed, drifted + ticks + 4, 0)
        # A half-width that was measured holds the ticks already.
        frequencies = [self._frequency(clock, snapshots) for clock in (a, b)]
        correction = correction_of(*frequencies)
        if known.all():
            return Evidence.of(a_k, r_k, h_k, correction=correction)
        declared = [self._domain(clock).assumed_half_width_ns for clock in (a, b)]
        if any(width is not None for width in declared):
            width = max(
                sum(width or 0 for width in declared), sum(tick.width_ns for tick in shown.values())
            )
        else:
            width = assumed_half_width(a_k, r_k, limits, ticks)
        h_k = np.where(known, h_k, width)
        return Evidence.of(a_k, r_k, h_k, assumed=True, correction=correction)

    def least_assumed_ns(self, one: ClockId, other: ClockId) -> int:
        """The least half-width that is assumed of a snapshot of two clocks, where nothing says."""
        return max(LEAST_ASSUMED_NS, self._said_tick_ns(one) + self._said_tick_ns(other))

    def _said_tick_ns(self, clock: ClockId) -> int:
        """What a clock is said to step by: its unit at least, whatever that is."""
        return max(math.ceil(self._domain(clock).tick_ns or 0), self._unit_ns(clock))

    def _frequency(self, clock: ClockId, snapshots: Values) -> Values:
        """What steered a clock in each snapshot; a clock that nothing steers was steered by 0."""
        recorded = self._measured.frequency(clock, snapshots)
        steered = self._domain(clock).disciplined
        return recorded if steered else np.where(recorded == NOT_RECORDED, 0, recorded)


def _keep_step(one: Values, other: Values) -> bool:
    """Whether two pairs rest on the same messages, each of which is a snapshot to each of them."""
    return len(one) == len(other) and len(ascending(other - one)) == 1


def _fell(evidence: Evidence) -> bool:
    """Whether clock b read less after it had read more, in the order of clock a."""
    low, high = (evidence.r,) * 2 if evidence.assumed else (evidence.low, evidence.high)
    least, most = evidence.a + low, evidence.a + high
    return bool((np.maximum.accumulate(least)[:-1] > most[1:]).any())


class _Together(NamedTuple):
    """What two clocks read at one instant each: arrays of one length.

    Attributes:
        snapshots: their numbers, int64.
        a_ns, b_ns: readings, int64.
        a_read, b_read: how far off these can be.
        boxed: which are the middles of bounds; their half-widths do not hold the clocks' ticks.
    """

    snapshots: Values
    a_ns: Values
    b_ns: Values
    a_read: Read
    b_read: Read
    boxed: npt.NDArray[np.bool_]

    def only(self, chosen: npt.NDArray[np.bool_]) -> _Together:
        """Some of them."""
        snapshots, a_ns, b_ns, *reads, boxed = self
        one, other = (Read(read.centre[chosen], read.half[chosen]) for read in reads)
        return _Together(snapshots[chosen], a_ns[chosen], b_ns[chosen], one, other, boxed[chosen])

    def beside(self, boxes: Boxes) -> _Together:
        """These and bounds, in file order."""
        n = len(boxes.snapshots)
        nothing, boxed = np.zeros(n, dtype=np.int64), np.ones(n, dtype=bool)
        order = np.argsort(np.append(self.snapshots, boxes.snapshots), kind="stable")

        def both(own: npt.NDArray[Any], others: npt.NDArray[Any]) -> npt.NDArray[Any]:
            joined: npt.NDArray[Any] = np.append(own, others)[order]
            return joined

        return _Together(
            both(self.snapshots, boxes.snapshots),
            both(self.a_ns, boxes.one),
            both(self.b_ns, boxes.other),
            Read(both(self.a_read.centre, nothing), both(self.a_read.half, boxes.one_half)),
            Read(both(self.b_read.centre, nothing), both(self.b_read.half, boxes.other_half)),
            both(self.boxed, boxed),
        )

    def at_rates(self, a_rate: Fraction, b_rate: Fraction) -> _Together:
        """The same in ns, where readings count ticks of so many ns."""
        given = self
        if a_rate != 1:
            given = given._replace(
                a_ns=nominal_ns(given.a_ns, a_rate), a_read=_stretched(given, given.a_read, a_rate)
            )
        if b_rate != 1:
            given = given._replace(
                b_ns=nominal_ns(given.b_ns, b_rate), b_read=_stretched(given, given.b_read, b_rate)
            )
        return given

    def near(self) -> npt.NDArray[np.bool_]:
        """Which are within what a tube can hold; one broken snapshot must not cost all."""
        near = np.abs(difference(self.b_ns, self.a_ns)) < FARTHEST - 2 * _MARGIN
        for read in (self.a_read, self.b_read):
            near &= (np.abs(read.centre) < _MARGIN) & (read.half < _MARGIN)
        return near


def _stretched(given: _Together, read: Read, rate: Fraction) -> Read:
    """Half-widths in ns: those of bounds were in the ticks that the clock counts."""
    wider = nominal_ns(read.half, rate) + 1
    return read._replace(half=np.where(given.boxed, wider, read.half))


def _learnt_drift(given: _Together, drift: float) -> float:
    """`drift`, and how far off the rate is that `learn_rate` takes from the ends."""
    ends = [int(np.argmin(given.a_ns)), int(np.argmax(given.a_ns))]
    halves = [read.half[ends] for read in (given.a_read, given.b_read)]
    unsure_ns = sum(sum(half.clip(0).tolist()) for half in halves)
    span_ns = int(given.a_ns[ends[1]]) - int(given.a_ns[ends[0]])
    return min(drift + unsure_ns / max(span_ns, 1), MOST_DRIFT)


def _with_tick(read: Read, tick: Tick | None, which: npt.NDArray[np.bool_]) -> Read:
    """How a clock was read; of `which`, a half-width below its tick cannot hold that yet."""
    if tick is None:
        return read
    short = which & (read.half >= 0) & (read.half < tick.width_ns)
    return Read(read.centre, np.where(short, read.half + tick.width_ns, read.half))


def _drift_ppm(domain: ClockDomain) -> float:
    return _LEARNT_DRIFT_PPM if domain.ns_per_tick is None else domain.drift_ppm


def _median_bar(tube: Tube) -> float:
    """Median half-width of the estimated bars over the coverage of a tube, ns."""
    a = tube.evidence.a
    # The snapshots and half-way between them are numbered through; a few of them do.
    n = 2 * len(a) - 1
    chosen = np.linspace(0, n - 1, min(n, _SAMPLES)).astype(np.int64)
    at, halves = chosen >> 1, chosen & 1
    points = a[at] + (a[at + halves] - a[at]) // 2
    bars = tube.convert(points)
    return median((bars.latest - bars.earliest).astype(np.float64)) / 2
