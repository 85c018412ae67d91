"""Traces of spans: a clock a host, tied by the calls between them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import ClassVar, Final

import numpy as np
import numpy.typing as npt

from tracetime.clocks.domain import ClockDomain
from tracetime.clocks.ids import BUILTIN_IDS, ClockId
from tracetime.formats.record_trace import FileClocks, Records
from tracetime.formats.span_table import SpanTable
from tracetime.formats.span_trace import SpanTrace
from tracetime.formats.spans.batch import Spans
from tracetime.formats.spans.batches import SpanBatches
from tracetime.formats.spans.calls import Calls
from tracetime.formats.spans.calls import Columns as CallColumns
from tracetime.formats.spans.resources import Host, Resources
from tracetime.formats.spans.rows import BEGIN, END, EVENT, KINDS, rows_of
from tracetime.formats.spans.slices import SpanCollector
from tracetime.formats.spans.source import SpanSource, Wanted
from tracetime.formats.spans.steps import SpanSteps
from tracetime.formats.trace_file import TraceFile
from tracetime.graph.clock_graph import ClockGraph, inner
from tracetime.trace.abilities import Shared
from tracetime.trace.events_table import Columns, Kind
from tracetime.trace.notes import Note
from tracetime.trace.open_options import OpenOptions

Values = npt.NDArray[np.int64]

_REALTIME: Final = BUILTIN_IDS["REALTIME"]


class SpansTrace(SpanTrace):
    """A file of spans.

    source: its format.
    """

    KINDS: ClassVar[tuple[Kind, ...]] = KINDS
    shares: ClassVar[frozenset[Shared]] = frozenset(("calls",))

    def __init__(self, file: TraceFile, options: OpenOptions, source: SpanSource) -> None:
        super().__init__(file, options)
        self._source = source
        self._odd: list[Note] = []
        self._steps = SpanSteps(source.unit_ns, source.adds_up)

    def _read_clocks(self) -> FileClocks:
        resources = self._new_resources()
        calls = Calls()
        for spans in self._until_damage(iter(self._batches(resources, Wanted.NOTHING))):
            hosts = resources.hosts_of(spans.resource)
            calls.add(spans, hosts)
            self._steps.add(spans, hosts)
        trace_clock = _clock(0)
        domain = ClockDomain(trace_clock, tick_ns=self._source.tick_ns)
        domains = [
            domain.of_another(_clock(number), _title(host))
            for number, host in enumerate(resources.hosts)
        ]
        graph = ClockGraph(trace_clock, domains)
        orders, self._odd = calls.found(resources.shared_hosts(), self._steps)
        if orders:
            inner(graph).state.orders.add_of_many(
                [(_clock(order.before), _clock(order.after)) for order in orders],
                np.repeat(np.arange(len(orders)), [len(order.sent) for order in orders]),
                np.concatenate([order.sent for order in orders]),
                np.concatenate([order.received for order in orders]),
            )
        return FileClocks(graph, trace_clock, list(range(max(len(resources.hosts), 1))))

    def calls(self) -> CallColumns | None:
        """Read the file: its spans, for what they say of those of other files; None without any."""
        # That of the clocks is the reading that learns the steps.
        _ = self._clocks
        resources, calls = self._new_resources(), Calls()
        for spans in self._until_damage(iter(self._batches(resources, Wanted.NOTHING))):
            calls.add(spans, resources.hosts_of(spans.resource))
        return calls.columns(self._steps)

    def notes(self, code: str) -> Iterator[Note]:
        """What is odd about the spans, and the longest step of times or durations; see `Trace`."""
        _ = self._clocks
        if code == "odd-spans":
            yield from self._odd
        elif code == "times-rounded" and self._steps.longest_ns:
            yield Note(code, "kept", size_ns=self._steps.longest_ns)

    def _read_records(self, names: bool) -> Iterator[Records]:
        resources = self._new_resources()
        wanted = Wanted.EVENTS if names else Wanted.NOTHING
        for spans in self._batches(resources, wanted):
            for columns, named in rows_of(spans, resources, names):
                cut_off, early = self._lacking(spans, columns)
                yield Records(columns, named, spans.position, cut_off, early)

    def _lacking(self, spans: Spans, columns: Columns) -> tuple[Values | None, Values | None]:
        """What the file lacks of the time of each row; see `Records`."""
        source, kind = self._source, columns["kind"]
        cut_off = np.where(kind == END, source.end_cut_ns, source.begin_cut_ns)
        if self._steps.is_exact:
            return (cut_off if source.end_cut_ns else None), None
        of = columns["packet"].astype(np.int64) - spans.first
        early = np.zeros(len(of), np.int64)
        for which in (BEGIN, END, EVENT):
            rows = np.flatnonzero(kind == which)
            host, begin = columns["machine"][rows], spans.begin[of[rows]]
            time = columns["timestamp"][rows]
            if which == BEGIN:
                margins = self._steps.begins(host, time)
            elif which == END:
                margins = self._steps.ends(host, begin, time)
            else:
                margins = self._steps.events(host, begin, time)
            early[rows] = margins[0]
            cut_off[rows] += margins[1]
        return cut_off, early

    def _read_spans(self, args: bool, progress: Callable[[int], None] | None) -> SpanTable:
        # That of the clocks is the reading that learns the steps.
        _ = self._clocks
        resources = self._new_resources()
        collected = SpanCollector(self._source, self._steps, args)
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
