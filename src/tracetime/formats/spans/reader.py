"""Traces of spans: a clock a host, tied by the calls between them."""

from __future__ import annotations

from codecs import BOM_UTF8
from collections.abc import Callable, Iterator
from typing import ClassVar, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tracetime.clocks.domain import ClockDomain
from tracetime.clocks.ids import BUILTIN_IDS, ClockId
from tracetime.columns.arrays import arrow_of, texts_of
from tracetime.errors import TraceError
from tracetime.formats.record_trace import FileClocks, Records
from tracetime.formats.span_trace import SpanTable, SpanTrace
from tracetime.formats.spans.batch import ENDED, SpanLists, Spans
from tracetime.formats.spans.batch import KINDS as SPAN_KINDS
from tracetime.formats.spans.calls import Columns as CallColumns
from tracetime.formats.spans.calls import SpanCalls
from tracetime.formats.spans.collector import SpanCollector, SpanResolutions
from tracetime.formats.spans.resources import Host, Resources, SpanSource, Wanted
from tracetime.formats.trace_file import Budget, TraceFile
from tracetime.graph.clock_graph import ClockGraph, inner
from tracetime.graph.values import Values
from tracetime.trace.abilities import Shared
from tracetime.trace.events_table import BATCH_ROWS, TYPES, Columns, Kind
from tracetime.trace.notes import Note
from tracetime.trace.open_options import OpenOptions

# The rows of spans in the events table: where each begins and ends, and the events within it.

KINDS: Final = (Kind("span"), Kind("span_end"), Kind("span_event"))
BEGIN, END, EVENT = range(3)
_AT_ONCE: Final = 2 * BATCH_ROWS
"""The begins and ends of a batch of spans."""
_TYPES: Final = np.array(
    [TYPES.index(name) for name in ("slice_begin", "slice_end", "instant")], np.int8
)


def rows_of(
    spans: Spans, resources: Resources, names: bool
) -> Iterator[tuple[Columns, dict[str, pa.Array]]]:
    """Yield the rows of some spans, some at a time: a span may have any number of events.

    Of each span they are its begin, its end if it has one, its events. Also, with names, the
    columns of `NAMES_SCHEMA` that they have.
    """
    n = len(spans)
    ended = np.flatnonzero(spans.marks & ENDED)
    of = np.concatenate([np.arange(n), ended, spans.event_span])
    kind = np.repeat(
        np.array([BEGIN, END, EVENT], np.uint8), [n, len(ended), len(spans.event_span)]
    )
    order = np.argsort(of, kind="stable")
    first = np.flatnonzero(kind[order] == BEGIN)
    host = resources.hosts_of(spans.resource)
    time = np.concatenate([spans.begin, spans.end[ended], spans.event_time])
    texts = _texts(spans, ended) if names else {}
    for start in range(0, len(order), _AT_ONCE):
        unsorted = order[start : start + _AT_ONCE]
        rows = of[unsorted]
        columns: Columns = {
            "packet": (spans.first + rows).astype(np.uint64),
            "item": (np.arange(start, start + len(rows)) - first[rows]).astype(np.uint32),
            "kind": kind[unsorted],
            "offset": spans.offset[rows].astype(np.uint64),
            "clock": np.full(len(rows), BUILTIN_IDS["REALTIME"], np.uint32),
            "machine": host[rows].astype(np.uint32),
            "timestamp": time[unsorted],
        }
        named = {name: of_all.take(arrow_of(unsorted)) for name, of_all in texts.items()}
        if names:
            named |= _span_columns(spans, resources, rows, columns["kind"])
        yield columns, named


def _texts(spans: Spans, ended: npt.NDArray[np.intp]) -> dict[str, pa.Array]:
    """The texts of spans, of their ends, and of their events."""
    names = [spans.name, spans.name.take(arrow_of(ended)), spans.event_name]
    args = [spans.args, pa.nulls(len(ended), pa.string()), spans.event_args]
    return {"name": pa.concat_arrays(names), "args": pa.concat_arrays(args)}


def _span_columns(
    spans: Spans, resources: Resources, rows: Values, kind: npt.NDArray[np.uint8]
) -> dict[str, pa.Array]:
    """The columns in which many rows of a span are equal."""
    resource = arrow_of(spans.resource[rows])
    return {
        "category": pa.DictionaryArray.from_arrays(
            arrow_of(spans.kind[rows].astype(np.int32), kind == EVENT), texts_of(SPAN_KINDS)
        ),
        "type": arrow_of(_TYPES[kind]),
        "track_name": resources.host_names().take(resource),
        "process_name": resources.services().take(resource),
        "pid": resources.pids().take(resource),
    }


