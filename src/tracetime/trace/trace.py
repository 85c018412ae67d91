"""The class `Trace`, for any format: a clock graph, events on trace time, and its faults.

A format subclasses `Trace` (`formats/perfetto/` is one).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol, Self, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tracetime.clocks.ids import ClockId
from tracetime.errors import TraceError, TracetimeError, UsageError
from tracetime.graph import upper
from tracetime.graph.arguments import PolicyName, check_policy
from tracetime.graph.clock_graph import ClockGraph, inner
from tracetime.graph.tube.results import Bars, check_bars
from tracetime.text import html_text, printable
from tracetime.trace.error_bars import ErrorBars, PlacementObserver, TubeFaults
from tracetime.trace.events_table import (
    WALL_TIME,
    Columns,
    Vocabulary,
    record_batch,
    schema_of,
    wall_times,
)
from tracetime.trace.facts import FactsOf, TraceFacts
from tracetime.trace.open_options import OpenOptions

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

    from tracetime.trace.slice_ends import SliceEnds
    from tracetime.trace.slices_table import SliceReading, Slices


class WrittenSnapshots(NamedTuple):
    """The snapshots that a file lists, whether they were taken or not, and signs of its recorders.

    Attributes:
        readings: int64[7, n], in file order: packet, clock, sequence, machine index, timestamp,
            unit_ns, whether the packet names its machine.
        signs: int64[4, n], in file order: packet, offset, field of TracePacket, machine index;
            where Perfetto's recorders begin to write.
        left_out: how many of both there was no room for.
        firsts: int64[3, n], in file order: packets that say that they are the first of their
            sequence, the sequence, machine index.
    """

    readings: npt.NDArray[np.int64]
    signs: npt.NDArray[np.int64]
    left_out: int
    firsts: npt.NDArray[np.int64]


NOTHING_WRITTEN: Final = WrittenSnapshots(
    np.empty((7, 0), dtype=np.int64),
    np.empty((4, 0), dtype=np.int64),
    0,
    np.empty((3, 0), np.int64),
)


@dataclass(eq=False, slots=True)
class TraceReading:
    """One reading of a trace, from its start: yields columns, batch by batch.

    Attributes:
        batches: what it yields.
        names_left_out: how many names it had no room for; known at its end.
        written: the snapshots as the file lists them, where they were requested and the format
            keeps them; known at its end.
        late_wakings: int64[11, n], where `written` were requested: switches to threads whose waking
            on another CPU has a later time; see `LateWakings.table` of the kernels.
        flows: where `written` were requested, the events in flows, as `backward_flows` takes them.
        truncated: with `partial`, the error after which the rest was not read; known at its end.
        faults: see `Events`.
    """

    batches: Iterator[Columns]
    names_left_out: int = 0
    written: WrittenSnapshots = NOTHING_WRITTEN
    late_wakings: npt.NDArray[np.int64] = field(default_factory=lambda: np.empty((11, 0), np.int64))
    flows: list[npt.NDArray[np.int64]] = field(default_factory=list)
    truncated: TraceError | None = None
    faults: TubeFaults = field(default_factory=dict)

    def __iter__(self) -> Iterator[Columns]:
        return self.batches


class Events(Iterator[pa.RecordBatch]):
    """The events of a trace, batch by batch, in file order; made by `Trace.events`.

    Attributes:
        schema: of every batch.
        faults: by clock and status (of `errors.REASONS`), why the tube could not place its events,
            and what to do; only where more can be said than that. Complete at the end.
    """

    def __init__(
        self,
        schema: pa.Schema,
        reading: TraceReading,
        batches: Generator[pa.RecordBatch, None, None],
    ) -> None:
        self.schema = schema
        self._reading = reading
        self._batches = batches
        self.faults = reading.faults

    def __next__(self) -> pa.RecordBatch:
        return next(self._batches)

    def close(self) -> None:
        """Stop reading; no batch follows."""
        self._batches.close()
        self._reading.batches = iter(())

    @property
    def names_left_out(self) -> int:
        """The number of names that there was no room for, or that were given up for others."""
        return self._reading.names_left_out


class Placing(Protocol):
    """The placing of a trace's events on a clock of a graph of several traces."""

    def error_bars(self, bars: Bars, faults: TubeFaults) -> ErrorBars:
        """The error bars that place rows there, and rows with a time of their own, if they can."""

    def times(self, trace_time: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """The times on that clock of times of the trace's own clock."""


_LISTED: Final = (
    "about",
    "clocks",
    "close",
    "events",
    "events_dropped",
    "facts",
    "format",
    "machines",
    "metadata",
    "n_warnings",
    "path",
    "read_all",
    "size",
    "slices",
    "sql",
    "to_pandas",
    "to_polars",
    "trace_clock",
    "truncated",
    "warnings",
)
"""What people ask a trace for; floors above ask for more."""


class Trace(TraceFacts, ABC):
    """One trace file, read on demand; close it, or use it in a `with`.

    A format gives `clocks`, `trace_clock`, `vocabulary` and `columns`. All else has a default: that
    of a trace of one machine without faults.

    Attributes:
        path: as given to `open_trace`.
        size: of the file on disk, bytes.
        domains: as given to `open_trace`.
        on_read: functions that are called with the byte position reached, whenever the file is
            read, by whatever reads it and in its thread, and at its end where more is to be done.
            What one raises ends that.
        inputs: opens the files that it is merged of, each alone, with their names; none of others.
        placing: where the tube puts its events while it is written as one of several; None: on its
            own trace clock.
    """

    def __init__(self, path: str, size: int, options: OpenOptions) -> None:
        self.path = path
        self.size = size
        self.options = options
        self.domains = options.domains
        self.on_read: list[Callable[[int], None]] = []
        self.inputs: Callable[[], Iterable[tuple[str, Trace]]] = tuple
        self.placing: Placing | None = None

    @property
    @abstractmethod
    def clocks(self) -> ClockGraph:
        """The clock graph with every snapshot of the file; reads the file if necessary."""

    @property
    @abstractmethod
    def trace_clock(self) -> ClockId:
        """The clock of trace time, as the end of the file has it."""

    @property
    @abstractmethod
    def vocabulary(self) -> Vocabulary:
        """The meanings of the codes in the columns."""

    @abstractmethod
    def columns(
        self,
        progress: Callable[[int], None] | None = None,
        *,
        names: bool = False,
        written: int = 0,
    ) -> TraceReading:
        """Read the file from its start: `events_table.Columns`, batch by batch.

        Args:
            progress: called with the byte position reached in the file.
            names: say what each row is, too, where the format can.
            written: keep so many readings of snapshots as the file lists them, where the format
                can: the doctor then finds exchanged clocks, and recordings that were joined.

        Raises:
            TraceError: as `events`, while it is read.
        """

    def as_written(self) -> Trace:
        """The trace for who places its events anew; this one where that is no other."""
        return self

    @property
    def truncated(self) -> TraceError | None:
        """With `partial`, the error after which the rest was not read.

        None before the end has been reached, or where there was none.
        """
        return None

    @property
    def has_slices(self) -> bool:
        """Whether slices are read of its format."""
        return type(self)._slice_batches is not Trace._slice_batches

    def prepare(self, names: bool) -> None:
        """Read what has to be known of the whole file before its events, unless it is known."""

    @abstractmethod
    def close(self) -> None:
        """Close the file."""

    @abstractmethod
    def check_open(self) -> None:
        """Raise UsageError once the trace is closed."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def facts(self) -> TraceFacts:
        """What a trace says of itself and its recorders: `trace.facts.early_kernels`, for one."""
        return cast(TraceFacts, FactsOf(self))

    def __dir__(self) -> list[str]:
        return [*_LISTED, *(name for name in super().__dir__() if name.startswith("__"))]

    def __repr__(self) -> str:
        # Reads nothing: a debugger calls it, too.
        return f"<Trace of {printable(self.path)}>"

    def _repr_html_(self) -> str:
        """Return the trace and its clocks for notebooks; reads the file if it has not been read."""
        path = html_text(self.path)
        try:
            time = f"<p>trace time is {html_text(self.clocks.name(self.trace_clock))}</p>"
            return f"<p>{path}</p>{time}{self.clocks._repr_html_()}"
        except TracetimeError as error:
            return f"<p>{path}: {html_text(str(error))}</p>"

    def events(
        self,
        policy: PolicyName = "floor",
        progress: Callable[[int], None] | None = None,
        *,
        bars: Bars = "estimated",
        names: bool = False,
        observer: PlacementObserver | None = None,
    ) -> Events:
        """Read the file from its start: every clocked item as a row, in file order.

        Follows Perfetto in what had been read at each point of the file; a packet that could not
        be converted there is placed with what is known at the end, in its place.

        Args:
            policy: "floor", Perfetto's rule, or "tube": the same rows, their trace_time the best
                estimate from all snapshots of the file, and how early and late it can have been.
                The file is read twice for it.
            progress: called with the byte position reached in the file.
            bars: of the tube, "estimated" or "guaranteed"; see `ClockGraph.convert`.
            names: say what each event is, too, in the columns of `NAMES_SCHEMA` after the others.
                The file is read twice for it: descriptors name what came before them.
            observer: by the tube, receives how far floor is from it.

        Returns:
            An iterator of RecordBatches of `EVENTS_SCHEMA`, about 65,536 rows each; with the tube,
            of `BOUNDED_SCHEMA`, where earliest and latest are null unless status is resolved. With
            names, each column of text has a dictionary of its own in every batch, and a batch has
            fewer rows where they hold much text.

        Raises:
            UsageError: no such policy or bars.
            TraceError: no trace, cut off, corrupt, or an error that ends Perfetto's import too.
        """
        reading = self.placed_columns(policy, progress, bars=bars, names=names, observer=observer)
        schema = schema_of(policy)
        batches = (record_batch(columns, self.vocabulary, schema) for columns in reading)
        return Events(schema_of(policy, names), reading, batches)

    def placed_columns(
        self,
        policy: PolicyName = "floor",
        progress: Callable[[int], None] | None = None,
        *,
        bars: Bars = "estimated",
        names: bool = False,
        observer: PlacementObserver | None = None,
    ) -> TraceReading:
        """Read the file from its start as `events` does, as columns."""
        check_policy(policy)
        check_bars(bars)
        self.check_open()
        reading = self.columns(progress, names=names)
        if policy == "tube":
            reading.batches = self._bounded(reading, reading.batches, names, bars, observer)
        return reading

    def _bounded(
        self,
        reading: TraceReading,
        batches: Iterator[Columns],
        names: bool,
        bars: Bars,
        observer: PlacementObserver | None,
    ) -> Iterator[Columns]:
        self.prepare(names)
        yield from map(self._error_bars(bars, reading.faults, observer).place, batches)

    def _error_bars(
        self, bars: Bars, faults: TubeFaults, observer: PlacementObserver | None = None
    ) -> ErrorBars:
        """Return the error bars that place rows by the tube; see `ErrorBars`."""
        if self.placing is not None:
            return self.placing.error_bars(bars, faults)
        graph, home = inner(self.clocks), self.trace_clock
        return ErrorBars(graph, home, self.machines, bars, faults, observer)

    def read_all(
        self, policy: PolicyName = "floor", *, bars: Bars = "estimated", names: bool = False
    ) -> pa.Table:
        """Return all events as one table; see `events`."""
        events = self.events(policy, bars=bars, names=names)
        table = pa.Table.from_batches(events, events.schema)
        return table.unify_dictionaries() if names else table

    def slices(
        self,
        policy: PolicyName = "floor",
        progress: Callable[[int], None] | None = None,
        *,
        bars: Bars = "estimated",
        args: bool = True,
    ) -> Slices:
        """Read the file from its start: its slices, with durations, tracks and parents.

        Begins and ends are matched, and complete events and instants (of no duration) nested, as
        Perfetto's trace_processor does: the same slices, in the order in which they began. Events
        of Perfetto's traces that floor does not place begin and end none, also where the tube
        places them: what `bake` writes by the tube has their slices.

        Args:
            policy: "floor", Perfetto's times, or "tube": the same slices, nested alike, their ts
                and dur the best estimates, with error bars of both ends. The file is read twice.
            progress: called with the byte position reached in the file.
            bars: of the tube, "estimated" or "guaranteed"; see `ClockGraph.convert`.
            args: read their arguments, too; without, the column is null, and reading quicker.

        Returns:
            An iterator of RecordBatches of `SLICES_SCHEMA`, with the tube of
            `BOUNDED_SLICES_SCHEMA`; `read_all()` makes a table of them. It yields nothing until
            the whole file has been read, and holds its slices in memory.

        Raises:
            UsageError: no such policy or bars, or a format without slices.
            TraceError: as `events`.
        """
        from tracetime.trace.slices_table import SliceReading, Slices, slices_schema

        schema = slices_schema(policy)
        check_bars(bars)
        self.check_open()
        reading = SliceReading()
        tube_bars = bars if policy == "tube" else None
        return Slices(schema, reading, self._slice_batches(reading, tube_bars, args, progress))

    def _slice_batches(
        self,
        reading: SliceReading,
        bars: Bars | None,
        args: bool,
        progress: Callable[[int], None] | None,
    ) -> Generator[pa.RecordBatch, None, None]:
        """Yield the batches of `slices`, of a format that has slices.

        Args:
            reading: gets the counts of what was left out at the end.
            bars: those of the tube, None for floor.
            args, progress: as given to `slices`.
        """
        raise UsageError(f"no slices are read of {printable(self.path)}: not in this format")

    def sql(
        self,
        query: str,
        parameters: Sequence[object] | Mapping[str, object] | None = None,
        *,
        policy: PolicyName = "floor",
        bars: Bars = "estimated",
    ) -> pa.Table:
        """Query the trace in SQL, that of DuckDB; the result of the last statement is returned.

        The tables are `events`, `slices`, `clocks`, `snapshots`, `discontinuities`, `findings` and
        `finding_events`, as in `tracetime sql`. Where a query uses them, `events` has the columns
        of names, and `events` and `slices` have `wall_time`, a `timestamp_ns` in UTC.

        Args:
            query: one statement or more. They cannot access files.
            parameters: the values of `?` in the last one, or by name of `$name`.
            policy, bars: of events and of `to_clock`, as for `events`.

        Raises:
            UsageError: DuckDB refuses a statement, or there is none; no such policy or bars.
            TraceError: as `events`.
        """
        return upper("query")(self, query, parameters, policy, bars)

    def to_pandas(
        self, policy: PolicyName = "floor", *, bars: Bars = "estimated", names: bool = False
    ) -> pd.DataFrame:
        """Return all events as a DataFrame of pandas, with the column `wall_time`; see `read_all`.

        Whole numbers stay whole: columns with nulls are Int64 and UInt64. `wall_time` is
        `datetime64[ns, UTC]`: what REALTIME read at `trace_time`.

        Raises:
            UsageError: pandas is not installed; and as `events`.
        """
        _require("pandas")
        return self._with_wall_time(policy, bars, names).to_pandas()

    def to_polars(
        self, policy: PolicyName = "floor", *, bars: Bars = "estimated", names: bool = False
    ) -> pl.DataFrame:
        """Return all events as a DataFrame of polars, with the column `wall_time`; see `read_all`.

        `wall_time` is `Datetime("ns", "UTC")`: what REALTIME read at `trace_time`.

        Raises:
            UsageError: polars is not installed; and as `events`.
        """
        frame: pl.DataFrame = _require("polars").from_arrow(
            self._with_wall_time(policy, bars, names)
        )
        return frame

    def _with_wall_time(self, policy: PolicyName, bars: Bars, names: bool) -> pa.Table:
        table = self.read_all(policy, bars=bars, names=names)
        trace_time = table["trace_time"].combine_chunks()
        column = wall_times(trace_time, self.clocks, self.trace_clock, policy, bars)
        in_utc = pa.timestamp("ns", "UTC")
        return table.append_column(WALL_TIME.with_type(in_utc), column.cast(in_utc))

    def slice_ends(self, progress: Callable[[int], None] | None = None) -> SliceEnds | None:
        """Read the file from its start: the begins and ends of its slices, by their own clocks.

        None where no two of their events are of different clocks, or the format has no slices.

        Raises:
            TraceError: as `events`.
        """
        return None

    def apply_options(self, graph: ClockGraph) -> None:
        """Declare the caller's options in a graph of this trace: the limit of tubes, and domains.

        Of these, those of all sequences go first, and then those of one. What they leave out stays
        as the trace declares it.
        """
        inner(graph).most_tubes = self.options.max_tubes
        clocks = [info.clock for info in graph.clocks()]
        for domain in sorted(self.domains, key=lambda domain: domain.id.sequence):
            if domain.id.is_sequence_scoped and not domain.id.sequence:
                for clock in clocks:
                    if replace(clock, sequence=0) == domain.id:
                        graph.declare(replace(domain, id=clock).over(graph.domain(clock)))
            else:
                graph.declare(domain.over(graph.domain(domain.id)))

    @property
    def machines(self) -> list[int]:
        """The `machine_id` of each machine, in order of appearance; ClockId.machine is an index."""
        return [0]

    @property
    def snapshot_packets(self) -> npt.NDArray[np.uint64]:
        """The packet that each snapshot of `clocks` came in, by its number."""
        return inner(self.clocks).contents.packets()


def check_trace(trace: object) -> None:
    """Refuse what is no open trace, such as a path.

    Raises:
        UsageError: it is none.
    """
    if not isinstance(trace, Trace):
        kind = type(trace).__name__
        raise UsageError(f"a {kind} is no open trace: give what tracetime.open_trace(path) returns")


def _require(library: str) -> Any:
    """Return a library that is needed for one call only.

    Raises:
        UsageError: it is not installed.
    """
    try:
        return import_module(library)
    except ImportError:
        raise UsageError(f"{library} is not installed: pip install {library}") from None
