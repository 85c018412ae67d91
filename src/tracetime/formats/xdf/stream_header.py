"""The header of a stream: XML, of which only the fields of `info` are kept."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple
from xml.parsers import expat

import numpy as np

from tracetime.errors import TraceError
from tracetime.formats.xdf.chunks import (
    CLOCK_OFFSET,
    SAMPLES,
    STREAM_HEADER,
    Chunk,
    Chunks,
    Content,
    Seconds,
    are_times,
    walk,
)
from tracetime.formats.xdf.pings import Pings
from tracetime.graph.values import Values

SAMPLE_BYTES: Final = {
    "float32": 4,
    "double64": 8,
    "int8": 1,
    "int16": 2,
    "int32": 4,
    "int64": 8,
    "string": 2,
}
"""By channel format, the least bytes of one value; a string is its length at least."""

MOST_BYTES: Final = 8 << 20
"""Of a header; those of electrode caps have some 100 kB."""

_MOST_CHANNELS: Final = 1 << 20
_MOST_CHARACTERS: Final = 1_000
"""Of a field's text, the rest of which is dropped."""


@dataclass(frozen=True, slots=True)
class StreamHeader:
    """One stream.

    Attributes:
        number: its StreamId in the file.
        name, type, hostname: as the header has them; "" where it does not.
        channels, channel_format, srate: of each sample; srate is 0 of irregular streams.
    """

    number: int
    name: str
    type: str
    hostname: str
    channels: int
    channel_format: str
    srate: float

    @property
    def is_text(self) -> bool:
        """Whether samples are strings: markers."""
        return self.channel_format == "string"


def read_header(file: Content, chunk: Chunk) -> StreamHeader:
    """Return what the header chunk of a stream says.

    Raises:
        TraceError: it is no XML, or lacks what samples cannot be read without.
    """
    size = chunk.end - chunk.content
    if size > MOST_BYTES:
        raise chunk.error(f"the header of stream {chunk.stream} has {size} bytes: it is corrupt")
    try:
        fields = _fields(file.read(chunk.content, size))
    except (expat.ExpatError, ValueError) as error:
        raise chunk.error(f"the header of stream {chunk.stream} is no XML: {error}") from None
    return StreamHeader(
        chunk.stream,
        fields.get("name", ""),
        fields.get("type", ""),
        fields.get("hostname", ""),
        _channels(fields, chunk),
        _format(fields, chunk),
        _srate(fields, chunk),
    )


def _fields(xml: bytes) -> dict[str, str]:
    """The texts of the elements right below the root, the first of each name."""
    fields: dict[str, str] = {}
    path: list[str] = []

    def start(name: str, attributes: dict[str, str]) -> None:
        path.append(name)
        if len(path) == 2 and name in fields:
            path[-1] = ""

    def end(name: str) -> None:
        path.pop()

    def text(data: str) -> None:
        if len(path) == 2 and path[-1] in _FIELDS:
            fields[path[-1]] = (fields.get(path[-1], "") + data)[:_MOST_CHARACTERS]

    def refuse(*_: object) -> None:
        raise ValueError("it declares entities")

    parser = expat.ParserCreate("utf-8")
    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.CharacterDataHandler = text
    parser.EntityDeclHandler = refuse
    # Writers put what they like into texts; the fields that matter are plain.
    parser.Parse(xml.decode("utf-8", "replace").encode(), True)
    return {name: value.strip() for name, value in fields.items()}


_FIELDS: Final = frozenset(
    ("name", "type", "hostname", "channel_count", "channel_format", "nominal_srate")
)


def _channels(fields: dict[str, str], chunk: Chunk) -> int:
    text = fields.get("channel_count", "")
    if not (text.isascii() and text.isdecimal() and len(text) < 10):
        raise _lacks(chunk, "channel_count", text)
    if not 1 <= int(text) <= _MOST_CHANNELS:
        raise _lacks(chunk, "channel_count", text)
    return int(text)


def _format(fields: dict[str, str], chunk: Chunk) -> str:
    text = fields.get("channel_format", "")
    if text not in SAMPLE_BYTES:
        raise _lacks(chunk, "channel_format", text)
    return text


def _srate(fields: dict[str, str], chunk: Chunk) -> float:
    text = fields.get("nominal_srate", "")
    try:
        srate = float(text)
    except ValueError:
        srate = math.nan
    if not (math.isfinite(srate) and srate >= 0):
        raise _lacks(chunk, "nominal_srate", text)
    return srate


def _lacks(chunk: Chunk, field: str, text: str) -> TraceError:
    what = f"has {field} {text[:40]!r}" if text else f"has no {field}"
    return chunk.error(f"the header of stream {chunk.stream} {what}: its samples cannot be read")


# The streams of an XDF file: their headers, and the offsets of their clocks.

_MOST_STREAMS: Final = 4096
_MOST_REFUSED: Final = 100
_OFFSET: Final = np.dtype([("when", "<f8"), ("offset", "<f8")])


