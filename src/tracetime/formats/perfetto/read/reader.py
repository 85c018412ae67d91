"""Perfetto trace files: every clocked item on trace time, exactly where Perfetto would place it.

A file is read in windows: its size does not matter.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator, Iterator
from dataclasses import replace
from functools import partial
from typing import IO, TYPE_CHECKING, ClassVar, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tracetime._kernels.perfetto.importer import Importer, PacketObserver
from tracetime.clocks.domain import ClockDomain
from tracetime.clocks.families import WALL, wall_oscillator
from tracetime.clocks.ids import BUILTIN_IDS, ClockId
from tracetime.errors import TraceError
from tracetime.formats.perfetto.extension import (
    BAKED_BY,
    as_written,
    decode_domain,
    time_service,
    with_largest_lag,
)
from tracetime.formats.perfetto.read.notes import add_rounds, bounds_between
from tracetime.formats.perfetto.read.wire import Pass
from tracetime.formats.perfetto.schema import ftrace_names, process_types, vocabulary
from tracetime.formats.trace_file import Budget, TraceFile
from tracetime.graph.arguments import SNAPSHOT_FAULTS, PolicyName
from tracetime.graph.clock_graph import ClockGraph, coat, inner
from tracetime.graph.graph import Graph
from tracetime.graph.info import FlowCounts
from tracetime.graph.state import GraphState
from tracetime.graph.tube.lattice import LEAST_READINGS
from tracetime.graph.tube.results import Bars
from tracetime.trace.abilities import Shared
from tracetime.trace.events_table import BATCH_ROWS, Columns, Vocabulary
from tracetime.trace.facts import SnapshotFault, TraceWarning, WallClockBounds
from tracetime.trace.open_options import OpenOptions
from tracetime.trace.trace import Trace, TraceReading, WrittenSnapshots

if TYPE_CHECKING:
    from tracetime._kernels.perfetto.checks import SnapshotLog
    from tracetime._kernels.perfetto.names import Directory, Names
    from tracetime.trace.abilities import MachineFacts
    from tracetime.trace.flows import FlowEvents
    from tracetime.trace.notes import Note
    from tracetime.trace.slice_ends import SliceEnds
    from tracetime.trace.slices_table import SliceReading

_LINUX: Final = frozenset(("linux", "android", "cros", "chrome os"))
"""What traces call systems that keep REALTIME and MONOTONIC by one rate, in lower case."""

NAMES_LIMIT: Final = 64 << 20
"""Bytes that names may take while a trace is read: those of tracks, threads and processes, and once
more those that sequences refer to."""


class _End(NamedTuple):
    """The findings of a reading at the end of the file.

    Attributes:
        importer: that it was read with.
        truncated: see `Trace.truncated`.
    """

    importer: Importer
    truncated: TraceError | None


def _with_flows(reading: TraceReading, log: SnapshotLog | None, columns: Columns) -> Columns:
    """Give the reading the events in flows of a batch."""
    if log is not None:
        from tracetime.formats.perfetto.read.flows import placed_steps

        reading.flows.append(placed_steps(log.flows, columns))
    return columns


class PerfettoTrace(Trace):
    """A Perfetto trace file, plain or compressed."""

    shares: ClassVar[frozenset[Shared]] = frozenset(("flows",))
    perfetto_reads = "packets"
    FORMAT = "Perfetto trace"

    def __init__(self, file: TraceFile, options: OpenOptions) -> None:
        super().__init__(file.path, file.size, options)
        self._file = file
        self._end: _End | None = None
        self._unused: _End | None = None
        self._graph: ClockGraph | None = None
        self._flows: FlowCounts | None = None
        self._round_orders = 0
        self._directory: Directory | None = None

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def check_open(self) -> None:
        """Raise UsageError once the file is closed."""
        self._file.check_open()

    @property
    def vocabulary(self) -> Vocabulary:
        """Perfetto's kinds of rows, and what packets carry."""
        return vocabulary()

    def columns(
        self,
        progress: Callable[[int], None] | None = None,
        *,
        names: bool = False,
        written: int = 0,
    ) -> TraceReading:
        """Read the file from its start, as columns of the kernels; see `Trace.columns`."""
        self._file.check_open()
        reading = TraceReading(iter(()))
        reading.batches = self._columns(reading, progress, names, written)
        return reading

    def _slice_batches(
        self,
        reading: SliceReading,
        bars: Bars | None,
        args: bool,
        progress: Callable[[int], None] | None,
    ) -> Generator[pa.RecordBatch, None, None]:
        from tracetime.formats.perfetto.read.slices import read_slices

        return read_slices(self, partial(self._observed, progress), reading, bars, args)

    def slice_ends(self, progress: Callable[[int], None] | None = None) -> SliceEnds | None:
        """Read where slices begin and end; see `Trace.slice_ends`."""
        from tracetime.formats.perfetto.read.slices import read_slice_ends

        self.check_open()
        return read_slice_ends(self, partial(self._observed, progress))

    @property
    def packets(self) -> PerfettoTrace:
        """The packets of the file."""
        return self

    def in_source(self) -> Callable[[Columns], Columns]:
        """What gives the columns of each batch, in turn, what they read in the file's sources."""
        return lambda columns: columns

    def observed(
        self, observer: PacketObserver, progress: Callable[[int], None] | None = None
    ) -> Iterator[Columns]:
        """Read the file from its start, and give each packet to an observer, before its rows."""
        self.check_open()
        return self._observed(progress, observer)

    def _observed(
        self, progress: Callable[[int], None] | None, observer: PacketObserver
    ) -> Iterator[Columns]:
        return self._columns(TraceReading(iter(())), progress, False, 0, observer)

    def _columns(
        self,
        reading: TraceReading,
        progress: Callable[[int], None] | None,
        named: bool,
        written: int,
        observer: PacketObserver | None = None,
    ) -> Iterator[Columns]:
        names = self._names() if named else None
        importer = self._importer(silent=False)
        log = None
        if written:
            from tracetime._kernels.perfetto.checks import SnapshotLog

            log = SnapshotLog(written)
        if names is not None:
            importer.set_observer(names)
            importer.rows.names = names
        elif log is not None:
            importer.set_observer(log)
        elif observer is not None:
            importer.set_observer(observer)
        limit = self.options.max_expansion
        one = Pass(self._file, importer, limit, lambda: self._look_ahead().importer, progress)
        with_flows = partial(_with_flows, reading, log)
        try:
            yield from map(with_flows, one.run())
        except TraceError as error:
            if not self.options.partial:
                raise
            reading.truncated = error.with_traceback(None)
        known = importer.final or importer if self._end is None else self._end.importer
        self._end = _End(known, reading.truncated)
        if len(importer.rows):
            yield with_flows(importer.rows.take())
        # The end of the file stays in memory while the trace is open.
        importer.rows.release()
        if names is not None and self._directory is not None:
            reading.names_left_out = names.left_out + self._directory.left_out
        if log is not None:
            reading.written = WrittenSnapshots(
                log.readings(), log.signs_found(), log.left_out, log.firsts_found()
            )
            reading.late_wakings = log.late_wakings.table()

    def prepare(self, names: bool) -> None:
        """Read the file for its descriptors, if names are wanted: they name packets before them."""
        if names and self._directory is None:
            from tracetime._kernels.perfetto.names import Directory

            directory = Directory(process_types(), NAMES_LIMIT)
            # This reading also finds what the end of the file decides.
            self._keep(self._learn(directory))
            directory.settle()
            self._directory = directory

    def _names(self) -> Names:
        from tracetime._kernels.perfetto.names import Names

        self.prepare(names=True)
        assert self._directory is not None
        return Names(self._directory, ftrace_names(), NAMES_LIMIT)

    @property
    def clocks(self) -> ClockGraph:
        """The clock graph with every snapshot of the file; reads the file if necessary."""
        return self._own_graph()

    def _own_graph(self) -> ClockGraph:
        if self._graph is None:
            importer = self._known()
            extensions = importer.extensions
            state = GraphState(importer.engine, self.trace_clock, self._number)
            state.take_import(
                with_largest_lag(extensions.measured(importer.engine)),
                tuple(extensions.kernel_clock()[:3]),
                # Fewer readings show no tick, and most clocks of very many have few.
                importer.clocks.events_sampled(LEAST_READINGS),
            )
            state.baked = self.baked_by is not None
            state.between = bounds_between(importer.snapshots.remote, state.clock)
            graph = Graph(state)
            self._graph = coat(graph)
            self._declare(self._graph)
            add_rounds(graph, importer.snapshots.rounds)
            self._round_orders = len(graph.state.orders)
            if self.options.orders == "flows":
                self._add_flows()
        return self._graph

    def _add_flows(self) -> None:
        from tracetime.formats.perfetto.read.flows import add_flows

        try:
            self._flows = add_flows(self, partial(self._observed, None))
        except BaseException:
            # Without its flows it is not the graph that was asked for.
            self._graph = None
            raise

    def flow_events(self) -> FlowEvents:
        """Read the file: its events in flows that may pass through other files, too."""
        from tracetime.formats.perfetto.read.flows import flow_events

        return flow_events(self, partial(self._observed, None))

    @property
    def round_orders(self) -> int:
        """The number of the first orders that are recorded rounds: two each."""
        self._own_graph()
        return self._round_orders

    @property
    def flows(self) -> FlowCounts | None:
        """The flows between machines that are orders; None where `open_trace` is not asked for."""
        return self._flows if self.options.orders and self.clocks else None

    def _declare(self, graph: ClockGraph) -> None:
        """Declare the domains in the graph: those of the trace, and over them the caller's."""
        measured = inner(graph).state.measured
        for clock, recorded in self.recorded_domains.items():
            graph.declare(as_written(recorded, measured=measured.knows(clock)))
        self.apply_options(graph)
        self._part_wall_clocks(graph)

    def _part_wall_clocks(self, graph: ClockGraph) -> None:
        """Part REALTIME from other oscillators where no Linux runs: it is slewed alone there.

        An oscillator that the caller named is left as it is.
        """
        others = {
            machine
            for machine, system in self._known().streams.systems.items()
            if system.decode(errors="replace").lower() not in _LINUX
        }
        for info in graph.clocks() if others else ():
            clock, domain = info.clock, graph.domain(info.clock)
            usual = ClockDomain.of_kind(clock).oscillator
            if clock.machine in others and clock.clock in WALL and domain.oscillator == usual:
                graph.declare(replace(domain, oscillator=wall_oscillator(clock.machine)))

    @property
    def recorded_domains(self) -> dict[ClockId, ClockDomain]:
        """The properties of clocks that tracetime recorded in the trace, by clock.

        `ns_per_tick` and `valid_bits` are those of the clock's own ticks; timestamps of the trace,
        and so of `clocks`, are in ns and unwrapped all the same.
        """
        found = {}
        for (clock, sequence, file, machine), data in self._known().extensions.declared.items():
            key = ClockId(clock, sequence, machine, 0 if file == self._number else file)
            domain = decode_domain(data, key)
            if domain is not None:
                found[key] = domain
        return found

    @property
    def trace_clock(self) -> ClockId:
        """The clock of trace time, as the end of the file has it."""
        clock, machine = self._known().clocks.trace_clock
        return ClockId(clock, machine=machine)

    @property
    def baked_by(self) -> PolicyName | None:
        """The policy by which `bake` has put the events on the trace clock; None where not."""
        policy = self._known().extensions.baked
        return BAKED_BY[policy - 1] if policy else None

    @property
    def boots(self) -> dict[int, bytes]:
        """The ids of the boots that the machines' clocks count from; see `Trace`."""
        return dict(self._known().extensions.boots)

    @property
    def suspended_ns(self) -> dict[int, int]:
        """The times that machines were suspended in those boots, ns, where the file says so."""
        return dict(self._known().extensions.suspended)

    @property
    def is_compressed(self) -> bool:
        """Whether the file is compressed."""
        return self._file.compressed

    @property
    def is_sorted_in_parts(self) -> bool:
        """Whether Perfetto hands events on before it has read the whole file; see `PacketFile`."""
        return self._known().extracts_early

    @property
    def stray_field(self) -> int | None:
        """The first byte in the file of no packet, which is skipped; None without any."""
        known = self._known()
        return known.stray_offset if known.n_strays else None

    def uncompressed(self) -> IO[bytes]:
        """The content as a file, to be closed; see `PacketFile`."""
        self._file.check_open()
        return self._file.uncompressed(Budget(self.options.max_expansion), self.options.partial)

    def notes(self, code: str) -> Iterator[Note]:
        """The notes on snapshots and messages, known at the end of the file; see `Trace`."""
        from tracetime.formats.perfetto.read.notes import notes_of

        return notes_of(code, self, self._known(), lambda: inner(self._own_graph()))

    def kernel_reads(self) -> npt.NDArray[np.int64]:
        """The reports of adjtimex(2) at recorded snapshots; see `Trace`."""
        found = self._known().extensions.kernel_clock()
        kept: npt.NDArray[np.int64] = found[[0, 1, 3, 4, 5, 6]]
        return kept

    @property
    def wall_clock_bounds(self) -> list[WallClockBounds]:
        """The bounds of REALTIME against UTC by time services, by machine and service."""
        _, machines, earliest, latest, services = self.wall_bounds()
        within_ns = np.maximum(latest, -earliest)
        found = []
        for machine, service in sorted(set(zip(machines.tolist(), services.tolist(), strict=True))):
            those = within_ns[(machines == machine) & (services == service)]
            clock = ClockId(BUILTIN_IDS["REALTIME"], machine=machine)
            name = time_service(service)
            found.append(WallClockBounds(clock, name, len(those), int(those.max())))
        return found

    def wall_bounds(self) -> npt.NDArray[np.int64]:
        """The bounds of REALTIME by time services at recorded snapshots; see `Trace`."""
        bounds: npt.NDArray[np.int64] = self._known().extensions.wall_bounds()
        return bounds

    def machine_facts(self) -> MachineFacts:
        """Read the facts on the host in the first megabyte; see `Trace`."""
        from tracetime.formats.perfetto.read.machine_facts import LOOKED_AT, machine_facts

        self._file.check_open()
        return machine_facts(self._file.beginning(LOOKED_AT))

    @property
    def machines(self) -> list[int]:
        """`machine_id` of each machine, in order of appearance: ClockId.machine is the index."""
        return self._known().streams.machine_ids

    @property
    def faults(self) -> list[SnapshotFault]:
        """The fault of each of `warnings`."""
        clock = inner(self._own_graph()).state.clock
        return [
            SnapshotFault(fault, packet, offset, clock(key), fell_by_ns)
            for fault, packet, offset, key, fell_by_ns in self._known().clocks.faults
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
        """The number of all warnings."""
        return self._known().clocks.n_faults

    def _known(self) -> Importer:
        """An importer that has seen the end of the file."""
        if self._end is None:
            self._keep(self._look_ahead())
        if self._end is None:
            self._end = self._complete(self._look_ahead())
        return self._end.importer

    def _keep(self, end: _End) -> None:
        """Keep the end of the file as no reading has used it, for one that does."""
        self._unused = end
        if not end.importer.changes_at_end:
            self._end = end

    def _complete(self, end: _End) -> _End:
        """Place the packets that add snapshots of clocks when they are placed at the end."""
        importer = self._importer(silent=True)
        importer.decide_with(end.importer)
        # What it cannot place ends the reading of the events, too, which reports it.
        with contextlib.suppress(TraceError):
            for _ in Pass(self._file, importer, self.options.max_expansion).run():
                pass
        return end

    @property
    def truncated(self) -> TraceError | None:
        """With `partial`, the error after which the rest was not read.

        None before the end has been reached, or where there was none.
        """
        end = self._end or self._unused
        return None if end is None else end.truncated

    def _look_ahead(self) -> _End:
        """The end of the file as no reading has used it: using it changes its importer."""
        unused, self._unused = self._unused, None
        return unused or self._learn()

    def _learn(self, observer: PacketObserver | None = None) -> _End:
        """Read the file for the findings at its end, without making rows."""
        self._file.check_open()
        importer = self._importer(silent=True)
        if observer is not None:
            importer.set_observer(observer)
        try:
            for _ in Pass(self._file, importer, self.options.max_expansion).run():
                pass
        except TraceError as error:
            if not self.options.partial:
                raise
            importer.finish()
            return _End(importer, error.with_traceback(None))
        return _End(importer, None)

    def _importer(self, *, silent: bool) -> Importer:
        importer = Importer(self._number, BATCH_ROWS, silent)
        importer.engine.most_nodes = self.options.max_clocks
        return importer

    @property
    def _number(self) -> int:
        """A compressed file is a container, file 0; the trace within is file 1."""
        return 1 if self._file.compressed else 0