LONGEST: Final = 1 << 28
"""Bytes of an object: it is decoded at once, in several times as many."""


class JsonObject(NamedTuple):
    """One JSON object of a file.

    Attributes:
        text: its bytes.
        offset: of its first byte in the uncompressed file.
        line: that it begins on, from 1.
        position: the byte of the file that has been reached.
    """

    text: bytes
    offset: int
    line: int
    position: int


def documents(file: TraceFile, budget: Budget) -> Iterator[JsonObject]:
    """Yield the objects of a file: those of its lines, unless its first line is no whole object.

    Raises:
        TraceError: one of them is too long; and as `TraceFile.chunks`.
    """
    parts: list[bytes] = []
    offset, line, held, position = 0, 1, 0, 0
    alone: bool | None = None
    for piece, position in file.chunks(budget):
        start = 0
        while not alone and (end := piece.find(b"\n", start) + 1):
            _check_length(held + end - start, offset, line)
            text = b"".join((*parts, piece[start:end]))
            begun = text.strip()
            if alone is None and begun:
                alone = not begun.endswith(b"}")
                if alone:
                    break
            if begun:
                yield JsonObject(text, offset, line, position)
            offset, line, held, parts, start = offset + len(text), line + 1, 0, [], end
        parts.append(piece[start:])
        held += len(piece) - start
        _check_length(held, offset, line)
    text = b"".join(parts)
    if text.strip():
        yield JsonObject(text, offset, line, position)


def _check_length(length: int, offset: int, line: int) -> None:
    if length > LONGEST:
        raise TraceError(
            f"line {line}: a JSON object of more than {LONGEST >> 20} MiB: write one object a "
            "line, as the collector's file exporter does",
            offset,
        )


_BATCH_BYTES: Final = 1 << 25
"""Of the file, in a batch at most: its texts are kept until it is full."""


class SpanBatches:
    """Reads the spans of a file from its start, once.

    Args:
        file, source: which, and of what format.
        resources: takes what the spans come from.
        wanted: what to read of texts.
        most_bytes: that decompression may yield.
    """

    def __init__(
        self,
        file: TraceFile,
        source: SpanSource,
        resources: Resources,
        wanted: Wanted,
        most_bytes: int,
    ) -> None:
        self._file = file
        self._decode = source.decode
        self._resources = resources
        self._wanted = wanted
        self._budget = Budget(most_bytes)
        self._lists = SpanLists(source.unit_ns)
        self._first = 0
        self._position = 0

    def __iter__(self) -> Iterator[Spans]:
        """Yield batches.

        Raises:
            TraceError: the file is damaged; all spans before have been yielded.
        """
        begun = 0
        try:
            for document in documents(self._file, self._budget):
                self._position = document.position
                yield from self._decode_document(document)
                if document.offset - begun > _BATCH_BYTES:
                    yield from self._take()
                    begun = document.offset
        except TraceError:
            yield from self._take()
            raise
        yield from self._take()

    def _decode_document(self, document: JsonObject) -> Iterator[Spans]:
        """Add the spans of an object; yield batches as they are full."""
        text, offset = document.text, document.offset
        try:
            _check_utf8(text)
            text = text.removeprefix(BOM_UTF8)
            for _ in self._decode(text, offset, self._resources, self._lists, self._wanted):
                if len(self._lists) >= BATCH_ROWS:
                    yield from self._take()
        except (ValueError, OverflowError, RecursionError) as error:
            raise TraceError(f"line {document.line}: {error}", offset) from None

    def _take(self) -> Iterator[Spans]:
        """Yield what has been added since, if anything."""
        lists, fault = self._lists, None
        try:
            spans = lists.spans(self._first, self._position)
        except ValueError as error:
            row = lists.first_bad()
            fault = TraceError(
                f"{error}: times are whole numbers since 1970, before 2262",
                lists.offset[row],
                self._first + row,
            )
            lists.cut(row)
            spans = lists.spans(self._first, self._position)
        lists.clear()
        self._first += len(spans)
        if len(spans):
            yield spans
        if fault is not None:
            raise fault


def _check_utf8(text: bytes) -> None:
    """Raise ValueError where a text is no UTF-8: not all of it is decoded."""
    if not text.isascii():
        ends = pa.py_buffer(np.array([0, len(text)], np.int64))
        whole = pa.Array.from_buffers(pa.large_string(), 1, [None, ends, pa.py_buffer(text)])
        whole.validate(full=True)


_REALTIME: Final = BUILTIN_IDS["REALTIME"]


