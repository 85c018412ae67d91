"""Perfetto trace files: every clocked item on trace time, exactly where Perfetto would place it.

`open_trace` gives a Trace; its events come as Arrow batches in file order, its clocks as a
ClockGraph. A file is read in windows: its size does not matter.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from html import escape
from types import TracebackType
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tracetime._kernels.graph import view
from tracetime._kernels.perfetto.directory import Directory
from tracetime._kernels.perfetto.importer import Importer
from tracetime._kernels.perfetto.names import Names
from tracetime._kernels.perfetto.observer import Listener
from tracetime.analysis.error_bars import Bounding, FloorCost
from tracetime.clocks.domain import WALL, ClockDomain
from tracetime.clocks.ids import ClockId
from tracetime.clocks.kernel_clock import STA_UNSYNC
from tracetime.errors import TraceError, TracetimeError, UsageError
from tracetime.formats.perfetto.extension import as_written, decode_domain, with_largest_lag
from tracetime.formats.perfetto.read.remote import UnusedBounds, bounds_between, unused_bounds
from tracetime.formats.perfetto.read.source import TraceFile
from tracetime.formats.perfetto.read.wire import Columns, Pass
from tracetime.formats.perfetto.schema import (
    BOUNDED_SCHEMA,
    EVENTS_SCHEMA,
    ftrace_names,
    process_types,
    record_batch,
    with_names,
)
from tracetime.graph.arguments import SNAPSHOT_FAULTS, PolicyName
from tracetime.graph.graph import ClockGraph
from tracetime.graph.tube import Bars
from tracetime.graph.tube.lattice import LEAST_READINGS
from tracetime.graph.tube.policy import check_bars
from tracetime.text import printable_path

MAX_EXPANSION: Final = 4 << 30
MAX_CLOCKS: Final = 1 << 17
"""Clocks that snapshots may name; the largest real traces known have some hundreds."""
MAX_TUBES: Final = 3000
"""Pairs of clocks whose error bars may be worked out, which takes about a millisecond each."""
_LINUX: Final = frozenset(("linux", "android", "cros", "chrome os"))
"""What traces call systems that keep REALTIME and MONOTONIC by one rate, in lower case."""

BATCH_ROWS: Final = 1 << 16
NAMES_LIMIT: Final = 64 << 20
"""Bytes that names may take while a trace is read: those of tracks, threads and processes, and once
more those that sequences refer to."""


class TraceWarning(NamedTuple):
    """Something wrong in a trace that does not end its import."""

    message: str
    offset: int
    packet: int


class SnapshotFault(NamedTuple):
    """What was the matter with a snapshot that could not be taken whole.

    Attributes:
        fault: indexes `SNAPSHOT_FAULTS`.
        packet, offset: of the snapshot.
        clock: which of its clocks it is about.
        fell_by_ns: how far the trace clock fell; 0 of other faults.
    """

    fault: int
    packet: int
    offset: int
    clock: ClockId
    fell_by_ns: int


class TraceClockMove(NamedTuple):
    """Trace time became the clock of another machine.

    Attributes:
        packet: the snapshot that did it.
        before: the clock that it was.
        is_late: whether conversions had begun.
    """

    packet: int
    before: ClockId
    is_late: bool


def open_trace(
    path: str | os.PathLike[str],
    *,
    partial: bool = False,
    max_expansion: int = MAX_EXPANSION,
    max_clocks: int = MAX_CLOCKS,
    max_tubes: int = MAX_TUBES,
    domains: Iterable[ClockDomain] = (),
) -> Trace:
    """Open a Perfetto trace: raw, gzip or zstd.

    Args:
        path: of the file, or `-` for standard input (copied to a temporary file: reading a trace
            can take two passes).
        partial: keep what comes before the place where a trace is cut off or corrupt, and say so
            in `Trace.truncated`, instead of raising.
        max_expansion: how many bytes decompression may yield in all.
        max_clocks: how many clocks its snapshots may name.
        max_tubes: for how many pairs of clocks error bars may be worked out.
        domains: what clocks are and may do, for the tube's error bars, where the trace does not
            say. Clock 64 to 127 without a sequence stands for that of every sequence.

    Raises:
        UsageError: the file cannot be read.
    """
    for name, limit, least in (
        ("max_expansion is a number of bytes", max_expansion, 0),
        ("max_clocks is a number of clocks", max_clocks, 1),
        ("max_tubes is a number of pairs of clocks", max_tubes, 1),
    ):
        if limit < least:
            raise UsageError(f"{name}, {least} or more")
    return Trace(
        TraceFile(path),
        partial=partial,
        max_expansion=max_expansion,
        max_clocks=max_clocks,
        max_tubes=max_tubes,
        domains=tuple(domains),
    )


class LateSnapshots(NamedTuple):
    """Snapshots that stand in the file behind events from after them.

    Attributes:
        snapshots: how many.
        late_ns: by how much the latest is: what a clock read in an event before it, less what it
            reads in it.
        packet: of that one.
    """

    snapshots: int
    late_ns: int
    packet: int


class Trace:
    """One trace file. Nothing is read before it is asked for; close it, or use it in a `with`.

    Attributes:
        path: as given to `open_trace`.
        size: of the file on disk, bytes.
        truncated: with `partial`, the error after which the rest was not read; None before the
            end has been reached, or where there was none.
        domains: as given to `open_trace`.
        floor_cost: how far the floor policy is from the tube; None before events have been read
            by the tube.
        tube_faults: by clock and status (of `errors.REASONS`), why the tube could not place its
            events in the last reading by it, and what to do; only where more can be said than that.
        names_left_out: how many names the last reading with names had no room for (64 MiB each for
            what descriptors name, and for interned data), or gave up for others.
    """

    def __init__(
        self,
        file: TraceFile,
        *,
        partial: bool,
        max_expansion: int,
        max_clocks: int = MAX_CLOCKS,
        max_tubes: int = MAX_TUBES,
        domains: tuple[ClockDomain, ...] = (),
    ) -> None:
        self._file = file
        self._partial = partial
        self._max_expansion = max_expansion
        self._max_clocks = max_clocks
        self._max_tubes = max_tubes
        self._read: Importer | None = None
        self._unused: Importer | None = None
        self._graph: ClockGraph | None = None
        self._directory: Directory | None = None
        self.path = file.path
        self.size = file.size
        self.truncated: TraceError | None = None
        self.domains = domains
        self.floor_cost: FloorCost | None = None
        self.tube_faults: dict[tuple[ClockId, int], str] = {}
        self.names_left_out = 0

    def __enter__(self) -> Trace:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _repr_html_(self) -> str:
        """For notebooks: the trace and its clocks; reads the file where none has."""
        from tracetime.graph.clock_names import graph_table

        path = escape(printable_path(self.path))
        try:
            told = f"<p>trace time is {escape(self.clocks.name(self.trace_clock))}</p>"
            return f"<p>{path}</p>{told}{graph_table(self.clocks)}"
        except TracetimeError as error:
            return f"<p>{path}: {escape(str(error))}</p>"

    def close(self) -> None:
        """Give the file back."""
        self._file.close()

    def events(
        self,
        policy: PolicyName = "floor",
        progress: Callable[[int], None] | None = None,
        *,
        bars: Bars = "estimated",
        names: bool = False,
    ) -> Iterator[pa.RecordBatch]:
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

        Yields:
            RecordBatches of `EVENTS_SCHEMA`, about 65,536 rows each; with the tube, of
            `BOUNDED_SCHEMA`, where earliest and latest are null unless status is resolved. With
            names, each column of text has a dictionary of its own in every batch, and a batch has
            fewer rows where they hold much text.

        Raises:
            UsageError: no such policy or bars.
            TraceError: no trace, cut off, corrupt, or an error that ends Perfetto's import too.
        """
        schema = _schema(policy)
        check_bars(bars)
        self._file.check_open()
        return self._events(progress, None if schema is EVENTS_SCHEMA else bars, names)

    def _events(
        self, progress: Callable[[int], None] | None, bars: Bars | None, named: bool
    ) -> Iterator[pa.RecordBatch]:
        names = self._names() if named else None
        if bars is None:
            yield from map(record_batch, self.columns(progress, names))
            return
        bounding = Bounding(self.clocks, self.trace_clock, self.machines, bars)
        self.floor_cost, self.tube_faults = bounding.cost, bounding.faults
        yield from map(bounding.batch, self.columns(progress, names))
        bounding.finish()

    def columns(
        self,
        progress: Callable[[int], None] | None = None,
        names: Names | None = None,
        listener: Listener | None = None,
    ) -> Iterator[Columns]:
        """Read the file from its start: what the kernels made of it, batch by batch.

        The columns of `events`, as NumPy arrays with codes for names, and two more: `source_ns`,
        the reading in ns as it was converted (sums of an incremental clock), and `snapshots`, how
        many of them had been read before the packet. With `names`, what it says of each row, too;
        without, a `listener` may be told each packet.

        Raises:
            TraceError: as `events`.
        """
        self._file.check_open()
        importer = self._importer(silent=False)
        if names is not None:
            importer.listen(names)
            importer.rows.names = names
        elif listener is not None:
            importer.listen(listener)
        reading = Pass(self._file, importer, self._max_expansion, self._look_ahead, progress)
        try:
            yield from reading.run()
        except TraceError as error:
            if not self._partial:
                raise
            self.truncated = error.with_traceback(None)
            if len(importer.rows):
                yield importer.rows.take()
        if self._read is None:
            self._read = importer.final or importer
        if names is not None and self._directory is not None:
            self.names_left_out = names.left_out + self._directory.left_out

    def read_all(
        self, policy: PolicyName = "floor", *, bars: Bars = "estimated", names: bool = False
    ) -> pa.Table:
        """All events as one table; see `events`."""
        batches = self.events(policy, bars=bars, names=names)
        if not names:
            return pa.Table.from_batches(batches, schema=_schema(policy))
        table = pa.Table.from_batches(batches, schema=with_names(_schema(policy)))
        return table.unify_dictionaries()

    def _names(self) -> Names:
        """What says what events are, from one reading of the file for its descriptors."""
        if self._directory is None:
            directory = Directory(process_types(), NAMES_LIMIT)
            # An importer at the end of the file: whoever needs that has it for nothing.
            self._read = self._unused = self._learn(directory)
            directory.settle()
            self._directory = directory
        return Names(self._directory, ftrace_names(), NAMES_LIMIT)

    @property
    def clocks(self) -> ClockGraph:
        """The clock graph with every snapshot of the file; reads the file where none has."""
        if self._graph is None:
            importer = self._known()
            self._graph = ClockGraph._of(
                importer.engine, self.trace_clock, self._number,
                with_largest_lag(importer.measured()), tuple(importer.kernel_clock()[:3]),
                # Fewer readings show no tick, and most clocks of very many have few.
                importer.events_sampled(LEAST_READINGS),
            )  # fmt: skip
            self._graph._most_tubes = self._max_tubes
            self._graph._between = bounds_between(importer.remote, self._graph._clock)
            self._declare(self._graph)
        return self._graph

    def _declare(self, graph: ClockGraph) -> None:
        """Tell the graph the domains: what the trace says, and over it what the caller does.

        Of these, those of all sequences go first, and then those of one.
        """
        clocks = [info.clock for info in graph.clocks()]
        for clock, recorded in self.recorded_domains.items():
            graph.declare(as_written(recorded, measured=graph._measured.knows(clock)))
        for domain in sorted(self.domains, key=lambda domain: domain.id.sequence):
            if domain.id.is_sequence_scoped and not domain.id.sequence:
                for clock in clocks:
                    if replace(clock, sequence=0) == domain.id:
                        graph.declare(replace(domain, id=clock))
            else:
                graph.declare(domain)
        self._part_wall_clocks(graph)

    def _part_wall_clocks(self, graph: ClockGraph) -> None:
        """Where no Linux runs, REALTIME is slewed alone: it shares no oscillator.

        An oscillator that the caller named is left as it is.
        """
        others = {
            machine
            for machine, system in self._known().systems.items()
            if system.decode(errors="replace").lower() not in _LINUX
        }
        for info in graph.clocks() if others else ():
            clock, domain = info.clock, graph.domain(info.clock)
            usual = ClockDomain.of_kind(clock).oscillator
            if clock.machine in others and clock.clock in WALL and domain.oscillator == usual:
                graph.declare(replace(domain, oscillator=f"wall@machine{clock.machine}"))

    @property
    def recorded_domains(self) -> dict[ClockId, ClockDomain]:
        """What the trace says of its clocks, where tracetime recorded it, by clock.

        `ns_per_tick` and `valid_bits` are those of the clock's own ticks; timestamps of the trace,
        and so of `clocks`, are in ns and unwrapped all the same.
        """
        found = {}
        for (clock, sequence, file, machine), data in self._known().declared.items():
            key = ClockId(clock, sequence, machine, 0 if file == self._number else file)
            domain = decode_domain(data, key)
            if domain is not None:
                found[key] = domain
        return found

    @property
    def trace_clock(self) -> ClockId:
        """The clock of trace time, as the end of the file has it."""
        clock, machine = self._known().trace_clock
        return ClockId(clock, machine=machine)

    @property
    def late_trace_clock(self) -> tuple[int, ClockId] | None:
        """The first packet that names another trace clock after conversions had begun, and it.

        Perfetto stays with the clock it had (ClockTracker::SetGlobalClock).
        """
        known = self._known()
        if known.late_clock is None:
            return None
        packet, clock, machine = known.late_clock
        return packet, ClockId(clock, machine=machine)

    @property
    def trace_clock_moves(self) -> list[TraceClockMove]:
        """Where another machine's snapshot moved trace time to its own clock; 100 at most.

        Perfetto lets each machine do so until it has asked for a conversion
        (ClockTracker::SetGlobalClock). Of more than 100, the first and the last.
        """
        return [
            TraceClockMove(packet, ClockId(clock, machine=machine), is_late)
            for packet, clock, machine, is_late in self._known().moves
        ]

    @property
    def n_stray_syncs(self) -> int:
        """How many clocks of RemoteClockSync were tied to another machine's than the host's.

        Perfetto ties them to the trace clock's machine, though the host has read its own.
        """
        return self._known().n_stray_syncs

    @property
    def late_snapshots(self) -> LateSnapshots | None:
        """Snapshots that stand behind events which they would have placed; None without any.

        Perfetto converts by what it has read: such events take an older offset.
        """
        known = self._known()
        if not known.n_late_snapshots:
            return None
        packet = int(self.snapshot_packets[known.latest_snapshot])
        return LateSnapshots(known.n_late_snapshots, known.latest_snapshot_ns, packet)

    @property
    def unused_bounds(self) -> list[UnusedBounds]:
        """Messages between machines that bound nothing: a clock fell between them, or stood."""
        return unused_bounds(self._known().remote, self.clocks._clock)

    @property
    def events_dropped(self) -> int:
        """How many events a recorder of tracetime's says that it dropped; of all that are joined.

        At most 2^63 - 1, whatever a file says. 0 where none says so.
        """
        return self._known().events_dropped

    @property
    def dropped_packet(self) -> int | None:
        """The packet of the first snapshot that says that events were dropped."""
        packet = self._known().dropped_packet
        return None if packet < 0 else packet

    @property
    def is_unsynchronised(self) -> bool:
        """Whether the kernel said, in a recorded snapshot, that nothing keeps its time (NTP, PTP).

        adjtimex(2), STA_UNSYNC. False where the trace does not say.
        """
        return bool((self._known().kernel_clock()[3] & STA_UNSYNC).any())

    @property
    def machines(self) -> list[int]:
        """`machine_id` of each machine, in order of appearance: ClockId.machine is the index."""
        return self._known().machine_ids

    @property
    def snapshot_packets(self) -> npt.NDArray[np.uint64]:
        """The packet that each snapshot of `clocks` came in, by its number."""
        return view.snapshot_packets(self._known().engine)

    @property
    def faults(self) -> list[SnapshotFault]:
        """What was the matter, of each of `warnings`."""
        return [
            SnapshotFault(fault, packet, offset, self.clocks._clock(key), fell_by_ns)
            for fault, packet, offset, key, fell_by_ns in self._known().faults
        ]

    @property
    def warnings(self) -> list[TraceWarning]:
        """Snapshots that could not be taken whole, in file order; the first hundred.

        A RemoteClockSync that ties a clock to itself does not count among these hundred.
        """
        return [
            TraceWarning(
                "snapshot not taken whole: "
                + SNAPSHOT_FAULTS[found.fault].format(clock=found.clock),
                found.offset,
                found.packet,
            )
            for found in self.faults
        ]

    @property
    def n_warnings(self) -> int:
        """How many warnings there are in all."""
        return self._known().n_faults

    @property
    def n_own_syncs(self) -> int:
        """How many of these are a RemoteClockSync's that tied a clock to itself."""
        return self._known().n_own_syncs

    def _known(self) -> Importer:
        """An importer that has seen the end of the file."""
        if self._read is None:
            self._read = self._unused = self._learn()
        return self._read

    def _look_ahead(self) -> Importer:
        """An importer at the end of the file that no reading has used: using it changes it."""
        unused, self._unused = self._unused, None
        return unused or self._learn()

    def _learn(self, listener: Listener | None = None) -> Importer:
        """Read the file for what its end knows, without making rows."""
        self._file.check_open()
        importer = self._importer(silent=True)
        if listener is not None:
            importer.listen(listener)
        try:
            for _ in Pass(self._file, importer, self._max_expansion).run():
                pass
        except TraceError as error:
            if not self._partial:
                raise
            self.truncated = error.with_traceback(None)
            importer.finish()
        return importer

    def _importer(self, *, silent: bool) -> Importer:
        importer = Importer(self._number, BATCH_ROWS, silent)
        importer.engine.most_nodes = self._max_clocks
        return importer

    @property
    def _number(self) -> int:
        """A compressed file is a container, file 0; the trace within is file 1."""
        return 1 if self._file.compressed else 0


def check_trace(trace: object) -> None:
    """Refuse what is no open trace, such as a path.

    Raises:
        UsageError: it is none.
    """
    if not isinstance(trace, Trace):
        kind = type(trace).__name__
        raise UsageError(f"a {kind} is no open trace: give what tracetime.open_trace(path) returns")


def _schema(policy: PolicyName) -> pa.Schema:
    schemas = {"floor": EVENTS_SCHEMA, "tube": BOUNDED_SCHEMA}
    if policy not in schemas:
        raise UsageError(f"there is no policy {policy!r}: use 'floor' or 'tube'")
    return schemas[policy]