class ClockOffset(NamedTuple):
    """The measurement in one ClockOffset chunk.

    Attributes:
        chunk: the chunk.
        when: when it was collected, by the clock of the stream's host, s.
        offset: of the recorder's clock from that, s.
    """

    chunk: Chunk
    when: float
    offset: float


class ClockOffsets(NamedTuple):
    """The measurements in ClockOffset chunks, in file order: the columns of `ClockOffset`."""

    chunks: Chunks
    when: Seconds
    offset: Seconds


def chunks_of(file: Content, headers: dict[int, StreamHeader]) -> Iterator[Chunks]:
    """Yield the chunks of a file but for headers, each stream's after its own; fills `headers`.

    Raises:
        TraceError: as `walk` and `read_header`; a stream has no header, or two.
    """
    for chunks in walk(file):
        begin = 0
        for row in np.flatnonzero(chunks.tag == STREAM_HEADER).tolist():
            yield from _check_chunks(chunks.rows(slice(begin, row)), headers)
            _add_header(file, chunks.one(row), headers)
            begin = row + 1
        yield from _check_chunks(chunks.rows(slice(begin, None)), headers)


def _add_header(file: Content, chunk: Chunk, headers: dict[int, StreamHeader]) -> None:
    if chunk.stream in headers:
        raise chunk.error(f"stream {chunk.stream} has a second header")
    if len(headers) == _MOST_STREAMS:
        raise chunk.error(f"the file has more than {_MOST_STREAMS} streams")
    headers[chunk.stream] = read_header(file, chunk)


def _check_chunks(chunks: Chunks, headers: dict[int, StreamHeader]) -> Iterator[Chunks]:
    """The chunks up to one that cannot be."""
    if not len(chunks.tag):
        return
    known = np.isin(chunks.stream, [-1, *headers])
    sizes = chunks.end - chunks.content
    whole = (chunks.tag != CLOCK_OFFSET) | (sizes == _OFFSET.itemsize)
    if (known & whole).all():
        yield chunks
        return
    row = int(np.argmin(known & whole))
    yield chunks.rows(slice(row))
    wrong = chunks.one(row)
    if not known[row]:
        raise wrong.error(f"stream {wrong.stream} has no header before this chunk")
    raise wrong.error(f"an offset of a clock has {sizes[row]} bytes, not {_OFFSET.itemsize}")


def offsets_of(
    file: Content, headers: dict[int, StreamHeader], sampled: set[int]
) -> Iterator[ClockOffsets]:
    """Yield the offsets of clocks; fills `headers`, and `sampled` with the streams of samples.

    Raises:
        TraceError: as `chunks_of`.
    """
    for chunks in chunks_of(file, headers):
        sampled.update(np.unique(chunks.stream[chunks.tag == SAMPLES]).tolist())
        some = chunks.rows(chunks.tag == CLOCK_OFFSET)
        if len(some.tag):
            begin = int(some.content[0])
            data = np.frombuffer(file.read(begin, int(some.end[-1]) - begin), np.uint8)
            places = np.lib.stride_tricks.sliding_window_view(data, _OFFSET.itemsize)
            said = places[some.content - begin].view(_OFFSET)[:, 0]
            yield ClockOffsets(some, said["when"], said["offset"])


class Streams:
    """The streams of a file, but for their samples.

    Args:
        offsets: of the whole file.
        headers: by stream; read when the offsets are.

    Attributes:
        headers: by stream.
        pings: by stream, empty of those without offsets.
        refused: the first hundred offsets that are no times.
        n_refused: how many there are.
    """

    def __init__(self, offsets: Iterable[ClockOffsets], headers: dict[int, StreamHeader]) -> None:
        self.refused: list[ClockOffset] = []
        self.n_refused = 0
        none, no_number = np.empty(0), np.empty(0, np.int64)
        columns = [(none, none, no_number, no_number)]
        for some in offsets:
            columns.append(self._times(some))
        *of_pings, streams = map(np.concatenate, zip(*columns, strict=True))
        order = np.argsort(streams, kind="stable")
        numbers = np.array([*headers], np.int64)
        bounds = (np.searchsorted(streams[order], numbers, side) for side in ("left", "right"))
        each = zip(headers, *(bound.tolist() for bound in bounds), strict=True)
        self.headers = headers
        self.pings = {
            number: Pings.of(*(column[order[begin:end]] for column in of_pings))
            for number, begin, end in each
        }

    def _times(self, some: ClockOffsets) -> tuple[Seconds, Seconds, Values, Values]:
        """The columns when, offset, chunk and stream of the times; others are refused."""
        fit = are_times(some.when) & are_times(some.offset) & are_times(some.when + some.offset)
        refused = np.flatnonzero(~fit)
        self.n_refused += len(refused)
        for row in refused[: _MOST_REFUSED - len(self.refused)].tolist():
            when, offset = float(some.when[row]), float(some.offset[row])
            self.refused.append(ClockOffset(some.chunks.one(row), when, offset))
        chunks = some.chunks.rows(fit)
        return some.when[fit], some.offset[fit], chunks.number, chunks.stream
