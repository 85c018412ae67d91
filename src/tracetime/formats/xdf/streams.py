"""The streams of an XDF file: their headers, and the offsets of their clocks."""

from __future__ import annotations

import struct
from array import array
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

import numpy as np

from tracetime.formats.xdf.chunks import CLOCK_OFFSET, STREAM_HEADER, Chunk, walk
from tracetime.formats.xdf.content import Content
from tracetime.formats.xdf.pings import Pings
from tracetime.formats.xdf.seconds import is_time
from tracetime.formats.xdf.stream_header import StreamHeader, read_header

_MOST_STREAMS: Final = 4096
_MOST_REFUSED: Final = 100
_OFFSET: Final = struct.Struct("<dd")


class ClockOffset(NamedTuple):
    """What one ClockOffset chunk says.

    Attributes:
        chunk: the chunk.
        when: when it was collected, by the clock of the stream's host, s.
        offset: of the recorder's clock from that, s.
    """

    chunk: Chunk
    when: float
    offset: float


def chunks_of(file: Content, headers: dict[int, StreamHeader]) -> Iterator[Chunk]:
    """Yield the chunks of a file, each stream's after its header; fills `headers`.

    Raises:
        TraceError: as `walk` and `read_header`; a stream has no header, or two.
    """
    for chunk in walk(file):
        if chunk.tag == STREAM_HEADER:
            if chunk.stream in headers:
                raise chunk.error(f"stream {chunk.stream} has a second header")
            if len(headers) == _MOST_STREAMS:
                raise chunk.error(f"the file has more than {_MOST_STREAMS} streams")
            headers[chunk.stream] = read_header(file, chunk)
        elif chunk.stream >= 0 and chunk.stream not in headers:
            raise chunk.error(f"stream {chunk.stream} has no header before this chunk")
        elif chunk.tag == CLOCK_OFFSET and chunk.end - chunk.content != _OFFSET.size:
            size = chunk.end - chunk.content
            raise chunk.error(f"an offset of a clock has {size} bytes, not {_OFFSET.size}")
        yield chunk


def offsets_of(file: Content, headers: dict[int, StreamHeader]) -> Iterator[ClockOffset]:
    """Yield the offsets of clocks in a file; fills `headers`.

    Raises:
        TraceError: as `chunks_of`.
    """
    for chunk in chunks_of(file, headers):
        if chunk.tag == CLOCK_OFFSET:
            yield ClockOffset(chunk, *_OFFSET.unpack(file.read(chunk.content, _OFFSET.size)))


class _Columns:
    """The offsets of one stream, one after another."""

    def __init__(self) -> None:
        self.when, self.offset, self.packet = array("d"), array("d"), array("q")

    def pings(self) -> Pings:
        return Pings.of(
            np.array(self.when, np.float64),
            np.array(self.offset, np.float64),
            np.array(self.packet, np.int64),
        )


class Streams:
    """What a file says of its streams, but for their samples.

    Args:
        offsets: of the whole file.
        headers: by stream; read when the offsets are.

    Attributes:
        headers: by stream.
        pings: by stream, empty of those without offsets.
        refused: the first hundred offsets that are no times.
        n_refused: how many there are.
    """

    def __init__(self, offsets: Iterable[ClockOffset], headers: dict[int, StreamHeader]) -> None:
        self.refused: list[ClockOffset] = []
        self.n_refused = 0
        columns: dict[int, _Columns] = {}
        for one in offsets:
            if not all(map(is_time, (one.when, one.offset, one.when + one.offset))):
                self._refuse(one)
                continue
            of_stream = columns.setdefault(one.chunk.stream, _Columns())
            of_stream.when.append(one.when)
            of_stream.offset.append(one.offset)
            of_stream.packet.append(one.chunk.number)
        self.headers = headers
        self.pings = {number: columns.get(number, _Columns()).pings() for number in headers}

    def _refuse(self, one: ClockOffset) -> None:
        self.n_refused += 1
        if len(self.refused) < _MOST_REFUSED:
            self.refused.append(one)
