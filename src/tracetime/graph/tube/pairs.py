"""The tubes of a graph's pairs of clocks, made when they are needed.

The evidence of a pair is gathered here from every series that has both clocks.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import islice
from typing import Final

import numpy as np

from tracetime.clocks.domain import ClockDomain
from tracetime.clocks.families import (
    NEVER_SET,
    ONE_RATE,
    STOPS_IN_SUSPEND,
    WALL,
    may_jump,
    steadiness,
)
from tracetime.clocks.ids import BUILTIN_IDS, ClockId
from tracetime.columns.arrays import median
from tracetime.errors import AMBIGUOUS_SOURCE, NO_PATH, OVERFLOW, REASONS, ConversionError
from tracetime.graph.ticks import learn_rate, saturated_ns
from tracetime.graph.tube.assumed_widths import learnt, least_assumed_ns, widened
from tracetime.graph.tube.corrections import correction_of
from tracetime.graph.tube.counters import Counters
from tracetime.graph.tube.evidence import NOT_RECORDED, WIDEST, Evidence
from tracetime.graph.tube.graph_data import GraphData, too_many_tubes, untied
from tracetime.graph.tube.joint_readings import JointReadings, with_tick
from tracetime.graph.tube.lattice import Lattice
from tracetime.graph.tube.limits import Limits, Rise, slope_up
from tracetime.graph.tube.messages import Boxes, equated
from tracetime.graph.tube.order_evidence import Intervals, OrderBounds, Scale, bounds_of
from tracetime.graph.tube.orders import PairOrders
from tracetime.graph.tube.own_intervals import Hold
from tracetime.graph.tube.pair import Gathered, Pair
from tracetime.graph.tube.set_backs import is_better, read_twice, sweep
from tracetime.graph.tube.suspends import Suspends, Zone, evidence_rows, split
from tracetime.graph.tube.tick_periods import Tick
from tracetime.graph.tube.tube import Tube
from tracetime.graph.tube.wraps import Counter
from tracetime.graph.values import Values, ascending, difference

# Of a clock that was read beyond the pair: bars grow evenly there.
_FEW_SAMPLES: Final = 64
# Bounds of orders are rounded, and grow with the drift within a tick.
_ROUNDED_NS: Final = 8
# Clocks that are asked whether another one fell: each takes a tube.
_MOST_WITNESSES: Final = 20
_BOOTTIME: Final = BUILTIN_IDS["BOOTTIME"]
# The drift of a counter whose rate had to be learnt from its snapshots.
_LEARNT_DRIFT_PPM: Final = 500.0


class Pairs:
    """Tubes by pair, for one state of a graph.

    Args:
        graph: what the tubes are made of.
        lattice: the ticks that a clock's readings show, in the unit of the readings.
        most: how many pairs may have a tube.
    """

    def __init__(
        self,
        graph: GraphData,
        lattice: Callable[[ClockId], Lattice | None],
        most: int | None = None,
    ) -> None:
        self._graph = graph
        self._lattice = lattice
        self._most = most
        self._spans: dict[ClockId, tuple[int, int] | None] = {}
        self._made: dict[tuple[ClockId, ClockId], Pair] = {}
        self._beside: dict[tuple[ClockId, ClockId], Pair] = {}
        self._counters = Counters(
            replace(graph, shared=self.shared),
            lambda one, other: self.limits(one, other).drift,
            self._tube_from,
        )
        self._set_back: dict[ClockId, bool] = {}
        self._read_twice: dict[ClockId, list[ClockId]] = {}
        self._suspends = Suspends(self.shared, self._sleeps)

    def pair(self, one: ClockId, other: ClockId) -> Pair:
        """The tube of two clocks that share snapshots or orders.

        Raises:
            ConversionError: they share none, or not enough to learn a rate from.
            TraceError: as many pairs have a tube as the limit allows.
        """
        a, b = self.steadier_first(one, other)
        made = self._made.get((a, b))
        if made is None:
            if not self.has_room(a, b):
                raise too_many_tubes(len(self._made))
            beside = (a, b) in self._beside
            made = self._beside.pop((a, b)) if beside else self._make(a, b)
            self._made[a, b] = made
        return made

    @contextmanager
    def beside(self, n: int) -> Iterator[bool]:
        """Within it, so many tubes may be made that do not count for the limit; False: too many.

        There may be as many of them as of those that count.
        """
        if self._most is not None and len(self._beside) + n > self._most:
            yield False
            return
        (most, self._most), counted = (self._most, None), set(self._made)
        try:
            yield True
        finally:
            self._most = most
            for pair in self._made.keys() - counted:
                self._beside[pair] = self._made.pop(pair)

    def has_room(self, one: ClockId, other: ClockId) -> bool:
        """Whether two clocks have a tube, or may have one within the limit."""
        if self._most is None or len(self._made) < self._most:
            return True
        return tuple(self.steadier_first(one, other)) in self._made

    def have_evidence(self, one: ClockId, other: ClockId) -> bool:
        """Whether what two clocks share is enough for a tube, which is not made for that."""
        a, b = self.steadier_first(one, other)
        with suppress(ConversionError):
            return (a, b) in self._made or bool(self._gathered(a, b))
        return False

    def drop(self, clocks: Container[ClockId]) -> None:
        """Free the tubes of some clocks; one that is requested again is made again."""
        for tubes in (self._made, self._beside):
            for pair in [pair for pair in tubes if pair[0] in clocks or pair[1] in clocks]:
                del tubes[pair]

    def steadier_first(self, one: ClockId, other: ClockId) -> list[ClockId]:
        """Two clocks, the one that steps and resets less before the other."""
        return sorted((one, other), key=steadiness)

    def was_set_back(self, clock: ClockId) -> bool:
        """Whether a clock fell against all the steadier ones it shares snapshots with.

        Or, where there are none, whether orders show that it fell against another. One of its
        readings can then be two instants: no tube can run along it.
        """
        if clock not in self._set_back:
            own, neighbours = steadiness(clock), self._graph.neighbours[clock]
            steadier = [other for other in neighbours if steadiness(other) < own]
            if steadier:
                self._set_back[clock] = self._fell_against_all(clock, steadier)
            else:
                ordered = (other for other in neighbours if self._graph.orders.has(clock, other))
                self._set_back[clock] = False
                for other in islice(ordered, _MOST_WITNESSES):
                    with suppress(ConversionError):
                        self._set_back[clock] |= self._fell_in(clock, other)
        return self._set_back[clock]

    def _fell_against_all(self, clock: ClockId, others: list[ClockId]) -> bool:
        fell = False
        for other in others:
            with suppress(ConversionError):
                fell = self._fell_in(clock, other)
                # One is enough: there may be thousands.
                if not fell:
                    break
        return fell

    def _fell_in(self, clock: ClockId, other: ClockId) -> bool:
        """Whether a clock fell against another one.

        Raises:
            ConversionError: they have no tube.
        """
        pair = self.pair(clock, other)
        if clock == pair.a:
            return pair.tube.is_read_twice
        return pair.tube.has_set_back and not self._slept(pair)

    def read_twice(self, clock: ClockId) -> list[Pair]:
        """The tubes by which a clock may have had one reading at two instants.

        Those with the clocks that are steadier, or as steady, and those of orders.
        """
        if clock not in self._read_twice:
            own, rank = steadiness(clock), _set_back_rank(clock)
            witnesses = (
                other
                for other in self._graph.neighbours[clock]
                if steadiness(other) < own
                or _set_back_rank(other) == rank
                or self._graph.orders.has(clock, other)
            )
            found = self._read_twice[clock] = []
            for other in islice(witnesses, _MOST_WITNESSES):
                with suppress(ConversionError):
                    pair = self.pair(clock, other)
                    twice = pair.tube.read_twice(inverse=clock == pair.b)
                    if len(twice.lows) and not (clock == pair.b and self.only_stood_still(pair)):
                        found.append(other)
        return [self.pair(clock, other) for other in self._read_twice[clock]]

    def to_one_set_back(self, clock: ClockId) -> Pair | None:
        """The tube to a steadier clock that was set back, as this one then was; else None.

        None where any steadier one was not: it would show that.
        """
        own = steadiness(clock)
        steadier = [one for one in self._graph.neighbours[clock] if steadiness(one) < own]
        with suppress(ConversionError):
            if steadier and all(self.read_twice(one) for one in steadier[:_MOST_WITNESSES]):
                return self.pair(clock, steadier[0])
        return None

    def only_stood_still(self, pair: Pair) -> bool:
        """Whether b fell against a, but not against another clock that all their snapshots have.

        Both stood still in a suspend: on the other clock, each reading of b is one instant.
        """
        own = steadiness(pair.b)
        if not pair.tube.has_set_back:
            return False
        if self._slept(pair):
            return True
        for other in self._graph.neighbours[pair.b]:
            if other != pair.a and steadiness(other) < own:
                with suppress(ConversionError):
                    own_pair = self.pair(other, pair.b)
                    read_too = np.isin(pair.snapshots, own_pair.snapshots)
                    if not own_pair.tube.has_set_back and pair.orders is None and read_too.all():
                        return True
        return False

    def _slept(self, pair: Pair) -> bool:
        """Whether b fell against a only because its machine slept.

        BOOTTIME of b's machine did not fall against that of a's, as it does after a restart.
        """
        if pair.b.clock not in STOPS_IN_SUSPEND or pair.a.machine == pair.b.machine:
            return False
        theirs, own = (replace(clock, clock=_BOOTTIME, sequence=0) for clock in (pair.a, pair.b))
        if own not in self._graph.neighbours[theirs]:
            return False
        with suppress(ConversionError):
            boottimes = self.pair(theirs, own)
            return (
                boottimes.b == own
                and not boottimes.tube.has_set_back
                and _same_messages(pair.snapshots, boottimes.snapshots)
                and not _fell(pair.tube.evidence)
            )
        return False

    def bar_from(self, clock: ClockId, pair: Pair) -> float:
        """Median half-width of a pair's bars over the time in which one of its clocks was read, ns.

        Where the pair's own snapshots cover a part of that, only its limits bound the rest, and
        jumps there are unknown.
        """
        span = self._span(clock)
        if span is None or self.counter(clock) is not None:
            return pair.bar_ns
        ends = np.array(span, dtype=np.int64)
        first, last = saturated_ns(ends, pair.rate_of(clock))[0].tolist()
        low = high = pair.tube.evidence.a
        if clock == pair.b:
            lows, highs = pair.tube.evidence.said()
            low, high = low + lows, high + highs
        if low.min() <= first and last <= high.max():
            return pair.bar_ns
        points = [first + (last - first) * k // (_FEW_SAMPLES - 1) for k in range(_FEW_SAMPLES)]
        bars = pair.tube.convert(np.array(points, dtype=np.int64), inverse=clock == pair.b)
        widths = np.minimum(difference(bars.latest, bars.earliest), WIDEST)
        return max(pair.bar_ns, median(widths) / 2)

    def has_all_of(self, clock: ClockId, pair: Pair) -> bool:
        """Whether a pair rests on all that is known of one of its clocks, with assumed widths."""
        data = self._graph
        more = clock in data.orders or data.measured.has(clock)
        return not more and len(pair.snapshots) == len(data.readings(clock))

    def _span(self, clock: ClockId) -> tuple[int, int] | None:
        """The least and the most that a clock read in snapshots; None where it was in none."""
        if clock not in self._spans:
            if len(self._graph.between.worked_out):
                # Bounds from messages between two machines are no readings.
                ours = [c for c in self._graph.neighbours[clock] if c.machine == clock.machine]
                read = [self.shared(clock, other)[1] for other in ours]
                readings = np.concatenate([np.empty(0, dtype=np.int64), *read])
            else:
                readings = self._graph.readings(clock)
            # A reading of 0 may be the rule that equates two machines' clocks.
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

    def _tube_from(self, one: ClockId, other: ClockId) -> tuple[Tube, bool] | None:
        """The tube of two clocks, and whether `one` is its b; None where there is none."""
        with suppress(ConversionError):
            pair = self.pair(one, other)
            return pair.tube, one == pair.b
        return None

    def shared(self, one: ClockId, other: ClockId) -> tuple[Values, Values, Values]:
        """What two clocks read together: no snapshots that are worked out, or only equate them."""
        snapshots, *columns = self._graph.shared(one, other)
        if one.machine == other.machine:
            return snapshots, columns[0], columns[1]
        read = self._graph.between.is_evidence(snapshots)
        ruled = equated(one, other, *columns)
        if ruled.any():
            # A snapshot with half-widths was read.
            for clock in (one, other):
                ruled &= self._graph.measured.reads(clock, snapshots).half < 0
            read &= ~ruled
        return snapshots[read], columns[0][read], columns[1][read]

    def _joint_readings(self, a: ClockId, b: ClockId) -> JointReadings:
        """What two clocks read together, short counters unfolded."""
        snapshots, *columns = self.shared(a, b)
        for i, clock in enumerate((a, b)):
            counter = self.counter(clock)
            if counter is not None:
                columns[i], known = counter.at(snapshots)
                snapshots = snapshots[known]
                columns = [column[known] for column in columns]
        one, other = (self._graph.measured.reads(clock, snapshots) for clock in (a, b))
        boxed = np.zeros(len(snapshots), dtype=bool)
        joint = JointReadings(snapshots, columns[0], columns[1], one, other, boxed)
        boxes = self._boxes(a, b)
        return joint if boxes is None else joint.with_boxes(boxes)

    def _boxes(self, a: ClockId, b: ClockId) -> Boxes | None:
        """The bounds of two clocks, both of which count nanoseconds as messages do."""
        boxes = self._graph.between.of(a, b)
        counters = self._counters
        if boxes is not None and any(
            self._graph.unit_ns(clock) != 1 or counters.modulus(clock) is not None
            for clock in (a, b)
        ):
            return None
        return boxes

    def _make(self, a: ClockId, b: ClockId) -> Pair:
        found = self._gathered(a, b)
        pair = found.pair()
        if pair.tube.n_faults == 0:
            return pair
        if found.bounds is None:
            return self._either_way(pair)
        drift = slope_up(found.limits.drift)
        turned = self._gathered(b, a)
        here, there = (sweep(those.evidence, drift) for those in (found, turned))
        if is_better(there, here):
            found, pair = turned, turned.pair()
            here, there = there, here
        late_ns = 2 * sum(self._tick_ns(clock, found.ticks) for clock in (a, b)) + _ROUNDED_NS
        twice = read_twice(here, there, late_ns)
        return pair if twice is None else found.without(twice).pair()

    def _either_way(self, pair: Pair) -> Pair:
        """The same, whichever of its clocks was set back, where their kinds do not tell."""
        a, b = pair.a, pair.b
        if a.machine != b.machine or _set_back_rank(a) != _set_back_rank(b):
            return pair
        found = self._gathered(b, a)
        # In a suspend clock a stands still, and its readings do not fall.
        sleeps = pair.tube.limits.rise == "suspend"
        if sleeps and not _fell(found.evidence):
            return pair
        turned = found.pair()
        if sleeps and not _fell(turned.tube.kept):
            return pair
        if not len(pair.tube.breaks) and pair.tube.n_faults < turned.tube.n_faults:
            # Snapshots that were misread explain more.
            return pair
        if pair.tube.only_reset:
            return pair
        return pair._replace(tube=pair.tube.or_turned(turned.tube))

    def _gathered(self, a: ClockId, b: ClockId) -> Gathered:
        """What there is to build a tube of, along a."""
        orders = self._orders(a, b)
        given = self._joint_readings(a, b)
        if not len(given.snapshots) and orders is None:
            for clock, other in ((a, b), (b, a)):
                if self.counter(clock) is not None and len(self.shared(a, b)[0]):
                    raise self._counters.untied(clock, other)
            if a.machine != b.machine:
                raise untied(a, b)
            raise ConversionError(f"no snapshot or order has both {a} and {b}", REASONS[NO_PATH])
        a_rate = self._rate(a, given.a_ns, given.b_ns)
        b_rate = self._rate(b, given.b_ns, given.a_ns)
        given = given.at_rates(a_rate, b_rate)
        limits = self.limits(a, b)
        learnt = any(self._graph.domain(clock).ns_per_tick is None for clock in (a, b))
        if learnt:
            limits = replace(limits, drift=given.learnt_drift(limits.drift))
        near, far = given.near(), []
        if not near.all():
            far = given.only(~near).rows()
            if near.any() or orders is not None:
                given = given.only(near)
        ticks = {
            clock: tick
            for clock, rate in ((a, a_rate), (b, b_rate))
            if (tick := self.observed_tick(clock, rate)) is not None
        }
        bounds = bounds_from = None
        if orders is not None:
            bounds_from = self._bounds((a, b), (a_rate, b_rate), ticks, limits)
            bounds = bounds_from(orders)
            if _is_ruled(given):
                given = given.only(np.zeros(len(given.snapshots), dtype=bool))
            if not len(given.snapshots) + len(bounds.a_ns):
                raise ConversionError(
                    f"the orders of {a} and {b} put them more than 36 years apart: check units",
                    REASONS[OVERFLOW],
                )
        intervals, hold = self._intervals(a, b, given, limits, ticks)
        return self._apart(
            given,
            Gathered(
                a=a,
                b=b,
                intervals=intervals,
                snapshots=given.snapshots,
                bounds=bounds,
                bounds_from=bounds_from,
                messages=bool(given.boxed.any()),
                hold=hold,
                limits=limits,
                a_rate=a_rate,
                b_rate=b_rate,
                learnt=learnt,
                ticks=ticks,
                far=far,
            ),
        )

    def _apart(self, given: JointReadings, found: Gathered) -> Gathered:
        """The same, parted where the machine of either clock slept."""
        slept = self._suspends.of(found.a, found.b), self._suspends.of(found.b, found.a)
        if slept == ([], []):
            return found
        rows = evidence_rows(given, found.intervals, found.bounds)
        return found.apart(split(rows, *slept, found.limits))

    def _sleeps(self, stops: ClockId, goes_on: ClockId) -> list[Zone]:
        """Where a clock that goes on in a suspend rose against one of its machine that stops."""
        with suppress(ConversionError):
            found = self._gathered(stops, goes_on).pair().tube.discontinuities
            slept = found.take(found.kind_is("suspend"))
            return list(map(Zone, slept.a_from.tolist(), slept.a_to.tolist()))
        return []

    def suspends(self, clock: ClockId) -> list[Zone]:
        """Where a clock's machine slept, by its readings; none of a clock that no kernel keeps."""
        return self._suspends.of_clock(clock)

    def observed_tick(self, clock: ClockId, rate: Fraction | None = None) -> Tick | None:
        """The tick that a clock's readings show, where it is longer than the declared one.

        None for short counters, whose readings restart where they wrap.

        Args:
            rate: ns per unit of its readings; the declared one if not given.
        """
        lattice = self._lattice(clock)
        if lattice is None or self._counters.modulus(clock) is not None:
            return None
        rate = self._graph.domain(clock).ns_per_tick if rate is None else rate
        if rate is None:
            return None
        tick = Tick.of(lattice, rate)
        return tick if tick.width_ns > self._declared_tick_ns(clock) else None

    def _rate(self, clock: ClockId, readings: Values, others: Values) -> Fraction:
        rate = self._graph.domain(clock).ns_per_tick
        if rate is None and not len(readings):
            raise ConversionError(
                f"the rate of {clock} is unknown, and orders alone do not give it: declare how "
                "many ns a tick lasts (ns_per_tick), or take two snapshots that have both clocks",
                REASONS[NO_PATH],
            )
        return learn_rate(readings, others, str(clock)) if rate is None else rate

    def limits(self, a: ClockId, b: ClockId) -> Limits:
        """How far two clocks, the steadier first, may drift and wander against each other."""
        one, other = self._graph.domain(a), self._graph.domain(b)
        rise: Rise = "suspend" if b.clock == _BOOTTIME and a.clock in STOPS_IN_SUSPEND else "step"
        found = Limits.of(
            _drift_ppm(one),
            _drift_ppm(other),
            (one.wander_ppm, other.wander_ppm),
            shared_oscillator=one.oscillator is not None and one.oscillator == other.oscillator,
            rise=rise,
            may_differ=a.clock in WALL or b.clock in WALL,
            one_rate={a.clock, b.clock} <= ONE_RATE,
            may_jump=may_jump(a, b),
        )
        # Another machine may have been started anew any number of times.
        again = a.machine != b.machine or self._counters.modulus(b) is not None
        placed = one.is_placed or other.is_placed
        ticks_ns = self._declared_tick_ns(a) + self._declared_tick_ns(b) if placed else None
        return replace(found, wraps=again, placed_ns=ticks_ns)

    def _orders(self, a: ClockId, b: ClockId) -> PairOrders | None:
        """The orders of two clocks, neither of which may wrap."""
        orders = self._graph.orders.of(a, b)
        for clock in (a, b) if orders is not None else ():
            if self._counters.modulus(clock) is not None:
                raise ConversionError(
                    f"{clock} wraps, and has orders: which wrap they belong to is open; unwrap its "
                    "readings, and declare it with 64 bits",
                    REASONS[AMBIGUOUS_SOURCE],
                )
        return orders

    def _bounds(
        self,
        clocks: tuple[ClockId, ClockId],
        rates: tuple[Fraction, Fraction],
        observed: Mapping[ClockId, Tick],
        limits: Limits,
    ) -> Callable[[PairOrders], OrderBounds]:
        """What tells what orders of two clocks say of the offset."""
        one, other = (
            Scale.of(self._graph.unit_ns(clock) * rate, self._tick_ns(clock, observed))
            for clock, rate in zip(clocks, rates, strict=True)
        )
        fastest = max(_drift_ppm(self._graph.domain(clock)) for clock in clocks) * 1e-6
        return partial(bounds_of, a=one, b=other, fastest=fastest, drift=limits.drift)

    def _intervals(
        self,
        a: ClockId,
        b: ClockId,
        given: JointReadings,
        limits: Limits,
        observed: Mapping[ClockId, Tick],
    ) -> tuple[Intervals, Hold | None]:
        """What snapshots say of the offset, and what bars hold of each of them."""
        snapshots, a_ns, b_ns, *reads, boxed = given
        one, other = (
            with_tick(read, observed.get(clock), ~boxed)
            for clock, read in zip((a, b), reads, strict=True)
        )
        known = (one.half >= 0) & (other.half >= 0)
        if _is_ruled(given._replace(a_read=one, b_read=other)):
            # Equated by rule (a trace without snapshots): one clock by two names.
            return Intervals(a_ns, b_ns, np.zeros_like(a_ns), False, None), None
        ticks = self._tick_ns(a, observed) + self._tick_ns(b, observed)
        read_drift = self._read_drift(b) if given.are_apart else limits.drift
        r_k, h_k = given._replace(a_read=one, b_read=other).offsets(read_drift)
        if boxed.any():
            # The offset is known at the middle of a's box, and drifts on the way there; each
            # middle has been rounded twice.
            drifted = np.ceil(one.half * limits.drift).astype(np.int64)
            h_k = h_k + np.where(boxed, drifted + ticks + 4, 0)
        # A half-width that was measured holds the ticks already.
        frequencies = [self._frequency(clock, snapshots) for clock in (a, b)]
        correction = correction_of(*frequencies)
        if known.all():
            return Intervals(a_ns, r_k, h_k, False, correction), None
        declared_ns = self._assumed_ns(a, b, observed)
        if declared_ns is not None:
            width = widened(a_ns, r_k, declared_ns, limits.drift)
            hold = Hold.declared(declared_ns)
        else:
            # Along the same clock whichever was asked for: one of them may have been set back.
            is_first = self.steadier_first(a, b)[0] == a
            along, offset = (a_ns, r_k) if is_first else (a_ns + r_k, -r_k)
            found = learnt(along, offset, limits, least_assumed_ns((a, b), ticks))
            width, hold = found.half_ns, found.hold(a_ns)
        return Intervals(a_ns, r_k, np.where(known, h_k, width), True, correction), hold

    def _read_drift(self, clock: ClockId) -> float:
        """How far a clock may drift against the reference of any snapshot that has it."""
        domains = map(self._graph.domain, self._graph.neighbours[clock])
        drift_ppm = _drift_ppm(self._graph.domain(clock))
        return Limits.of(max(map(_drift_ppm, domains)), drift_ppm).drift

    def _assumed_ns(self, a: ClockId, b: ClockId, observed: Mapping[ClockId, Tick]) -> int | None:
        """The half-width that is declared of readings without one; None where none is."""
        declared = [self._graph.domain(clock).assumed_half_width_ns for clock in (a, b)]
        if declared == [None, None]:
            return None
        ticks_ns = sum(tick.width_ns for tick in observed.values())
        return max(sum(width or 0 for width in declared), ticks_ns)

    def _tick_ns(self, clock: ClockId, observed: Mapping[ClockId, Tick]) -> int:
        tick = observed.get(clock)
        return self._declared_tick_ns(clock) if tick is None else tick.width_ns

    def least_assumed_ns(self, one: ClockId, other: ClockId) -> int:
        """The least half-width assumed of a snapshot of two clocks that gives none."""
        ticks_ns = self._declared_tick_ns(one) + self._declared_tick_ns(other)
        return least_assumed_ns((one, other), ticks_ns)

    def _declared_tick_ns(self, clock: ClockId) -> int:
        """The declared tick of a clock: its unit at least."""
        return max(math.ceil(self._graph.domain(clock).tick_ns or 0), self._graph.unit_ns(clock))

    def _frequency(self, clock: ClockId, snapshots: Values) -> Values:
        """The recorded corrections of a clock; 0 where nothing steers it."""
        recorded = self._graph.measured.frequency(clock, snapshots)
        steered = self._graph.domain(clock).disciplined
        return recorded if steered else np.where(recorded == NOT_RECORDED, 0, recorded)


def _set_back_rank(clock: ClockId) -> int:
    """Of two clocks, the one of higher rank was set back; of two alike, either may have been."""
    return 0 if clock.clock in NEVER_SET else steadiness(clock)[0]


def _same_messages(one: Values, other: Values) -> bool:
    """Whether two pairs rest on the same messages, each of which is a snapshot to each of them."""
    return len(one) == len(other) and len(ascending(other - one)) == 1


def _fell(evidence: Evidence) -> bool:
    """Whether clock b read less after it had read more, in the order of clock a."""
    low, high = (evidence.r,) * 2 if evidence.assumed else (evidence.low, evidence.high)
    least, most = evidence.a + low, evidence.a + high
    return bool((np.maximum.accumulate(least)[:-1] > most[1:]).any())


def _is_ruled(given: JointReadings) -> bool:
    """Whether snapshots only equate two clocks: all read 0, and none says how it was read."""
    known = (given.a_read.half >= 0) & (given.b_read.half >= 0)
    return bool(len(known)) and not (given.a_ns.any() or given.b_ns.any() or known.any())


def _drift_ppm(domain: ClockDomain) -> float:
    return _LEARNT_DRIFT_PPM if domain.ns_per_tick is None else domain.drift_ppm
