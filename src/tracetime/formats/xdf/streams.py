"""The streams of an XDF file: their headers, and the offsets of their clocks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

import numpy as np

from tracetime.formats.xdf.chunks import CLOCK_OFFSET, STREAM_HEADER, Chunk, Chunks, walk
from tracetime.formats.xdf.content import Content
from tracetime.formats.xdf.pings import Pings
from tracetime.formats.xdf.seconds import Seconds, Values, are_times
from tracetime.formats.xdf.stream_header import StreamHeader, read_header

_MOST_STREAMS: Final = 4096
_MOST_REFUSED: Final = 100
_OFFSET: Final = np.dtype([("when", "<f8"), ("offset", "<f8")])


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


class ClockOffsets(NamedTuple):
    """What ClockOffset chunks say, in the order of the file: the columns of `ClockOffset`."""

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
            yield from _checked(chunks.rows(slice(begin, row)), headers)
            _add_header(file, chunks.one(row), headers)
            begin = row + 1
        yield from _checked(chunks.rows(slice(begin, None)), headers)


def _add_header(file: Content, chunk: Chunk, headers: dict[int, StreamHeader]) -> None:
    if chunk.stream in headers:
        raise chunk.error(f"stream {chunk.stream} has a second header")
    if len(headers) == _MOST_STREAMS:
        raise chunk.error(f"the file has more than {_MOST_STREAMS} streams")
    headers[chunk.stream] = read_header(file, chunk)


def _checked(chunks: Chunks, headers: dict[int, StreamHeader]) -> Iterator[Chunks]:
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


def offsets_of(file: Content, headers: dict[int, StreamHeader]) -> Iterator[ClockOffsets]:
    """Yield the offsets of clocks in a file; fills `headers`.

    Raises:
        TraceError: as `chunks_of`.
    """
    for chunks in chunks_of(file, headers):
        some = chunks.rows(chunks.tag == CLOCK_OFFSET)
        if len(some.tag):
            begin = int(some.content[0])
            data = np.frombuffer(file.read(begin, int(some.end[-1]) - begin), np.uint8)
            places = np.lib.stride_tricks.sliding_window_view(data, _OFFSET.itemsize)
            said = places[some.content - begin].view(_OFFSET)[:, 0]
            yield ClockOffsets(some, said["when"], said["offset"])


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
        """Those that are times, the others refused: when, offset, chunk and stream."""
        fit = are_times(some.when) & are_times(some.offset) & are_times(some.when + some.offset)
        refused = np.flatnonzero(~fit)
        self.n_refused += len(refused)
        for row in refused[: _MOST_REFUSED - len(self.refused)].tolist():
            when, offset = float(some.when[row]), float(some.offset[row])
            self.refused.append(ClockOffset(some.chunks.one(row), when, offset))
        chunks = some.chunks.rows(fit)
        return some.when[fit], some.offset[fit], chunks.number, chunks.stream
