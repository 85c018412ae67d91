"""ClockGraph: clocks tied together by snapshots, and conversions between any two of them.

A kernel holds the snapshots (`_kernels/graph.pyx`). Here is the interface for callers: a coat of
`Graph` (`graph.py`), which does the work with the functions on it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, overload

import numpy as np
import numpy.typing as npt

from tracetime.clocks.domain import ClockDomain
from tracetime.clocks.ids import ClockId, ClockLike
from tracetime.clocks.snapshot import ReadingsByClock, Snapshot
from tracetime.errors import ConversionError, UsageError
from tracetime.graph import conversion, upper
from tracetime.graph.arguments import (
    ClockTimes,
    OnError,
    PolicyName,
    Time,
    TimeArray,
    Times,
    check_errors,
    check_policy,
    check_tube_only,
    checked_domain,
    clock_of_caller,
)
from tracetime.graph.facts import GraphFacts, readings, with_given_names
from tracetime.graph.graph import Graph
from tracetime.graph.state import GraphState
from tracetime.graph.tube.results import (
    Bars,
    Bounds,
    Inconsistency,
    Margin,
    PairDiscontinuity,
    check_bars,
)
from tracetime.graph.values import Result

_Order: TypeAlias = "int | npt.NDArray[np.int8] | pa.Int8Array"

if TYPE_CHECKING:
    import pyarrow as pa
    from bokeh.models import UIElement

    from tracetime.clocks.wall_time import FloatUnit
    from tracetime.columns.arrow_tables import SupportsArrowStream
    from tracetime.graph.curves import Curves
    from tracetime.graph.explanation import Explanation
    from tracetime.graph.tube.explanation import TubeExplanation


class ClockGraph(GraphFacts):
    """Clocks and the snapshots that tie them together.

    Every snapshot makes its clocks convertible to one another; a conversion takes the shortest
    path of at most 4 hops, and at each hop the nearest snapshot before the value (Perfetto's
    clock_synchronizer.cc). A clock whose reading is lower than its previous one among the same
    clocks has run backwards: it is a target from then on, never a source.

    Threads may share a graph, adding to it and converting at once.

    Args:
        trace_clock: a clock that must count nanoseconds and never run backwards; snapshots in which
            it does not are refused.
        domains: limits of clocks, for the tube's bars; a clock without one has those of its kind.
    """

    def __init__(
        self, trace_clock: ClockLike | None = None, domains: Iterable[ClockDomain] | None = None
    ) -> None:
        state = GraphState(
            trace_clock=None if trace_clock is None else clock_of_caller(trace_clock),
            domains={checked_domain(domain).id: domain for domain in domains or ()},
        )
        super().__init__(Graph(state))

    @classmethod
    def from_table(  # noqa: PLR0913  what the columns of a table are
        cls,
        table: SupportsArrowStream,
        readings: Mapping[str, ClockLike] | str,
        *,
        clock: str | None = None,
        snapshot: str | None = None,
        reference: ClockLike | None = None,
        half_width_ns: Mapping[str, int | str] | int | str | None = None,
        trace_clock: ClockLike | None = None,
        domains: Iterable[ClockDomain] | None = None,
        float_unit: FloatUnit | None = None,
    ) -> ClockGraph:
        """A graph of the snapshots in a table; see `graph.table_snapshots` for what it may be.

        Args:
            table: of pyarrow, pandas, polars or DuckDB.
            readings: the clock of each column, where a row is a snapshot (null: not read); or the
                one column of readings, where a row is a reading.
            clock, snapshot: of such rows, the columns that say of which clock and snapshot.
            reference: the clock that the others were bracketed by, as of `Snapshot`.
            half_width_ns: how far from it each was read: a number, or a column that has it; by
                column where a row is a snapshot.
            trace_clock, domains: as of `ClockGraph`.
            float_unit: as of `convert_table`.

        Raises:
            UsageError: no such table or columns; as `convert_table`, `Snapshot`, `add_snapshot`.
        """
        from tracetime.graph.table_snapshots import TableShape, snapshots_of

        graph = cls(trace_clock, domains)
        hub = None if reference is None else clock_of_caller(reference)
        within = graph._graph
        taking = (within.counts_ticks, within.state.take_names)
        shape = TableShape(readings, clock, snapshot, hub, half_width_ns, float_unit, *taking)
        for taken in snapshots_of(table, shape):
            graph.add_snapshot(taken)
        return graph

    def add_snapshot(self, snapshot: Snapshot | ReadingsByClock) -> None:
        """Add a snapshot, or as many as the arrays in it are long, in order.

        Args:
            snapshot: a Snapshot, or its readings: ``{clock: int, Reading or 1-d int64 array}``.

        Raises:
            UsageError: `Snapshot` refuses it; an incremental clock that is not sequence-scoped;
                a clock whose unit or incremental flag changed; a trace clock that went backwards
                or does not count nanoseconds. This snapshot and those after it in its arrays are
                not added; those before it are.
        """
        from tracetime.graph import adding

        adding.add_snapshot(self._graph, snapshot)

    def add_order(
        self,
        before: ClockTimes,
        after: ClockTimes,
        *,
        min_delay_ns: Times = 0,
        max_delay_ns: Times | None = None,
    ) -> None:
        """Add that readings of one clock happened before those of another.

        A message is sent before it is received, a kernel launched before it runs. Orders bound
        the two clocks for the tube, without any snapshot; floor does not use them.

        Args:
            before, after: (timestamps, clock), raw readings: an int each, or 1-d int64 arrays of
                one length, one order an element.
            min_delay_ns, max_delay_ns: how much later the second reading happened at least, and
                at most where that is known: an int, or one each.

        Raises:
            UsageError: one clock on both sides; lengths that differ; no whole numbers within
                int64; a negative delay, one of more than a year, a greatest one below the least;
                a clock of less than 64 valid bits. Nothing is added.
        """
        from tracetime.graph import adding

        adding.add_order(self._graph, before, after, min_delay_ns, max_delay_ns)

    def add_pings(
        self,
        local: ClockLike,
        remote: ClockLike,
        sent: Times,
        received: Times,
        replied: Times,
        returned: Times,
    ) -> None:
        """Add two orders a ping: sent before received, and replied before returned.

        Do not add a ping that is a snapshot of the graph, too: it would count twice.

        Args:
            local, remote: the clock of the side that asks, and of the one that replies.
            sent, returned: raw readings of local; an int each, or 1-d int64 arrays of one length.
            received, replied: raw readings of remote, likewise.

        Raises:
            UsageError: as `add_order`; a ping that returned before it was sent, or was replied to
                before it was received. Nothing is added.
        """
        from tracetime.graph import adding

        adding.add_pings(self._graph, (local, remote), (sent, received, replied, returned))

    def add_together(self, starts: Iterable[ClockTimes], ends: Iterable[ClockTimes]) -> None:
        """Add that no start happened after any end, as of ranks that wait for each other.

        Args:
            starts, ends: (timestamps, clock) each, raw readings: ints or 1-d int64 arrays.

        Raises:
            UsageError: as `add_order`; a start after an end of the same clock. Nothing is added.
        """
        from tracetime.graph import adding

        adding.add_together(self._graph, starts, ends)

    @overload
    def convert(
        self,
        ts: Time,
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
        ts: Time,
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
        ts: Time,
        src: ClockLike,
        dst: ClockLike,
        *,
        policy: PolicyName = ...,
        bars: Bars = ...,
        bounds: Literal[True],
        errors: Literal["raise"] = ...,
        near: ClockTimes | None = ...,
    ) -> Bounds[int, int | None]: ...

    @overload
    def convert(
        self,
        ts: Time,
        src: ClockLike,
        dst: ClockLike,
        *,
        policy: PolicyName = ...,
        bars: Bars = ...,
        bounds: Literal[True],
        errors: Literal["mask"],
        near: ClockTimes | None = ...,
    ) -> Bounds[int | None, int | None]: ...

    @overload
    def convert(
        self,
        ts: TimeArray,
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
        ts: TimeArray,
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
        ts: TimeArray,
        src: ClockLike,
        dst: ClockLike,
        *,
        policy: PolicyName = ...,
        bars: Bars = ...,
        bounds: Literal[True],
        errors: Literal["raise"] = ...,
        near: ClockTimes | None = ...,
    ) -> Bounds[npt.NDArray[np.int64], npt.NDArray[np.int64]]: ...

    @overload
    def convert(
        self,
        ts: TimeArray,
        src: ClockLike,
        dst: ClockLike,
        *,
        policy: PolicyName = ...,
        bars: Bars = ...,
        bounds: Literal[True],
        errors: Literal["mask"],
        near: ClockTimes | None = ...,
    ) -> Bounds[pa.Int64Array, pa.Int64Array]: ...

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
    ) -> Result | Bounds[Result, Result]:
        """Convert timestamps of one clock to another, with every snapshot the graph holds.

        Args:
            ts: absolute readings of src in its unit: an int, a list, or a 1-d NumPy or Arrow array,
                or a Series. Of a wall clock also dates and times, exact to the ns: datetime64,
                datetimes, pandas' Timestamps, Arrow's timestamps, and texts such as
                2026-08-22T14:48:40.5+02:00. Without a zone they are UTC; NaT is a null.
            src, dst: clocks: a ClockId, a name or a number.
            policy: "floor", Perfetto's rule, or "tube": drift corrected, with bars.
            bars: of the tube: "estimated", or "guaranteed" as long as the declared limits hold.
            bounds: return `Bounds(estimate, earliest, latest)` of the tube; a side that nothing
                bounds (all messages go one way) is None or null, in an ndarray the end of int64.
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
            Of pandas' Series, a Series with its index (with "mask" of Int64, which has nulls).
            With bounds, three of these.

        Raises:
            UsageError: ts are no whole numbers, or dates and times of no wall clock; no such
                policy, bars or clock; bounds of floor.
            ConversionError: a clock is unknown, there is no path, src has run backwards (floor)
                or a value of it can mean two instants (tube), or a result does not fit in int64.
        """
        check_policy(policy)
        check_bars(bars)
        check_tube_only(policy, bounds, near)
        check_errors(errors)
        source, target, mask = self.clock(src), self.clock(dst), errors == "mask"
        given = readings(self._graph, ts, source)
        try:
            if policy == "floor":
                return conversion.by_floor(self._graph, given, source, target, mask=mask)
            request = conversion.Request(given, source, target, bars, near)
            if bounds:
                return conversion.bounds_by_tube(self._graph, request, mask=mask)
            return conversion.by_tube(self._graph, request, mask=mask)
        except ConversionError as error:
            raise with_given_names(self._graph, error, src, dst) from None

    @overload
    def order(
        self,
        one: tuple[Time, ClockLike],
        other: tuple[Time, ClockLike],
        *,
        bars: Bars = ...,
        margin: Literal[False] = ...,
        errors: Literal["raise"] = ...,
    ) -> int: ...

    @overload
    def order(
        self,
        one: tuple[TimeArray, ClockLike],
        other: ClockTimes,
        *,
        bars: Bars = ...,
        margin: Literal[False] = ...,
        errors: Literal["raise"] = ...,
    ) -> npt.NDArray[np.int8]: ...

    @overload
    def order(
        self,
        one: ClockTimes,
        other: tuple[TimeArray, ClockLike],
        *,
        bars: Bars = ...,
        margin: Literal[False] = ...,
        errors: Literal["raise"] = ...,
    ) -> npt.NDArray[np.int8]: ...

    @overload
    def order(
        self,
        one: tuple[Time, ClockLike],
        other: tuple[Time, ClockLike],
        *,
        bars: Bars = ...,
        margin: Literal[True],
        errors: Literal["raise"] = ...,
    ) -> Margin[int, int | None]: ...

    @overload
    def order(
        self,
        one: ClockTimes,
        other: ClockTimes,
        *,
        bars: Bars = ...,
        margin: bool = ...,
        errors: OnError = ...,
    ) -> Any: ...

    def order(
        self,
        one: ClockTimes,
        other: ClockTimes,
        *,
        bars: Bars = "estimated",
        margin: bool = False,
        errors: OnError = "raise",
    ) -> _Order | Margin[_Order, Result]:
        """Compare two (timestamp, clock): -1, 1, or 0 where the bars overlap.

        Timestamps of one clock compare exactly, unless it was set back, reset or wrapped and may
        have read them before that or after it: then by all instants that each can be. Those of a
        clock that wraps are undecided, 0, where its snapshots do not say how often it did.

        Args:
            one, other: (timestamps, clock), timestamps as for `convert`: one, or as many as the
                other has.
            bars: "estimated" or "guaranteed", as for `convert`. By guaranteed ones, the order is
                certain where limits and half-widths are declared or were recorded.
            margin: return a `Margin(order, least_ns, most_ns)`: how far apart they are, too, by
                the steadier of the two clocks, or by one that was not set back.
            errors: as for `convert`.

        Returns:
            an int for two timestamps, else an int8 ndarray, or what `convert` returns in its place.

        Raises:
            UsageError, ConversionError: as `convert` with the tube; arrays of different lengths,
                a side that is not a pair, or no such bars.
        """
        # It loads the tube, which the floor policy does not need.
        from tracetime.graph import ordering

        check_errors(errors)
        return ordering.order(self._graph, one, other, bars, mask=errors == "mask", margin=margin)

    def discontinuities(self) -> list[PairDiscontinuity]:
        """Suspends, steps, resets, outliers and changes of rate, each with its zone and size.

        Found between every clock and the one its snapshots are ordered along: the trace clock
        where a series has it, else the steadiest clock of the series; and between clocks with
        orders. Clocks of CPU time, which old traces have, stop and go with the work, and are left
        out.
        """
        from tracetime.graph import comparison

        pairs = comparison.eventful(self._graph)
        return list(self._graph.tubes.discontinuities(pairs))

    def compared(self) -> list[tuple[ClockId, ClockId]]:
        """(reference, clock) of the pairs that `discontinuities` examines, in order."""
        with self._graph.lock:
            return list(self._graph.contents.compared())

    def inconsistencies(self) -> list[Inconsistency]:
        """Loops of clocks whose two paths disagree: snapshots contradict each other.

        Of very many loops the first 1,024 are compared.
        """
        from tracetime.graph import comparison

        return comparison.inconsistencies(self._graph)[0]

    def path(self, src: ClockLike, dst: ClockLike, policy: PolicyName = "floor") -> list[ClockId]:
        """The clocks of a conversion's path, src first and dst last.

        Raises:
            UsageError, ConversionError: as `convert`.
        """
        check_policy(policy)
        source, target = self.clock(src), self.clock(dst)
        try:
            return self._graph.path(source, target, policy)
        except ConversionError as error:
            named = conversion.by_name(self._graph, error)
            raise with_given_names(self._graph, named, src, dst) from None

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
        """One conversion, hop by hop; by the tube with its bar and the evidence for it.

        Raises:
            UsageError, ConversionError: as `convert`.
        """
        check_policy(policy)
        check_bars(bars)
        check_tube_only(policy, False, near)
        source, target = self.clock(src), self.clock(dst)
        given = readings(self._graph, ts, source)
        try:
            if policy == "floor":
                return conversion.explain_by_floor(self._graph, given, source, target)
            request = conversion.Request(given, source, target, bars, near)
            return conversion.explain_by_tube(self._graph, request)
        except ConversionError as error:
            raise with_given_names(self._graph, error, src, dst) from None

    def curves(
        self,
        src: ClockLike,
        dst: ClockLike,
        span: tuple[int, int] | None = None,
        origin_ns: int | None = None,
        most: int | None = None,
    ) -> Curves:
        """The curves of a figure of two clocks that share snapshots; see `graph.curves`.

        Raises:
            UsageError, ConversionError: as `convert` with the tube; they share no snapshot.
        """
        from tracetime.graph.curves import MOST_POINTS, curves

        reference, clock = self.clock(src), self.clock(dst)
        if reference == clock:
            raise UsageError(f"{reference} is compared with itself: name two clocks")
        with self._graph.lock:
            tubes = self._graph.tubes
            pair = tubes.pair(reference, clock)
            return curves(tubes, pair, reference, span, origin_ns, most or MOST_POINTS)

    def plot(self, src: ClockLike, dst: ClockLike) -> UIElement:
        """Draw the offset of dst against src over the time of src: a Bokeh figure.

        With the tube and its bars, snapshots and discontinuities; below it the drift, the width of
        the bars and the error of floor. `tracetime report` has the same figure.

        Raises:
            UsageError: Bokeh is not installed (`pip install 'tracetime[report]'`); no such clock.
            ConversionError: the two share no snapshot.
        """
        drawn = self.curves(src, dst)
        figure: UIElement = upper("pair_figure")(
            drawn, self.name(drawn.hub), self.name(drawn.clock)
        )
        return figure

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the graph to a file for `load`; the file appears when it is complete.

        An uncompressed file of NumPy (.npz), with an array for each column of the readings:
        snapshot and clock by number, reading_ns, and, where they are known, packet, centre_ns,
        half_width_ns (-1: not known) and frequency_scaled_ppm. graph.json in it has the rest.

        Args:
            path: of the file, replaced if it is there.

        Raises:
            UsageError: it cannot be written.
        """
        from tracetime.graph.storage.save import contents_of, save

        with self._graph.lock:
            contents = contents_of(self._graph.state)
        save(contents, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> ClockGraph:
        """The graph of a file that `save` wrote, with the same answers; it takes further snapshots.

        Raises:
            UsageError: the file cannot be read.
            TraceError: `save` did not write it, it is cut off or damaged, or a later version of
                tracetime wrote it.
        """
        from tracetime.graph.storage.load import load

        return coat(Graph(load(path)))

    def __reduce__(self) -> tuple[Any, ...]:
        return from_bytes, (to_bytes(self),)


def coat(graph: Graph) -> ClockGraph:
    """Return a graph as callers have it; its trace clock may be any number that a trace gave."""
    clocks = ClockGraph.__new__(ClockGraph)
    GraphFacts.__init__(clocks, graph)
    return clocks


def inner(clocks: ClockGraph) -> Graph:
    """Return the graph in the coat that callers have."""
    return clocks._graph


def to_bytes(graph: ClockGraph) -> bytes:
    """The bytes of the file that `ClockGraph.save` writes."""
    from tracetime.graph.storage import save

    with graph._graph.lock:
        contents = save.contents_of(graph._graph.state)
    return save.to_bytes(contents)


def from_bytes(data: bytes) -> ClockGraph:
    """The graph of bytes that `to_bytes` made.

    Raises:
        TraceError: `to_bytes` did not make them.
    """
    from tracetime.graph.storage import load

    return coat(Graph(load.from_bytes(data)))
