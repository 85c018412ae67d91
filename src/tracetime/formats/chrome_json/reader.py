"""Chrome's trace files in JSON, those of PyTorch's profiler, and systrace's text.

A first reading learns what the file says of itself, which may stand behind the events.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Final, NamedTuple

import numpy as np
import pyarrow as pa

from tracetime._kernels.chrome_json.reader import (
    Details,
    EventObserver,
    EventRows,
    KnownNames,
    Scanner,
)
from tracetime.clocks.ids import ClockId
from tracetime.columns.arrays import texts_of
from tracetime.errors import TraceError
from tracetime.formats.beginnings import is_systrace
from tracetime.formats.chrome_json.devices import (
    Device,
    declare_devices,
    devices_of,
    moves_of,
    tie_devices,
)
from tracetime.formats.chrome_json.file_clocks import (
    FileValues,
    LineSync,
    clock_of,
    graph_of,
    line_clock_of,
    line_syncs,
    passed_over,
    passed_over_syncs,
)
from tracetime.formats.chrome_json.launches import Launches
from tracetime.formats.chrome_json.odd_times import Resolutions, odd_times
from tracetime.formats.trace_file import Budget, TraceFile
from tracetime.graph.clock_graph import ClockGraph, inner
from tracetime.graph.tube.results import Bars
from tracetime.text import count
from tracetime.trace.abilities import Shared
from tracetime.trace.events_table import BATCH_ROWS, CUT_OFF, EARLY, Columns, Kind, Vocabulary
from tracetime.trace.flows import backward_flows
from tracetime.trace.notes import Note
from tracetime.trace.open_options import OpenOptions
from tracetime.trace.slices_table import SliceReading
from tracetime.trace.trace import Trace, TraceReading

if TYPE_CHECKING:
    from tracetime._kernels.chrome_json.slices import JsonSliceLog
    from tracetime.formats.chrome_json.slices import EntryReadings

# The faults of a file of JSON, by the number that the scanner gives.

_MEND: Final = "mend the file there"

FAULTS: Final[tuple[str, ...]] = (
    "",
    "JSON that is a trace begins with an object or an array: is this a trace?",
    f"a key in quotes is expected here: {_MEND}",
    f"a colon is expected here, behind a key: {_MEND}",
    f"a value is expected here: {_MEND}",
    f"a comma or a closing brace is expected here: {_MEND}",
    f"an event, an object in braces, is expected here: {_MEND}",
    f"values nest deeper than 256 levels: {_MEND}",
    f"an event or value is longer than 64 MiB, or a quote is missing: {_MEND}",
    f"something follows the end of the trace: {_MEND}",
    "the file is cut off: get a whole copy",
    'there is no key "traceEvents" with an array: this is JSON, but no trace (`tracetime '
    "FILE --help` lists the formats that are read)",
    "another trace follows in the file: split it here",
    "another object follows: a file with an object a line is no trace; make an array of them "
    "(jq -s . FILE)",
    f"JSON has no comments: {_MEND}",
)


_CUT_OFF: Final = 10


def is_usual(scanner: Scanner) -> bool:
    """Whether the file is an array that ends within an event, as of a browser that was killed."""
    return scanner.is_array and scanner.fault == _CUT_OFF


def fault_of(scanner: Scanner) -> TraceError | None:
    """The fault that the scanner found; None without one."""
    if not scanner.fault:
        return None
    return TraceError(FAULTS[scanner.fault], scanner.fault_offset, scanner.n_events)


KINDS: Final = (Kind("trace_event"), Kind("metadata", True), Kind("systrace_line"))
_LINE: Final = 2

NAMES_LIMIT: Final = 64 << 20
"""Bytes that names of processes and threads may take."""

MOST_NESTED: Final = 2_000_000
"""Of so many events the slices are compared: they are held in memory, twice."""


class _FirstPass(NamedTuple):
    """The findings of the first pass.

    Attributes:
        names: of processes and threads, and counts of events.
        values: what stands beside the events.
        syncs: what lines of text say of other clocks.
        passed_over: what is not read, or not as it stands.
        events: how many the file has.
        lost: events that lines say were lost.
        lost_before: the line before which they first say so.
        resolutions: those of times that are decimal text.
        launches: of PyTorch's profiler, the work of GPUs.
        devices: these.
    """

    names: KnownNames
    values: FileValues
    syncs: list[LineSync]
    passed_over: list[Note]
    events: int
    lost: int
    lost_before: int
    resolutions: Resolutions
    launches: Launches
    devices: list[Device]


class ChromeJsonTrace(Trace):
    """A trace file in JSON, or systrace's text."""

    shares: ClassVar[frozenset[Shared]] = frozenset(("collectives",))
    perfetto_reads = "json"
    FORMAT = "trace in Chrome's JSON"

    def __init__(self, file: TraceFile, options: OpenOptions) -> None:
        super().__init__(file.path, file.size, options)
        self._file = file
        self._is_text = is_systrace(file.beginning())
        self._learnt_of: _FirstPass | None = None
        self._graph: ClockGraph | None = None
        self._damage: TraceError | None = None

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def check_open(self) -> None:
        """Raise UsageError once the trace is closed."""
        self._file.check_open()

    @property
    def vocabulary(self) -> Vocabulary:
        """Events, metadata events and lines; records carry no payload."""
        return Vocabulary(KINDS, np.array([-1], np.int16), texts_of([]))

    @property
    def clocks(self) -> ClockGraph:
        """The graph of the file's clock, and of REALTIME where the file ties the two."""
        if self._graph is None:
            names = self._first_pass.names
            values = self._first_pass.values
            syncs = self._first_pass.syncs
            span = names.first_ns, names.last_ns
            graph = graph_of(values, self._is_text, span, syncs, self.resolutions)
            devices, launches = self._first_pass.devices, self._first_pass.launches
            declare_devices(graph, devices, self.resolutions.resolution_ns)
            self.apply_options(graph)
            tie_devices(graph, self.trace_clock, devices, launches)
            self._graph = graph
        return self._graph

    @property
    def trace_clock(self) -> ClockId:
        """The clock of the file."""
        return clock_of(self._first_pass.values, self._is_text)[0]

    @property
    def _line_clock(self) -> ClockId:
        """The clock of lines of systrace."""
        return line_clock_of(self._first_pass.values, self._is_text, self._first_pass.syncs)

    @property
    def metadata(self) -> Mapping[str, object]:
        """The values beside the events, by key, as JSON; values over 1 MiB are left out."""
        return self._first_pass.values.values

    @property
    def format(self) -> str:
        """The program that wrote the file, where its values or its lines tell."""
        if self._is_text:
            return "systrace"
        return "PyTorch profile" if self._first_pass.values.is_kineto else self.FORMAT

    @property
    def about(self) -> str:
        """The rank and the devices of a job of PyTorch."""
        return self._first_pass.values.about

    @property
    def resolutions(self) -> Resolutions:
        """The resolutions of times that are decimal text."""
        return self._first_pass.resolutions

    def notes(self, code: str) -> Iterator[Note]:
        """Events lost, passed over or kept coarse, and times that cannot be right; see `Trace`."""
        learnt = self._first_pass
        if code == "events-dropped" and learnt.lost:
            yield Note(code, packets=(learnt.lost_before,), events=learnt.lost)
        elif code == "events-without-time" and learnt.names.n_untimed:
            yield Note(code, "json", events=learnt.names.n_untimed)
        elif code == "odd-times":
            yield from odd_times(learnt.names, learnt.values.number("beginningOfTime"))
        elif code == "parts-passed-over":
            yield from learnt.passed_over
        elif code == "times-rounded":
            longest_ns = self.resolutions.times.longest_ns
            if longest_ns > self.resolutions.unit_ns:
                yield Note(code, "kept", size_ns=longest_ns)

    def read_notes(self, code: str) -> Iterator[Note]:
        """Halves of slices, events that rounding moves, and kernels that begin before their call.

        Of more than `MOST_NESTED` events slices are not compared.
        """
        self.check_open()
        learnt = self._first_pass
        names, few = learnt.names, learnt.events <= MOST_NESTED
        if code == "parts-passed-over" and few and (names.n_halves > 0 or names.line_step_ns > 0):
            from tracetime.formats.chrome_json.slices import halves

            yield from halves(self, partial(self._observe, progress=None))
        elif code == "times-rounded" and names.n_off:
            yield self._rounding_note()
        elif code == "effect-before-cause":
            given = self.trace_clock, learnt.devices, learnt.launches
            yield from learnt.launches.early(self.trace_clock, moves_of(self.clocks, *given))
            yield from learnt.launches.outside(self.trace_clock)
            late_ns = 2 * self.resolutions.resolution_ns
            yield from backward_flows(self.trace_clock, names.flows.T, late_ns)

    def _rounding_note(self) -> Note:
        """The number of events that trace_processor's rounding moves, and that cross for it."""
        learnt = self._first_pass
        crossing = self.overlaps_by_rounding() if learnt.events <= MOST_NESTED else 0
        return Note(
            "times-rounded",
            "apart" if crossing else "floor",
            events=learnt.names.n_off,
            size_ns=learnt.names.most_off,
            clocks=(self.trace_clock,),
            values={"slices": count(crossing, "slice")},
        )

    def overlaps_by_rounding(self) -> int:
        """Read the number of complete events that cross only by rounding; see `Trace`."""
        from tracetime.formats.chrome_json.slices import overlaps_by_rounding

        self.check_open()
        return overlaps_by_rounding(self, partial(self._observe, progress=None))

    @property
    def truncated(self) -> TraceError | None:
        """The error after which the rest was not read: with `partial`, or of an array cut off."""
        return self._damage

    def prepare(self, names: bool) -> None:
        """Read the values of the file beside its events."""
        self._learn()

    def columns(
        self,
        progress: Callable[[int], None] | None = None,
        *,
        names: bool = False,
        written: int = 0,
    ) -> TraceReading:
        """Read the file from its start; see `Trace.columns`."""
        self.check_open()
        reading = TraceReading(iter(()))
        reading.batches = self._columns(reading, progress, names)
        return reading

    @property
    def _first_pass(self) -> _FirstPass:
        return self._learn() if self._learnt_of is None else self._learnt_of

    def _learn(self) -> _FirstPass:
        if self._learnt_of is None:
            self.check_open()
            names = KnownNames(NAMES_LIMIT)
            scanner = self._observe(names, None)
            resolutions = Resolutions.of(names)
            launches = Launches(names, resolutions.resolution_ns)
            values = FileValues(scanner.values, launches.are_launched, names.first_ns)
            syncs = line_syncs(names.line_syncs)
            over = passed_over(names, scanner, values)
            over += passed_over_syncs(values, self._is_text, syncs)
            self._learnt_of = _FirstPass(
                names,
                values,
                syncs,
                over,
                scanner.n_events,
                scanner.n_lost,
                scanner.first_lost_before,
                resolutions,
                launches,
                devices_of(launches) if values.is_kineto else [],
            )
        return self._learnt_of

    def _slice_batches(
        self,
        reading: SliceReading,
        bars: Bars | None,
        args: bool,
        progress: Callable[[int], None] | None,
    ) -> Generator[pa.RecordBatch, None, None]:
        from tracetime.formats.chrome_json.slices import read_slices

        read = partial(self._observe, progress=progress)
        return read_slices(self, read, reading, bars, args, self._entry_readings)

    def _entry_readings(self, log: JsonSliceLog) -> EntryReadings:
        from tracetime.formats.chrome_json.slices import EntryReadings

        return EntryReadings(
            log, (self.trace_clock, self._line_clock), self._first_pass.devices, self.resolutions
        )

    def _observe(self, observer: EventObserver, progress: Callable[[int], None] | None) -> Scanner:
        """Give the whole file to an observer, or what comes before the damage."""
        scanner = Scanner(observer, self._is_text)
        try:
            for _ in self._scan(scanner, progress):
                pass
        except TraceError as error:
            if not self.options.partial and not is_usual(scanner):
                raise
            self._damage = error.with_traceback(None)
        return scanner

    def _columns(
        self, reading: TraceReading, progress: Callable[[int], None] | None, names: bool
    ) -> Iterator[Columns]:
        learnt = self._first_pass
        details = Details(learnt.names) if names else None
        snapshots = len(inner(self.clocks).contents.packets())
        clocks = self.trace_clock.clock, self._line_clock.clock
        devices = [(device.pid, device.clock.clock) for device in learnt.devices]
        observer = EventRows(*clocks, devices, snapshots, BATCH_ROWS, details)
        scanner = Scanner(observer, self._is_text)
        try:
            for _ in self._scan(scanner, progress):
                yield self._with_margins(observer.rows.take())
        except TraceError as error:
            if not self.options.partial and not is_usual(scanner):
                raise
            reading.truncated = error.with_traceback(None)
        if len(observer.rows):
            yield self._with_margins(observer.rows.take())
        if names:
            reading.names_left_out = learnt.names.left_out

    def _with_margins(self, columns: Columns) -> Columns:
        """The columns with the margins of decimal text."""
        resolutions = self.resolutions
        if not resolutions.is_exact:
            is_line = columns["kind"] == _LINE
            columns[EARLY], columns[CUT_OFF] = resolutions.margins(columns["source_ns"], is_line)
        return columns

    def _scan(self, scanner: Scanner, progress: Callable[[int], None] | None) -> Iterator[Scanner]:
        """Scan the file; yields whenever the observer is full."""
        for piece, at in self._file.chunks(Budget(self.options.max_expansion)):
            scanner.feed(piece)
            while scanner.scan():
                yield scanner
            if scanner.fault:
                break
            if progress is not None:
                progress(at)
        while not scanner.fault and scanner.finish():
            yield scanner
        fault = fault_of(scanner)
        if fault is not None:
            raise fault
