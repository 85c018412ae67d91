"""Samples of XDF files: their timestamps, and where their values are, chunk by chunk."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from tracetime._kernels import xdf
from tracetime.errors import TraceError
from tracetime.formats.xdf.chunks import MOST_S, SAMPLES, Chunks, Content, Seconds
from tracetime.formats.xdf.stream_header import SAMPLE_BYTES, StreamHeader
from tracetime.graph.values import Values

MOST_BYTES: Final = 1 << 30
MOST_TEXT_BYTES: Final = 4 << 20
"""Of one chunk of samples. Recorders write one every half second; texts become strings, and those
columns: up to 60 times their bytes."""

_FAULTS: Final = {
    3: "a chunk of {} bytes cannot hold as many samples as it says: it is corrupt",
    4: "samples do not fill their chunk: it is corrupt",
    5: "a sample has a timestamp that is no time",
}
"""By `xdf.SampleReader.read`."""


class Samples(NamedTuple):
    """Samples that follow each other in the file.

    Attributes:
        headers: of the streams of the file, so far.
        data: bytes that hold their values.
        stream: the index in `headers` of each, int64[n].
        number, offset: the chunk of each, and the first byte of that, int64[n].
        item: the index of each in its chunk, uint32[n].
        seconds: their timestamps, float64[n].
        places: where in `data` the values of each begin, int64[n].
        end: where in the file the last of their chunks ends.
    """

    headers: list[StreamHeader]
    data: bytes
    stream: Values
    number: Values
    offset: Values
    item: npt.NDArray[np.uint32]
    seconds: Seconds
    places: Values
    end: int


class SampleReader:
    """Reads chunks of samples, in the order of the file.

    Args:
        file: that the chunks are in.
        headers: of its streams, by number: those of the chunks that have been reached.
    """

    def __init__(self, file: Content, headers: Mapping[int, StreamHeader]) -> None:
        self._file = file
        self._headers = headers
        self._reader = xdf.SampleReader(MOST_S)

    def read(self, chunks: Iterator[Chunks], most: int) -> Iterator[Samples]:
        """Yield the samples of all chunks in order, so many at most at once.

        Raises:
            TraceError: counts or lengths in a chunk are not possible.
        """
        for each in chunks:
            some = each.rows(each.tag == SAMPLES)
            row, error = self._first_too_large(some)
            if row:
                yield from self._samples(some.rows(slice(row)), most)
            if error is not None:
                raise error

    def _first_too_large(self, chunks: Chunks) -> tuple[int, TraceError | None]:
        """The first chunk that is larger than any may be, and its error; the end where none is."""
        sizes = chunks.end - chunks.content
        for row in np.flatnonzero(sizes > MOST_TEXT_BYTES).tolist():
            chunk, size = chunks.one(row), sizes[row]
            most = MOST_TEXT_BYTES if self._headers[chunk.stream].is_text else MOST_BYTES
            if size > most:
                return row, chunk.error(f"a chunk of {size} bytes of samples: {most} is the most")
        return len(chunks.tag), None

    def _samples(self, chunks: Chunks, most: int) -> Iterator[Samples]:
        headers = list(self._headers.values())
        for header in headers[len(self._reader) :]:
            size = 0 if header.is_text else SAMPLE_BYTES[header.channel_format]
            step_s = 1.0 / header.srate if header.srate > 0 else 0.0
            self._reader.add_stream(header.channels, size, step_s)
        numbers = np.array([header.number for header in headers], np.int64)
        order = np.argsort(numbers)
        streams = order[np.searchsorted(numbers[order], chunks.stream)]
        # Of the chunks that begin within so many bytes, only the last can be long.
        begin, end = int(chunks.content[0]), int(chunks.end[-1])
        data = self._file.read(begin, end - begin)
        counts, seconds, places, fault = self._reader.read(
            data, streams, chunks.content - begin, chunks.end - begin
        )
        ends = np.cumsum(counts)
        for first in range(0, len(seconds), most):
            rows = np.arange(first, min(first + most, len(seconds)))
            chunk = np.searchsorted(ends, rows, "right")
            yield Samples(
                headers,
                data,
                streams[chunk],
                chunks.number[chunk],
                chunks.offset[chunk],
                (rows - (ends - counts)[chunk]).astype(np.uint32),
                seconds[rows],
                places[rows],
                int(chunks.end[chunk[-1]]),
            )
        # What comes before a fault is read all the same.
        if fault:
            wrong = chunks.one(len(counts))
            raise wrong.error(_FAULTS[fault].format(wrong.end - wrong.content))
