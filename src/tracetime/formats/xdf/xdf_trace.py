"""An XDF file as a trace: each sample an event, by the clock of the host that sent it."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tracetime._kernels.xdf import text_places
from tracetime.clocks.domain import ClockDomain
from tracetime.clocks.ids import ClockId
from tracetime.errors import TraceError
from tracetime.formats.record_trace import FileClocks, Records, RecordTrace
from tracetime.formats.source_times import BackwardStreams, backwards
from tracetime.formats.trace_file import TraceFile
from tracetime.formats.xdf.chunks import Content, nanoseconds
from tracetime.formats.xdf.host_clocks import (
    LEAST_HALF_WIDTH_NS,
    RECORDER,
    HostClock,
    host_clocks,
    machines,
)
from tracetime.formats.xdf.samples import SampleReader, Samples
from tracetime.formats.xdf.stream_header import StreamHeader, Streams, chunks_of, offsets_of
from tracetime.graph.clock_graph import ClockGraph
from tracetime.graph.values import Values
from tracetime.text import count, printable
from tracetime.trace.events_table import BATCH_ROWS, TYPES, Columns, Kind
from tracetime.trace.facts import SnapshotFault, TraceWarning
from tracetime.trace.notes import Note
from tracetime.trace.open_options import OpenOptions

# The names of samples, as Arrow columns: the stream, the marker's text, values of channels.

_COUNTER: Final = TYPES.index("counter")
_INSTANT: Final = TYPES.index("instant")

MOST_CHANNELS: Final = 32
"""Samples of more have no args: a table of numbers says them better."""

_FORMS: Final[dict[str, np.dtype[Any]]] = {
    "float32": np.dtype("<f4"),
    "double64": np.dtype("<f8"),
    "int8": np.dtype("<i1"),
    "int16": np.dtype("<i2"),
    "int32": np.dtype("<i4"),
    "int64": np.dtype("<i8"),
}

_NAMED: Final = {"category": "type", "track_name": "name", "process_name": "hostname"}
"""Columns, and what the header of a stream says of them."""


def names_of(samples: Samples) -> dict[str, pa.Array]:
    """The columns of names of samples; see `name_columns`."""
    present, stream, counts = np.unique(samples.stream, return_inverse=True, return_counts=True)
    headers = [samples.headers[index] for index in present.tolist()]
    # Values are made stream by stream.
    order = np.argsort(stream, kind="stable")
    places = np.split(samples.places[order], np.cumsum(counts)[:-1])
    described = [
        _describe(header, samples.data, of_one)
        for header, of_one in zip(headers, places, strict=True)
    ]
    back = pa.array(np.argsort(order))
    columns = [pa.concat_arrays(column).take(back) for column in zip(*described, strict=True)]
    texts = {name: [getattr(h, field) for h in headers] for name, field in _NAMED.items()}
    names = {name: _repeat(given, stream) for name, given in texts.items()}
    names["track"] = pa.array(np.array([h.number for h in headers], np.uint64)[stream])
    types = [_INSTANT if header.is_text else _COUNTER for header in headers]
    names["type"] = pa.array(np.array(types, np.int8)[stream])
    names |= zip(("name", "value", "args"), columns, strict=True)
    names["name"] = names["name"].dictionary_encode()
    return names


def _describe(
    header: StreamHeader, data: bytes, places: Values
) -> tuple[pa.Array, pa.Array, pa.Array]:
    """The name, the value and the args of each sample of one stream."""
    n = len(places)
    channels = header.channels if header.channels <= MOST_CHANNELS else 1
    if header.is_text:
        bounds = text_places(data, places, channels).tolist()
        rows = [[data[begin:end].decode(errors="replace") for begin, end in row] for row in bounds]
        markers = pa.array([row[0] for row in rows], pa.string())
        return markers, pa.nulls(n, pa.float64()), _text_args(rows, n)
    form = _FORMS[header.channel_format]
    content = np.frombuffer(data, np.uint8)
    windows = np.lib.stride_tricks.sliding_window_view(content, channels * form.itemsize)
    numbers = windows[places].view(form)
    with np.errstate(invalid="ignore"):  # a signalling NaN
        first = pa.array(numbers[:, 0].astype(np.float64))
    named = pa.repeat(pa.scalar(header.name or None, pa.string()), n)
    return named, first, _number_args(numbers)


def _repeat(texts: list[str], which: npt.NDArray[np.intp]) -> pa.Array:
    """One of some texts in each row; null where it is empty."""
    distinct = {text: k for k, text in enumerate(dict.fromkeys(filter(None, texts)))}
    codes = np.array([distinct.get(text, -1) for text in texts], np.int32)[which]
    known = pa.array(list(distinct), pa.string())
    return pa.DictionaryArray.from_arrays(pa.array(codes, mask=codes < 0), known)


def _text_args(values: Sequence[Sequence[str]], n: int) -> pa.Array:
    if not values or len(values[0]) == 1:
        return pa.nulls(n, pa.string())
    texts = [
        json.dumps({"channels": row}, ensure_ascii=False, separators=(",", ":")) for row in values
    ]
    return pa.array(texts, pa.string())


def _number_args(values: Any) -> pa.Array:
    """The values of all channels, as JSON; null of one channel."""
    n, channels = values.shape
    if channels == 1:
        return pa.nulls(n, pa.string())
    import pyarrow.compute as pc

    columns = []
    for channel in range(channels):
        numbers = values[:, channel]
        texts = pa.array(numbers).cast(pa.string())
        # JSON has no number for these.
        columns.append(pc.if_else(pa.array(np.isfinite(numbers)), texts, "null"))
    inner = pc.binary_join_element_wise(*columns, ",")
    return pc.binary_join_element_wise('{"channels":[', inner, "]}", "")


_RECORDER: Final = ClockId.parse(RECORDER)
_NO_TIME: Final = 6
"""The fault that a reading does not fit in int64 ns, of `SNAPSHOT_FAULTS`."""


class XdfTrace(RecordTrace):
    """A recording of the lab streaming layer."""

    KINDS: ClassVar[tuple[Kind, ...]] = (Kind("sample"),)
    FORMAT = "XDF recording"
    ROW = "sample"
    UNSAID: ClassVar = "an XDF file does not say how long its pings took"

    def __init__(self, file: TraceFile, options: OpenOptions) -> None:
        super().__init__(file, options)
        self._opened: Content | None = None
        self._hosts: dict[int, HostClock] = {}
        self._domains: dict[ClockId, ClockDomain] = {}
        self._packets = np.empty(0, np.uint64)
        self._streams: Streams | None = None
        self._backward_streams: BackwardStreams | None = None
        self._sampled = set[int]()

    def close(self) -> None:
        """Close the file, and a decompressed copy of it."""
        if self._opened is not None:
            self._opened.close()
        super().close()

    @property
    def streams(self) -> Streams:
        """The headers of the streams, and the offsets of their clocks."""
        _ = self._clocks
        assert self._streams is not None
        return self._streams

    @property
    def about(self) -> str:
        """The streams, with their types; first of all those without samples."""
        texts: dict[bool, list[str]] = {False: [], True: []}
        for number, header in self.streams.headers.items():
            kind = f" ({header.type})" if header.type else ""
            name = f"{header.name or f'stream {number}'}{kind}"
            texts[number in self._sampled].append(name)
        empty, sampled = map(", ".join, texts.values())
        without = f"{count(len(texts[False]), 'stream')} without samples: {empty}"
        return "; ".join(filter(None, (without if empty else "", sampled)))

    @property
    def warnings(self) -> list[TraceWarning]:
        """Offsets of clocks that are no times, in file order; the first hundred."""
        return [
            TraceWarning(
                f"the offset of the clock of stream {one.chunk.stream} is no time: {one.offset} s "
                f"at {one.when} s",
                one.chunk.offset,
                one.chunk.number,
            )
            for one in self.streams.refused
        ]

    @property
    def faults(self) -> list[SnapshotFault]:
        """The fault of each of `warnings`."""
        return [
            SnapshotFault(
                _NO_TIME,
                one.chunk.number,
                one.chunk.offset,
                ClockId.parse(self._hosts[one.chunk.stream].clock()),
                0,
            )
            for one in self.streams.refused
        ]

    @property
    def n_warnings(self) -> int:
        """The number of all warnings."""
        return self.streams.n_refused

    def notes(self, code: str) -> Iterator[Note]:
        """Hosts whose offsets shift, and samples over 1 s earlier than those before them.

        By more than the half-width otherwise is. Of hosts whose clock fell as the recorder saw it,
        too, the samples are no wonder.
        """
        _ = self._clocks
        if code == "offsets-shifted":
            each = {host.machine: host for host in self._hosts.values()}
            for _, host in sorted(each.items()):
                by_ns, packet = host.shift
                if by_ns > LEAST_HALF_WIDTH_NS:
                    clocks = (ClockId.parse(host.clock()),)
                    size_ns = math.ceil(by_ns)
                    yield Note(code, packets=(packet,), events=None, size_ns=size_ns, clocks=clocks)
        elif code == "stream-backwards":
            headers, found = self.streams.headers, self._read_backward_streams()
            names = [
                f"stream {number} ({printable(headers[number].name)})"
                for number in sorted(found.streams)
            ]
            yield from backwards(found.events, found.first, names, found.size_ns)

    def _read_backward_streams(self) -> BackwardStreams:
        if self._backward_streams is None:
            _ = self._clocks
            for _ in self._until_damage(self._read_records(False)):
                pass
        assert self._backward_streams is not None
        return self._backward_streams

    @property
    def snapshot_packets(self) -> npt.NDArray[np.uint64]:
        """The chunk that each snapshot of `clocks` came in, by its number."""
        _ = self._clocks
        return self._packets

    @property
    def recorded_domains(self) -> dict[ClockId, ClockDomain]:
        """The properties of the clocks that the file itself gives, by clock."""
        _ = self._clocks
        return self._domains

    def apply_options(self, graph: ClockGraph) -> None:
        """Tell a graph what the file says of the clocks, and over it what the caller does."""
        super().apply_options(graph)
        given = {domain.id: domain for domain in self.domains}
        recorder = given.get(_RECORDER)
        is_of_all = recorder is not None and recorder.assumed_half_width_ns is not None
        for clock, recorded in self._domains.items():
            graph.declare(_merge_domains(recorded, given.get(clock), is_of_all))

    def _assumed(self) -> dict[ClockId, ClockId]:
        """The clocks of all hosts: the half-width of the recorder's clock is that of them all."""
        return {info.clock: _RECORDER for info in self.clocks.clocks() if info.clock != _RECORDER}

    def _content(self) -> Content:
        if self._opened is None:
            options = self.options
            self._opened = Content(self._file, options.max_expansion, options.partial)
        return self._opened

    def _read_clocks(self) -> FileClocks:
        headers: dict[int, StreamHeader] = {}
        offsets = self._until_damage(offsets_of(self._content(), headers, self._sampled))
        self._streams = streams = Streams(offsets, headers)
        self._hosts = host_clocks(headers.values(), streams.pings)
        graph = ClockGraph(RECORDER)
        by_machine = {host.machine: host for host in self._hosts.values()}
        each = [by_machine[machine] for machine in sorted(by_machine)]
        packets = [packets for host in each for packets in host.add_to(graph)]
        self._packets = np.concatenate([np.empty(0, np.int64), *packets]).astype(np.uint64)
        self._domains = {domain.id: domain for host in each for domain in host.domains()}
        return FileClocks(graph, _RECORDER, machines(each))

    def _read_records(self, names: bool) -> Iterator[Records]:
        back = BackwardStreams()
        try:
            for samples, records in self._read_samples(names):
                self._look_back(back, samples, records.columns)
                yield records
        except TraceError:
            self._backward_streams = back
            raise
        self._backward_streams = back

    def _look_back(self, back: BackwardStreams, samples: Samples, columns: Columns) -> None:
        """Look for samples that are earlier than those before them; not where the clock fell."""
        numbers = [header.number for header in samples.headers]
        streams = [-1 if self._hosts[number].steps else number for number in numbers]
        stream = np.array(streams, np.int64)[samples.stream]
        rows = np.flatnonzero(stream >= 0)
        back.add(stream[rows], columns["timestamp"][rows], columns["packet"][rows])

    def _read_samples(self, names: bool) -> Iterator[tuple[Samples, Records]]:
        headers: dict[int, StreamHeader] = {}
        reader = SampleReader(self._content(), headers)
        for samples in reader.read(chunks_of(self._content(), headers), BATCH_ROWS):
            yield samples, self._records(samples, names)

    def _records(self, samples: Samples, names: bool) -> Records:
        """Samples as columns."""
        times = nanoseconds(samples.seconds)
        each = [self._hosts[header.number] for header in samples.headers]
        hosts = {host.machine: host for host in each}
        machine = np.array([host.machine for host in each], np.uint32)[samples.stream]
        clock = np.empty(len(times), np.uint32)
        order = np.argsort(machine, kind="stable")
        for rows in np.split(order, np.flatnonzero(np.diff(machine[order])) + 1):
            clock[rows] = hosts[int(machine[rows[0]])].clocks_of(samples.number[rows], times[rows])
        columns: Columns = {
            "packet": samples.number.astype(np.uint64),
            "item": samples.item,
            "machine": machine,
            "clock": clock,
            "timestamp": times,
            "offset": samples.offset.astype(np.uint64),
        }
        named = names_of(samples) if names else {}
        return Records(columns, named, self._position(samples.end))

    def _position(self, end: int) -> int:
        """The byte of the file on disk for one of its content."""
        return end * self.size // max(1, self._content().size)


def _merge_domains(
    recorded: ClockDomain, given: ClockDomain | None, is_of_all: bool
) -> ClockDomain:
    """The domain of a clock by the file and the caller.

    is_of_all: whether the caller gave that of all offsets, as one of the recorder's clock.
    """
    domain = recorded if given is None else given
    width = None if given is None else given.assumed_half_width_ns
    if width is None and not is_of_all:
        width = recorded.assumed_half_width_ns
    tick_ns = max(recorded.tick_ns or 0, domain.tick_ns or 0)
    # Made of a text, a domain has the name without the machine.
    is_same = f"{domain.name}@machine{recorded.id.machine}" == recorded.name
    name = recorded.name if is_same else domain.name or recorded.name
    return replace(domain, name=name, tick_ns=tick_ns, assumed_half_width_ns=width)
