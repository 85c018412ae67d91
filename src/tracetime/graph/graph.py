"""ClockGraph: clocks tied together by snapshots, and conversions between any two of them.

The graph itself lives in a kernel (`_kernels/graph/engine.pyx`); here are names, checks and errors.
How a value is converted over a hop is a policy's to say (`floor.py`).
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import chain
from threading import RLock
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Literal, overload

import numpy as np
import numpy.typing as npt

from tracetime._kernels.graph import shared_snapshots, view
from tracetime._kernels.graph.engine import Engine
from tracetime._kernels.graph.floor import scale
from tracetime._kernels.graph.router import Router, TangledError
from tracetime.clocks.domain import ClockDomain
from tracetime.clocks.ids import ClockId, ClockLike
from tracetime.clocks.snapshot import INT64_MAX, INT64_MIN, ReadingsByClock, Snapshot
from tracetime.errors import AMBIGUOUS_SOURCE, OVERFLOW, REASONS, ConversionError, UsageError
from tracetime.graph.arguments import (
    SNAPSHOT_FAULTS,
    ClockTimes,
    OnError,
    PolicyName,
    Times,
    check_policy,
    checked_domain,
    clock_of_caller,
    refusal,
)
from tracetime.graph.clock_lists import Listed
from tracetime.graph.clock_names import named
from tracetime.graph.explanation import Explanation, Hop, floor_step
from tracetime.graph.floor import FloorHop
from tracetime.graph.info import ClockInfo, Readings, SeriesInfo, Strays
from tracetime.graph.rate import saturated_ns
from tracetime.graph.state import GraphState, clock_of
from tracetime.graph.ticks import ns_per_tick, unit_of
from tracetime.graph.tube.bars import Bars, check_bars
from tracetime.graph.tube.distances import Reach
from tracetime.graph.tube.explanation import TubeExplanation
from tracetime.graph.tube.machines import Machines
from tracetime.graph.tube.measurements import NONE_STEERED, Column, Measured, Read, Values
from tracetime.graph.tube.messages import Between
from tracetime.graph.tube.neighbours import Neighbours
from tracetime.graph.tube.pairs import Pairs
from tracetime.graph.tube.policy import Near, TubePolicy
from tracetime.graph.tube.results import Bounds, Inconsistency, PairDiscontinuity, Reached
from tracetime.graph.tube.tick_periods import EventReadings, Ticks
from tracetime.graph.tube.wraps import Counter
from tracetime.graph.values import Given, Result, take
from tracetime.int_arrays import IntArray

if TYPE_CHECKING:
    import pyarrow as pa
    from bokeh.models import UIElement

    from tracetime.graph.storage.save import Parts
    from tracetime.graph.tube.curves import Curves

_KEPT_ROUTES: Final = 64
_NOTHING: Final[Mapping[Any, Any]] = MappingProxyType({})


class ClockGraph:
    """Clocks and the snapshots that tie them together.

    Every snapshot makes its clocks convertible to one another; a conversion takes the shortest
    path of at most 4 hops, and at each hop the nearest snapshot before the value (Perfetto's
    clock_synchronizer.cc). A clock whose reading is lower than its previous one among the same
    clocks has run backwards: it is a target from then on, never a source.

    Threads may share a graph, adding to it and converting at once.

    Args:
        trace_clock: a clock that must not run backwards and must count nanoseconds; a snapshot in
            which it does otherwise is refused.
        domains: limits of clocks, for the tube's bars; what is not declared takes its kind's.
    """

    def __init__(
        self, trace_clock: ClockLike | None = None, domains: Iterable[ClockDomain] | None = None
    ) -> None:
        self._engine = Engine()
        self._lock = RLock()
        self._file = 0
        self._ids: list[ClockId] = []
        self._numbers: dict[ClockId, list[int]] = {}
        self._measured = Measured()
        self._between = Between()
        self._most_tubes: int | None = None
        self._events: Mapping[ClockId, EventReadings] = {}
        self._domains = {checked_domain(domain).id: domain for domain in domains or ()}
        self._trace_clock = None if trace_clock is None else clock_of_caller(trace_clock)
        self._forget()

    @classmethod
    def _of(
        cls,
        engine: Engine,
        trace_clock: ClockId | None,
        file: int,
        measured: Mapping[tuple[int, int, int, int], tuple[Values, Values, Values]] = _NOTHING,
        steered: tuple[Values, Values, Values] = NONE_STEERED,
        events: Mapping[tuple[int, int, int, int], tuple[Values, int, int]] = _NOTHING,
    ) -> ClockGraph:
        """Wrap an engine, as of an import, whose trace clock may be any number a trace gave.

        file: the number that the engine gives the one file there is; callers know it as 0.
        measured: by the engine's key of a clock, the snapshots that say how it was read, its
            centres and half-widths in them.
        steered: (snapshots, machines, 2^-16 ppm) by which kernels steered their clocks.
        events: by the engine's key of a clock, the parts of `EventReadings`.
        """
        graph = cls()
        graph._engine = engine
        graph._trace_clock = trace_clock
        graph._file = file
        graph._measured = Measured(
            {
                graph._clock(key): Column(snapshots, Read(centre, half))
                for key, (snapshots, centre, half) in measured.items()
            },
            steered,
        )
        graph._events = {graph._clock(key): EventReadings(*told) for key, told in events.items()}
        return graph

    def _forget(self) -> None:
        self._clocks: list[ClockInfo] | None = None
        self._series: list[SeriesInfo] | None = None
        self._compared: list[tuple[ClockId, ClockId]] | None = None
        self._lists: Listed | None = None
        self._routers: dict[ClockId, Router | None] = {}
        self._routes: dict[tuple[ClockId, ClockId], tuple[int, list[FloorHop]]] = {}
        self._bounds: TubePolicy | None = None
        self._infos: dict[ClockId, ClockInfo] | None = None
        self._version = view.version(self._engine)

    def _refresh(self) -> None:
        """Forget what was worked out before the graph changed."""
        if view.version(self._engine) != self._version:
            self._forget()

    def declare(self, domain: ClockDomain) -> None:
        """Say what a clock is and may do; replaces what was said of it before."""
        self._domains[checked_domain(domain).id] = domain
        self._forget()

    def domain(self, clock: ClockLike) -> ClockDomain:
        """What is declared of a clock, or what its kind is taken to do."""
        parsed = ClockId.parse(clock)
        return self._domains.get(parsed) or ClockDomain.of_kind(parsed)

    @property
    def names(self) -> dict[ClockId, str]:
        """What clocks are called, where a domain says so: the id of a named clock is a hash."""
        return {clock: d.name for clock, d in self._domains.items() if d.name is not None}

    @property
    def declared(self) -> dict[ClockId, ClockDomain]:
        """The domains that were declared, by clock."""
        return dict(self._domains)

    @property
    def trace_clock(self) -> ClockId | None:
        """The clock given as trace clock, if any."""
        return self._trace_clock

    def add_snapshot(self, snapshot: Snapshot | ReadingsByClock) -> None:
        """Add a snapshot, or as many as the arrays in it are long, in order.

        Args:
            snapshot: a Snapshot, or its readings: ``{clock: int, Reading or 1-d int64 array}``.

        Raises:
            UsageError: `Snapshot` refuses it; an incremental clock that is not sequence-scoped;
                a clock whose unit or incremental flag changed; a trace clock that went backwards
                or does not count nanoseconds. The snapshot is not added, nor any after it in its
                arrays; those before it are.
        """
        if not isinstance(snapshot, Snapshot):
            snapshot = Snapshot(snapshot)
        clocks, readings = snapshot.clocks, snapshot.readings.values()
        n = len(snapshot)
        values = np.empty((n, len(clocks)), dtype=np.int64)
        for column, reading in enumerate(readings):
            values[:, column] = reading.value
        with self._lock:
            added, fault, position = view.add_snapshots(
                self._engine,
                [self._key(clock) for clock in clocks],
                values,
                np.array([reading.unit_ns for reading in readings], dtype=np.int64),
                np.array([reading.incremental for reading in readings], dtype=np.uint8),
                None if self._trace_clock is None else self._key(self._trace_clock),
            )
            end = view.version(self._engine)
            self._measured.add(end - added, end, snapshot)
        if fault:
            which = f"snapshot {added} of {n}: " if n > 1 else ""
            raise UsageError(which + SNAPSHOT_FAULTS[fault].format(clock=clocks[position]))

    @overload
    def convert(
        self,
        ts: int | np.integer[Any],
        src: ClockLike,
        dst: ClockLike,
        *,
        policy: PolicyName = ...,
        bars: Bars = ...,
        bounds: Literal[False] = ...,
        errors: Literal["raise"] = ...,
        near: ClockTimes | None = ...,
    ) -> int: ...

    @overload
    def convert(
        self,
        ts: int | np.integer[Any],
        src: ClockLike,
        dst: ClockLike,
        *,
        policy: PolicyName = ...,
        bars: Bars = ...,
        bounds: Literal[False] = ...,
        errors: Literal["mask"],
        near: ClockTimes | None = ...,
    ) -> int | None: ...

    @overload
    def convert(
        self,
        ts: int | np.integer[Any],
        src: ClockLike,
        dst: ClockLike,
        *,
        policy: PolicyName = ...,
        bars: Bars = ...,
        bounds: Literal[True],
        errors: Literal["raise"] = ...,
        near: ClockTimes | None = ...,
    ) -> Bounds[int]: ...

    @overload
    def convert(
        self,
        ts: int | np.integer[Any],
        src: ClockLike,
        dst: ClockLike,
        *,
        policy: PolicyName = ...,
        bars: Bars = ...,
        bounds: Literal[True],
        errors: Literal["mask"],
        near: ClockTimes | None = ...,
    ) -> Bounds[int | None]: ...

    @overload
    def convert(
        self,
        ts: IntArray,
        src: ClockLike,
        dst: ClockLike,
        *,
        policy: PolicyName = ...,
        bars: Bars = ...,
        bounds: Literal[False] = ...,
        errors: Literal["raise"] = ...,
        near: ClockTimes | None = ...,
    ) -> npt.NDArray[np.int64]: ...

    @overload
    def convert(
        self,
        ts: IntArray,
        src: ClockLike,
        dst: ClockLike,
        *,
        policy: PolicyName = ...,
        bars: Bars = ...,
        bounds: Literal[False] = ...,
        errors: Literal["mask"],
        near: ClockTimes | None = ...,
    ) -> pa.Int64Array: ...

    @overload
    def convert(
        self,
        ts: IntArray,
        src: ClockLike,
        dst: ClockLike,
        *,
        policy: PolicyName = ...,
        bars: Bars = ...,
        bounds: Literal[True],
        errors: Literal["raise"] = ...,
        near: ClockTimes | None = ...,
    ) -> Bounds[npt.NDArray[np.int64]]: ...

    @overload
    def convert(
        self,
        ts: IntArray,
        src: ClockLike,
        dst: ClockLike,
        *,
        policy: PolicyName = ...,
        bars: Bars = ...,
        bounds: Literal[True],
        errors: Literal["mask"],
        near: ClockTimes | None = ...,
    ) -> Bounds[pa.Int64Array]: ...

    # long: half of it says what it does
    def convert(  # noqa: PLR0913  the one call of all conversions
        self,
        ts: Times,
        src: ClockLike,
        dst: ClockLike,
        *,
        policy: PolicyName = "floor",
        bars: Bars = "estimated",
        bounds: bool = False,
        errors: OnError = "raise",
        near: ClockTimes | None = None,
    ) -> Result | Bounds[Result]:
        """Convert timestamps of one clock to another, with every snapshot the graph holds.

        Args:
            ts: absolute readings of src in its unit: an int, a list, or a 1-d NumPy or Arrow array.
            src, dst: clocks: a ClockId, a name or a number.
            policy: "floor", Perfetto's rule, or "tube": drift corrected, with bars.
            bars: of the tube: "estimated", or "guaranteed" as long as the declared limits hold.
            bounds: return `Bounds(estimate, earliest, latest)` of the tube.
            errors: "raise", or "mask" to get null where a value does not convert; where it can
                mean two instants, the estimate alone is null, and the bounds hold both.
            near: (timestamps, clock): when that was, about: one for all, or one for each. It
                tells the wraps of a short counter apart (a src of less than 64 valid bits; its
                values from 0 up to its wrap are raw ones); without it, a value that more than one
                wrap of the snapshots' span has is ambiguous. For the tube.

        Returns:
            ns of dst (src's own unit where dst is src; by the tube ticks, where the ns_per_tick of
            dst is not 1): an int for an int (None where masked), an
            int64 ndarray of the same length for anything else; with "mask" a pyarrow Int64Array.
            With bounds, three of these.

        Raises:
            UsageError: ts are no whole numbers, no such policy, bars or clock; bounds of floor.
            ConversionError: a clock is unknown, there is no path, src has run backwards (floor)
                or a value of it can mean two instants (tube), or a result does not fit in int64.
        """
        check_policy(policy)
        check_bars(bars)
        if policy != "tube" and (bounds or near is not None):
            what = "bounds" if bounds else "near"
            raise UsageError(f"only the tube has {what}: convert with policy='tube'")
        if errors not in ("raise", "mask"):
            raise UsageError(f"errors is 'raise' or 'mask', not {errors!r}")
        given = take(ts)
        source, target = clock_of_caller(src), clock_of_caller(dst)
        mask = errors == "mask"
        if given.missing is not None and not mask:
            raise UsageError("there are nulls among the timestamps: convert with errors='mask'")
        results: tuple[npt.NDArray[np.int64], ...]
        try:
            if policy == "tube":
                reached = self._bounded(given.values, source, target, bars, near)
                results = reached[:3]
                bad = reached.status if reached.status.any() else None
            else:
                values, bad = self._converted(given, source, target)
                results = (values,)
        except ConversionError as error:
            if not mask:
                raise self._by_name(error) from None
            results = (np.zeros_like(given.values),) * 3
            bad = np.full(len(given.values), OVERFLOW, dtype=np.uint8)
        if bad is not None and not mask:
            raise self._unconverted(given, source, target, bad, *results[1:])
        estimate = given.shaped(results[0], bad, mask)
        if not bounds:
            return estimate
        # Two instants have no estimate, but a bar that holds both.
        unbounded = None if bad is None else bad & (bad != AMBIGUOUS_SOURCE)
        return Bounds(estimate, *(given.shaped(side, unbounded, mask) for side in results[1:]))

    def _unconverted(
        self,
        given: Given,
        source: ClockId,
        target: ClockId,
        bad: npt.NDArray[np.uint8],
        *bar: npt.NDArray[np.int64],
    ) -> ConversionError:
        """What to raise for the first value that is marked; bar: its earliest and latest."""
        first = int(np.flatnonzero(bad)[0])
        which = f"{source} {given.values[first]}" + ("" if given.scalar else f" (index {first})")
        reason = AMBIGUOUS_SOURCE if bad[first] == AMBIGUOUS_SOURCE else OVERFLOW
        if reason == AMBIGUOUS_SOURCE:
            why = (
                "was set back"
                if self._tubes().counter(source) is None
                else "wrapped; say near which time it was (near)"
            )
            text = f"{which} can mean two instants of {target}"
            if bar:
                text += f", between {bar[0][first]} and {bar[1][first]}"
            text += f": {source} {why}"
        else:
            text = f"{which} converted to {target} does not fit in int64"
        return self._by_name(ConversionError(text, REASONS[reason]))

    def _bounded(
        self,
        values: npt.NDArray[np.int64],
        source: ClockId,
        target: ClockId,
        bars: Bars,
        near: ClockTimes | None = None,
    ) -> Reached:
        """Values on the target with their bars; status says where there is none."""
        if source == target:
            own = values.copy()
            return Reached(own, own, own, np.zeros(len(values), dtype=np.uint8))
        with self._lock:
            policy = self._tubes()
            unit_ns = self._unit_ns(source)
            span = None if near is None else self._span(near, source, len(values))
            source_ns, bad = np.empty_like(values), np.zeros(len(values), dtype=np.uint8)
            scale(values, unit_ns, source_ns, bad)
            reached = policy.convert(source_ns, source, target, bars, span)[0]
        return reached._replace(status=np.where(bad, np.uint8(OVERFLOW), reached.status))

    def _span(self, near: ClockTimes, source: ClockId, n: int) -> Near:
        """The readings of `source` at the times of `near`."""
        if not (isinstance(near, (tuple, list)) and len(near) == 2):
            raise UsageError(f"near is (timestamps, clock), not {near!r}")
        times, clock = take(near[0]), clock_of_caller(near[1])
        if times.missing is not None or not (times.scalar or len(times.values) == n):
            raise UsageError(f"near is one timestamp, or {n} of them without nulls")
        there = self._bounded(times.values, clock, source, "estimated")

        def span(_: Counter) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
            return np.broadcast_to(there.earliest, n), np.broadcast_to(there.latest, n)

        return span

    def _unit_ns(self, clock: ClockId) -> int:
        self._refresh()
        if self._infos is None:
            self._infos = {info.clock: info for info in self.clocks()}
        info = self._infos.get(clock)
        return 1 if info is None else info.unit_ns

    def _tubes(self) -> TubePolicy:
        """The tube policy for the graph as it is now."""
        self._refresh()
        if self._bounds is None:
            messages: dict[ClockId, list[ClockId]] = {}
            for one, other in self._between.pairs():
                messages.setdefault(one, []).append(other)
                messages.setdefault(other, []).append(one)
            neighbours = Neighbours(
                lambda c: self._beside(c).union(messages.get(c, ())),
                lambda c: len(self._beside(c, 2).union(messages.get(c, ()))) > 1,
            )
            ticks = Ticks(self._readings, self._events, self._shared, neighbours, self._unit_ns)
            pairs = Pairs(
                self._shared, self._measured, self._between, self.domain, self._unit_ns, neighbours,
                ticks.of, self._readings, self._most_tubes,
            )  # fmt: skip
            machines = Machines(
                self._mixed_series,
                self._between.pairs(),
                lambda one, other: bool(len(pairs.shared(one, other)[0])),
            )
            self._numbered()
            reach = Reach(self._engine, self._numbers, self._between.pairs(), self._most_tubes)
            self._bounds = TubePolicy(pairs, neighbours, machines, reach)
        return self._bounds

    def _mixed_series(self) -> Iterator[list[ClockId]]:
        """The lists of clocks of several machines that snapshots have had."""
        ids = self._numbered()
        for numbers, _ in view.series(self._engine, mixed=True):
            yield [ids[number] for number in numbers]

    def _beside(self, clock: ClockId, enough: int = INT64_MAX) -> set[ClockId]:
        """The clocks that one shares snapshots with; of very many `enough`."""
        ids = self._numbered()
        # A file of a graph may hold two that are one clock here.
        return {
            ids[other]
            for number in self._numbers.get(clock, ())
            for other in view.neighbours(self._engine, number, enough)
        } - {clock}

    def _readings(self, clock: ClockId) -> Values:
        return view.readings_of(self._engine, self._key(clock))

    def _shared(self, one: ClockId, other: ClockId) -> tuple[Any, Any, Any]:
        return shared_snapshots.pairs(self._engine, self._key(one), self._key(other))

    @overload
    def order(
        self,
        one: tuple[int | np.integer[Any], ClockLike],
        other: tuple[int | np.integer[Any], ClockLike],
    ) -> int: ...

    @overload
    def order(self, one: tuple[IntArray, ClockLike], other: ClockTimes) -> npt.NDArray[np.int8]: ...

    @overload
    def order(self, one: ClockTimes, other: tuple[IntArray, ClockLike]) -> npt.NDArray[np.int8]: ...

    def order(self, one: ClockTimes, other: ClockTimes) -> int | npt.NDArray[np.int8]:
        """Which of two (timestamp, clock) comes first: -1, 1, or 0 where the bars leave it open.

        Timestamps of one clock compare exactly. Where a clock was set back, a reading that it said
        twice is taken for either.

        Args:
            one, other: (timestamps, clock), timestamps as for `convert`: an int, or as many as the
                other has.

        Returns:
            an int for two ints, else an int8 ndarray.

        Raises:
            UsageError, ConversionError: as `convert` with the tube; arrays of different lengths,
                or what is no pair.
        """
        for side in (one, other):
            if not (isinstance(side, (tuple, list)) and len(side) == 2):
                raise UsageError(f"order compares (timestamps, clock) with as many, not {side!r}")
        (ts_one, clock_one), (ts_other, clock_other) = one, other
        first, second = clock_of_caller(clock_one), clock_of_caller(clock_other)
        mine, theirs = take(ts_one), take(ts_other)
        if mine.missing is not None or theirs.missing is not None:
            raise UsageError("there are nulls among the timestamps: order compares whole numbers")
        if not (mine.scalar or theirs.scalar or len(mine.values) == len(theirs.values)):
            raise UsageError(
                f"order compares as many timestamps with as many: {len(mine.values)} with "
                f"{len(theirs.values)}"
            )
        earliest = latest = mine.values
        low = high = theirs.values
        if first != second:
            try:
                with self._lock:
                    line = self._tubes().reference(first, second)
            except ConversionError as error:
                raise self._by_name(error) from None
            earliest, latest = self._on_the_line(mine, first, line)
            low, high = self._on_the_line(theirs, second, line)
        signs = (earliest > high).astype(np.int8) - (latest < low)
        return signs.item() if mine.scalar and theirs.scalar else signs

    def _on_the_line(
        self, given: Given, clock: ClockId, line: ClockId
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """The bars of readings on `line`; of what a clock set back said twice, about both."""
        if clock == line:
            there = self._as_told(given.values, clock)
            return there, there
        reached = self._bounded(given.values, clock, line, "estimated")
        bad = reached.status
        if bad.any() and self._tubes().counter(clock) is None:
            bad = np.where(bad == AMBIGUOUS_SOURCE, np.uint8(0), bad)
        if bad.any():
            raise self._unconverted(given, clock, line, bad, *reached[1:3])
        return reached.earliest, reached.latest

    def _as_told(self, values: npt.NDArray[np.int64], clock: ClockId) -> npt.NDArray[np.int64]:
        """Readings as bars tell them: in ns, those of a short counter counted on where it wraps.

        What is beyond int64 is taken to its end.
        """
        with self._lock:
            unit_ns = self._unit_ns(clock)
            counter = self._tubes().counter(clock)
        there, _ = saturated_ns(values, Fraction(unit_ns))
        if counter is None:
            return there
        first, last = counter.wraps_of(there)
        if (first != last).any():
            raise ConversionError(
                f"{clock} {values[int(np.argmax(first != last))]} can mean two instants: {clock} "
                "wrapped; convert it, saying near which time it was (near)",
                REASONS[AMBIGUOUS_SOURCE],
            )
        return first

    def discontinuities(self) -> list[PairDiscontinuity]:
        """Suspends, steps, resets, outliers and changes of rate, each with its zone and size.

        Found between every clock and the one its snapshots are ordered along: the trace clock
        where a series has it, else the steadiest clock of the series. Clocks of CPU time, which
        old traces have, run as the work comes and are left out.
        """
        return self._tubes().discontinuities(self._eventful())

    def _eventful(self) -> list[tuple[ClockId, ClockId]]:
        """The pairs of `compared` to which anything may have happened.

        The others' tubes need not be made.
        """
        listed = self._listed()
        ones, others = listed.compared()
        nodes = self._nodes()
        steady = shared_snapshots.steady(self._engine, nodes[ones], nodes[others])
        plain = np.array([self._is_plain(clock) for clock in listed.clocks], dtype=bool)
        eventful = ~(steady.astype(bool) & plain[ones] & plain[others])
        pairs = zip(ones[eventful].tolist(), others[eventful].tolist(), strict=True)
        return [(listed.clocks[one], listed.clocks[other]) for one, other in pairs]

    def _beside_partners(self) -> tuple[Values, Values, Values]:
        """By place of a clock, what it reads in the snapshots that it shares with its partner.

        How many readings, the least and the greatest; of none INT64_MAX and INT64_MIN.
        """
        partners, nodes = self._listed().partners(), self._nodes()
        there = partners >= 0
        n, least, greatest = (np.full(len(nodes), v) for v in (0, INT64_MAX, INT64_MIN))
        found = shared_snapshots.beside(self._engine, nodes[there], nodes[partners[there]])
        n[there], least[there], greatest[there] = found.T
        return n, least, greatest

    def _is_plain(self, clock: ClockId) -> bool:
        """Whether a clock counts ns, and all that is known of it is what snapshots say it read."""
        return (
            clock not in self._domains
            and ClockDomain.rate_of_kind(clock) is not None
            and not self._measured.tells(clock)
        )

    def compared(self) -> list[tuple[ClockId, ClockId]]:
        """(hub, clock) of the pairs that `discontinuities` looks at, in order."""
        with self._lock:
            self._refresh()
            if self._compared is None:
                listed = self._listed()
                pairs = zip(*(side.tolist() for side in listed.compared()), strict=True)
                self._compared = [
                    (listed.clocks[one], listed.clocks[other]) for one, other in pairs
                ]
            return list(self._compared)

    def inconsistencies(self) -> list[Inconsistency]:
        """Loops of clocks whose two ways do not meet: snapshots contradict each other.

        Of very many loops the first 1,024 are compared.
        """
        return self._inconsistencies()[0]

    def _inconsistencies(self) -> tuple[list[Inconsistency], bool]:
        """These, and whether there are loops that were not compared."""
        messages = self._between.pairs()
        loopless = self._listed().loopless(messages)
        lists: Iterable[tuple[ClockId, ...]] = ()
        if not loopless.issuperset(self._listed().clocks):
            lists = (clocks for clocks, _ in self.series())
        tied = chain(lists, messages)
        return self._tubes().inconsistencies(
            [clocks for clocks in tied if loopless.isdisjoint(clocks)]
        )

    def _converted(
        self, given: Given, source: ClockId, target: ClockId
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.uint8] | None]:
        """Converted values, and marks where they overflow, if any does."""
        if source == target:
            return given.values.copy(), None
        unit_ns, hops = self._route(source, target)
        out = np.empty_like(given.values)
        # Most arrays overflow nowhere: marks are only made where the first try says so.
        for bad in (None, np.zeros(len(out), dtype=np.uint8)):
            values, overflowed = given.values, False
            if unit_ns != 1:
                overflowed = scale(values, unit_ns, out, bad)
                values = out
            for hop in hops:
                overflowed |= hop.convert(values, out, bad)
                values = out
            if not overflowed:
                return out, None
        return out, bad

    def path(self, src: ClockLike, dst: ClockLike, policy: PolicyName = "floor") -> list[ClockId]:
        """The clocks that a conversion goes through, src first and dst last.

        Raises:
            UsageError, ConversionError: as `convert`.
        """
        check_policy(policy)
        source, target = clock_of_caller(src), clock_of_caller(dst)
        if source == target:
            return [source]
        try:
            if policy == "tube":
                return list(self._tubes().path(source, target))
            _, hops = self._route(source, target)
        except ConversionError as error:
            raise self._by_name(error) from None
        return [source, *(hop.target for hop in hops)]

    def explain(
        self,
        ts: int,
        src: ClockLike,
        dst: ClockLike,
        *,
        policy: PolicyName = "floor",
        bars: Bars = "estimated",
        near: ClockTimes | None = None,
    ) -> Explanation | TubeExplanation:
        """One conversion, hop by hop; by the tube with its bar, and where that comes from.

        Raises:
            UsageError, ConversionError: as `convert`.
        """
        result = self.convert(ts, src, dst, policy=policy, bars=bars, near=near)
        if not isinstance(result, int):
            raise UsageError("explain takes one timestamp, an int")
        source, target = clock_of_caller(src), clock_of_caller(dst)
        value = take(ts).values.item()
        if policy == "tube":
            if source == target:
                return TubeExplanation(
                    value, source, target, bars, [], result, result, result, self.names,
                    unit_of(self, source),
                )  # fmt: skip
            source_ns = value * self._unit_ns(source)
            span = None if near is None else self._span(near, source, 1)
            return self._tubes().explain(value, source_ns, source, target, bars, self.names, span)
        if source == target:
            own = unit_of(self, source)
            return Explanation(value, 1, source, target, [], result, self.names, own, own)
        unit_ns, hops = self._route(source, target)
        steps: list[Hop] = []
        for hop in hops:
            rates = (
                ns_per_tick(self, hop.source, hop.target),
                ns_per_tick(self, hop.target, hop.source),
            )
            ns = steps[-1].value_ns_after if steps else value * unit_ns
            steps.append(floor_step(hop, ns, *rates))
        return Explanation(
            value, unit_ns, source, target, steps, result, self.names, steps[0].src_unit,
            steps[-1].dst_unit,
        )  # fmt: skip

    def curves(
        self,
        src: ClockLike,
        dst: ClockLike,
        span: tuple[int, int] | None = None,
        origin_ns: int | None = None,
        most: int | None = None,
    ) -> Curves:
        """What a picture of two clocks that share snapshots shows; see `graph.tube.curves`.

        Raises:
            UsageError, ConversionError: as `convert` with the tube; they share no snapshot.
        """
        from tracetime.graph.tube.curves import MOST_POINTS, curves

        hub, clock = clock_of_caller(src), clock_of_caller(dst)
        if hub == clock:
            raise UsageError(f"{hub} beside itself: name two clocks")
        with self._lock:
            pair = self._tubes().pair(hub, clock)
            return curves(pair, hub, span, origin_ns, most or MOST_POINTS)

    def plot(self, src: ClockLike, dst: ClockLike) -> UIElement:
        """Draw the offset of dst against src over the time of src: a Bokeh figure.

        With the tube and its bars, snapshots and discontinuities; below it drift, and how wide the
        bars are beside what floor is off by. `tracetime report` shows the same.

        Raises:
            UsageError: Bokeh is not installed (`pip install 'tracetime[report]'`); no such clock.
            ConversionError: the two share no snapshot.
        """
        from tracetime.reporting.plot import pair_figure

        drawn = self.curves(src, dst)
        return pair_figure(drawn, self.name(drawn.hub), self.name(drawn.clock))

    def name(self, clock: ClockId) -> str:
        """What a clock is called: its declared name, or its id."""
        # What is taken of a clock's kind has no name, and takes long to make up.
        declared = self._domains.get(clock)
        return (None if declared is None else declared.name) or str(clock)

    def _by_name(self, error: ConversionError) -> ConversionError:
        """The same error, in which clocks go by their names."""
        return ConversionError(named(error.message, self.names), error.reason)

    def clocks(self) -> list[ClockInfo]:
        """Every clock that a snapshot has named, in Perfetto's order."""
        with self._lock:
            self._refresh()
            if self._clocks is None:
                ids = self._numbered()
                told = (ClockInfo(ids[facts[0]], *facts[1:]) for facts in view.clocks(self._engine))
                self._clocks = sorted(told, key=lambda info: info.clock.order())
            return list(self._clocks)

    def series(self) -> list[SeriesInfo]:
        """The ordered lists of clocks that snapshots have had, in order of appearance."""
        with self._lock:
            self._refresh()
            if self._series is None:
                ids = self._numbered()
                self._series = [
                    SeriesInfo(tuple([ids[number] for number in numbers]), snapshots)
                    for numbers, snapshots in view.series(self._engine)
                ]
            return list(self._series)

    def _numbered(self) -> list[ClockId]:
        """The clocks by the engine's number."""
        with self._lock:
            for key in view.keys(self._engine, len(self._ids)):
                clock = self._clock(key)
                self._numbers.setdefault(clock, []).append(len(self._ids))
                self._ids.append(clock)
            return self._ids

    def readings(self) -> Iterator[Readings]:
        """Every reading of every snapshot; a clock comes once for each list of clocks it is in."""
        for index in range(view.n_columns(self._engine)):
            key, snapshots, values_ns = view.column_of(self._engine, index)
            clock = self._clock(key)
            read = self._measured.reads(clock, snapshots)
            yield Readings(clock, snapshots, values_ns, read.centre, read.half)

    def _every_reading(self) -> tuple[Values, Values]:
        """(place of the clock among `clocks`, ns) of every reading of every snapshot."""
        which, values_ns = view.every_reading(self._engine)
        return self._places()[which], values_ns

    def _listed(self) -> Listed:
        """Which clocks stand in which of `series`."""
        with self._lock:
            self._refresh()
            if self._lists is None:
                clocks = list(dict.fromkeys(info.clock for info in self.clocks()))
                lists = (numbers for numbers, _ in view.series(self._engine))
                self._lists = Listed(clocks, lists, self._places(), self._trace_clock)
            return self._lists

    def _places(self) -> Values:
        """By the engine's number of a clock, its place among `clocks`, each once; -1: not there."""
        clocks = dict.fromkeys(info.clock for info in self.clocks())
        place = {clock: k for k, clock in enumerate(clocks)}
        return np.array([place.get(clock, -1) for clock in self._numbered()], dtype=np.int64)

    def _nodes(self) -> Values:
        """By place of a clock, the engine's number of what is converted from it."""
        nodes = {}
        for number, (key, clock) in enumerate(
            zip(view.keys(self._engine, 0), self._numbered(), strict=True)
        ):
            if clock not in nodes or key == self._key(clock):
                nodes[clock] = number
        return np.array([nodes[clock] for clock in self._listed().clocks], dtype=np.int64)

    def edges(self) -> list[tuple[ClockId, ClockId, int]]:
        """(source, target, snapshots) for all that converts in one hop.

        A snapshot of n clocks makes n (n - 1) of them.
        """
        backwards = {info.clock for info in self.clocks() if not info.monotonic}
        counts: dict[tuple[ClockId, ClockId], int] = {}
        for clocks, snapshots in self.series():
            for source in clocks:
                for target in clocks:
                    if source != target and source not in backwards:
                        counts[source, target] = counts.get((source, target), 0) + snapshots
        return [(source, target, n) for (source, target), n in sorted(counts.items())]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write all the graph holds to a file, for `load`, which appears when it is complete.

        A file of NumPy's (.npz), uncompressed, with an array for each column of the readings:
        snapshot and clock by number, reading_ns, and, where anything is said of them, packet,
        centre_ns, half_width_ns (-1: not known) and frequency_scaled_ppm. What is no reading
        stands in it as graph.json.

        Args:
            path: of the file, replaced if it is there.

        Raises:
            UsageError: it cannot be written.
        """
        from tracetime.graph.storage.save import save

        save(self._parts(), path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> ClockGraph:
        """The graph of a file that `save` wrote: it answers as the one saved, and goes on as it.

        Raises:
            UsageError: the file cannot be read.
            TraceError: it is none that `save` wrote, is cut off or damaged, or of a later version
                of tracetime.
        """
        from tracetime.graph.storage.load import load

        return cls._of_state(load(path))

    def _parts(self) -> Parts:
        """What is saved of the graph."""
        from tracetime.graph.storage.save import parts_of

        with self._lock:
            return parts_of(
                GraphState(
                    self._engine, self._trace_clock, self._file, self._domains, self._measured,
                    self._between, self._events,
                )
            )  # fmt: skip

    @classmethod
    def _of_state(cls, state: GraphState) -> ClockGraph:
        graph = cls._of(state.engine, state.trace_clock, state.file)
        graph._domains = dict(state.domains)
        graph._measured, graph._between = state.measured, state.between
        graph._events = state.events
        return graph

    def __reduce__(self) -> tuple[Any, ...]:
        return from_bytes, (to_bytes(self),)

    def _repr_html_(self) -> str:
        from tracetime.graph.clock_names import graph_table

        return graph_table(self.clocks(), self.series(), self.name, self.trace_clock)

    def __repr__(self) -> str:
        names = ", ".join(self.name(info.clock) for info in self.clocks()[:6])
        return f"<ClockGraph of {len(self.clocks())} clocks: {names}>"

    def _key(self, clock: ClockId) -> tuple[int, int, int, int]:
        """A clock as the engine numbers it: only sequence-scoped ones are told apart by file."""
        file = self._file if clock.is_sequence_scoped and not clock.file else clock.file
        return clock.clock, clock.sequence, file, clock.machine

    def _clock(self, key: tuple[int, int, int, int]) -> ClockId:
        return clock_of(key, self._file)

    def _route(self, source: ClockId, target: ClockId) -> tuple[int, list[FloorHop]]:
        """The unit of the source, and the hops to the target."""
        with self._lock:
            return self._routed(source, target)

    def _routed(self, source: ClockId, target: ClockId) -> tuple[int, list[FloorHop]]:
        self._refresh()
        found = self._routes.get((source, target))
        if found is not None:
            return found
        if len(self._routes) >= _KEPT_ROUTES:
            self._routes.clear()
        try:
            status, unit_ns, hops = view.route(
                self._engine, self._key(source), self._router(target)
            )
        except TangledError as error:
            raise ConversionError(
                f"no path from {source} to {target}: {error}", "no_path"
            ) from error
        if status:
            if self._clocks is None:
                self.clocks()
            raise refusal(REASONS[status], source, target, self._clocks or ())
        route = [
            FloorHop.of(
                self._clock(here),
                self._clock(there),
                series,
                view.hop_columns(self._engine, *columns),
            )
            for here, there, columns, series in hops
        ]
        self._routes[source, target] = unit_ns, route
        return unit_ns, route

    def _router(self, target: ClockId) -> Router | None:
        if target not in self._routers:
            if len(self._routers) >= _KEPT_ROUTES:
                self._routers.clear()
            self._routers[target] = view.make_router(self._engine, self._key(target))
        return self._routers[target]

    def _strays(
        self, clocks: Sequence[ClockId], target: ClockId, spans_ns: Values | None = None
    ) -> Strays:
        """How far the offsets of clocks to a target strayed over the snapshots on floor's paths.

        Where the clocks are tied together in too many ways, nothing leads anywhere.

        Args:
            spans_ns: for each clock the least and the greatest reading of the target that matter,
                int64, (n, 2): offsets go on beyond snapshots as fast as they ever did.
        """
        with self._lock:
            self._refresh()
            keys = [self._key(clock) for clock in clocks]
            try:
                return Strays(
                    *shared_snapshots.strays(self._engine, keys, self._router(target), spans_ns)
                )
            except TangledError:
                return Strays(*shared_snapshots.strays(self._engine, keys, None))

    def _only_beside(self, clock: ClockId) -> set[ClockId]:
        """The clocks that snapshots of one kind alone have, which have this one, too."""
        ids = self._numbered()
        return {ids[number] for number in view.only_beside(self._engine, self._key(clock))}


def to_bytes(graph: ClockGraph) -> bytes:
    """The bytes of the file that `ClockGraph.save` writes."""
    from tracetime.graph.storage import save

    return save.to_bytes(graph._parts())


def from_bytes(data: bytes) -> ClockGraph:
    """The graph of `to_bytes`.

    Raises:
        TraceError: they are no such bytes.
    """
    from tracetime.graph.storage import load

    return ClockGraph._of_state(load.from_bytes(data))