class SpansTrace(SpanTrace):
    """A file of spans.

    source: its format.
    """

    KINDS: ClassVar[tuple[Kind, ...]] = KINDS
    shares: ClassVar[frozenset[Shared]] = frozenset(("calls",))
    FORMAT = "file of spans"

    def __init__(self, file: TraceFile, options: OpenOptions, source: SpanSource) -> None:
        super().__init__(file, options)
        self._source = source
        self._odd: list[Note] = []
        self._resolutions = SpanResolutions(source.unit_ns, source.adds_up)

    def _read_clocks(self) -> FileClocks:
        resources = self._new_resources()
        calls = SpanCalls()
        for spans in self._until_damage(iter(self._batches(resources, Wanted.NOTHING))):
            hosts = resources.hosts_of(spans.resource)
            calls.add(spans, hosts)
            self._resolutions.add(spans, hosts)
        trace_clock = _clock(0)
        domain = ClockDomain(trace_clock, tick_ns=self._source.tick_ns)
        domains = [
            domain.of_another(_clock(number), _title(host))
            for number, host in enumerate(resources.hosts)
        ]
        graph = ClockGraph(trace_clock, domains)
        orders, self._odd = calls.found(resources.shared_hosts(), self._resolutions)
        if orders:
            inner(graph).state.orders.add_of_many(
                [(_clock(order.before), _clock(order.after)) for order in orders],
                np.repeat(np.arange(len(orders)), [len(order.sent) for order in orders]),
                np.concatenate([order.sent for order in orders]),
                np.concatenate([order.received for order in orders]),
            )
        return FileClocks(graph, trace_clock, list(range(max(len(resources.hosts), 1))))

    def calls(self) -> CallColumns | None:
        """Read the file: the calls between its spans and those of other files; None without any."""
        # The reading of the clocks is the one that learns the resolutions.
        _ = self._clocks
        resources, calls = self._new_resources(), SpanCalls()
        for spans in self._until_damage(iter(self._batches(resources, Wanted.NOTHING))):
            calls.add(spans, resources.hosts_of(spans.resource))
        return calls.columns(self._resolutions)

    def notes(self, code: str) -> Iterator[Note]:
        """The notes on odd spans, and the longest resolution of times or durations; see `Trace`."""
        _ = self._clocks
        if code == "odd-spans":
            yield from self._odd
        elif code == "times-rounded" and self._resolutions.longest_ns:
            yield Note(code, "kept", size_ns=self._resolutions.longest_ns)

    def _read_records(self, names: bool) -> Iterator[Records]:
        resources = self._new_resources()
        wanted = Wanted.EVENTS if names else Wanted.NOTHING
        for spans in self._batches(resources, wanted):
            for columns, named in rows_of(spans, resources, names):
                cut_off, early = self._lacking(spans, columns)
                yield Records(columns, named, spans.position, cut_off, early)

    def _lacking(self, spans: Spans, columns: Columns) -> tuple[Values | None, Values | None]:
        """The margins of the time of each row that the file lacks; see `Records`."""
        source, kind = self._source, columns["kind"]
        cut_off = np.where(kind == END, source.end_cut_ns, source.begin_cut_ns)
        if self._resolutions.is_exact:
            return (cut_off if source.end_cut_ns else None), None
        of = columns["packet"].astype(np.int64) - spans.first
        early = np.zeros(len(of), np.int64)
        for which in (BEGIN, END, EVENT):
            rows = np.flatnonzero(kind == which)
            host, begin = columns["machine"][rows], spans.begin[of[rows]]
            time = columns["timestamp"][rows]
            if which == BEGIN:
                margins = self._resolutions.begins(host, time)
            elif which == END:
                margins = self._resolutions.ends(host, begin, time)
            else:
                margins = self._resolutions.events(host, begin, time)
            early[rows] = margins[0]
            cut_off[rows] += margins[1]
        return cut_off, early

    def _read_spans(self, args: bool, progress: Callable[[int], None] | None) -> SpanTable:
        # The reading of the clocks is the one that learns the resolutions.
        _ = self._clocks
        resources = self._new_resources()
        collected = SpanCollector(self._source, self._resolutions, args)
        wanted = Wanted.NAMES_AND_ARGS if args else Wanted.NAMES
        for spans in self._until_damage(iter(self._batches(resources, wanted))):
            collected.add(spans)
            if progress is not None:
                progress(spans.position)
        return collected.table(resources)

    def _new_resources(self) -> Resources:
        return Resources(self.options.max_clocks)

    def _batches(self, resources: Resources, wanted: Wanted) -> SpanBatches:
        return SpanBatches(self._file, self._source, resources, wanted, self.options.max_expansion)


def _clock(host: int) -> ClockId:
    """The clock of a host, by its number."""
    return ClockId(_REALTIME, machine=host)


def _title(host: Host) -> str:
    return f"REALTIME of {host.name or 'an unnamed host'}"
