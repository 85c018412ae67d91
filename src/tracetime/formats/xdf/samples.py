"""Samples of XDF files, as pyxdf reads them: their timestamps and values, chunk by chunk.

pyxdf takes every length that it reads on trust. So it is given chunks whose counts have been
checked, a few MB at a time, and after each one it must stand where the chunk ends.
"""

from __future__ import annotations

import io
import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from tracetime.errors import TraceError, UsageError
from tracetime.formats.xdf import MAGIC
from tracetime.formats.xdf.chunks import SAMPLES, STREAM_HEADER, Chunk, varlen
from tracetime.formats.xdf.content import Content
from tracetime.formats.xdf.seconds import Seconds, are_times
from tracetime.formats.xdf.stream_header import SAMPLE_BYTES, StreamHeader

MOST_BYTES: Final = 1 << 30
MOST_TEXT_BYTES: Final = 4 << 20
"""Of one chunk of samples. Recorders write one every half second; pyxdf makes a list and strings
of each sample of text, and they become columns: up to 60 times its bytes."""

_Whole = tuple[Chunk, bytes]
"""A chunk of samples, and all its bytes."""

_BATCH_BYTES: Final = 1 << 20
_BOUNDARY: Final = b"\x01\x12\x05\x00" + bytes.fromhex("43a546dccbf5410fb30ed5467383cbe4")
_LENGTH: Final = 9
"""Bytes that the number of samples in a chunk takes at most."""


class Samples(NamedTuple):
    """Samples of one chunk: all of them, or some that follow each other.

    Attributes:
        chunk, header: where they stand, and of which stream.
        first: the index of the first of them in the chunk.
        seconds: their timestamps, float64[n].
        values: [n, channels] of the channels' type; of text a list of lists.
    """

    chunk: Chunk
    header: StreamHeader
    first: int
    seconds: Seconds
    values: Any

    @property
    def items(self) -> npt.NDArray[np.uint32]:
        """The index of each in the chunk."""
        return np.arange(self.first, self.first + len(self.seconds), dtype=np.uint32)

    def parts(self, most: int) -> Iterator[Samples]:
        """The same in parts of so many at most."""
        for begin in range(0, len(self.seconds), most):
            some = slice(begin, begin + most)
            yield self._replace(
                first=self.first + begin, seconds=self.seconds[some], values=self.values[some]
            )


class SampleReader:
    """Reads chunks of samples, in the order of the file.

    Args:
        file: that the chunks are in.
        headers: of its streams, by number: those of the chunks that have been reached.

    Raises:
        UsageError: pyxdf is not installed.
    """

    def __init__(self, file: Content, headers: Mapping[int, StreamHeader]) -> None:
        self._file = file
        self._headers = headers
        self._last_s: dict[int, float] = {}
        try:
            self._pyxdf = import_module("pyxdf")
        except ImportError:
            raise UsageError(
                "samples of XDF files need pyxdf: pip install 'tracetime[xdf]'"
            ) from None

    def read(self, chunks: Iterator[Chunk]) -> Iterator[Samples]:
        """Yield the samples of each chunk of samples, in order.

        Raises:
            TraceError: counts or lengths in a chunk are not possible.
        """
        batch: list[_Whole] = []
        size, fault = 0, None
        try:
            for chunk in chunks:
                if chunk.tag == SAMPLES and (data := self._bytes(chunk)):
                    batch.append((chunk, data))
                    size += len(data)
                if size >= _BATCH_BYTES:
                    ready, batch, size = batch, [], 0
                    yield from self._decode(ready)
        except TraceError as error:
            fault = error
        # What comes before a fault is read all the same.
        yield from self._decode(batch)
        if fault is not None:
            raise fault

    def _decode(self, batch: Sequence[_Whole]) -> Iterator[Samples]:
        if not batch:
            return
        seen = {chunk.stream: self._headers[chunk.stream] for chunk, _ in batch}
        content = MAGIC + b"".join(_header_chunk(header) for header in seen.values())
        seeds = [self._seed(header) for header in seen.values() if header.number in self._last_s]
        ends = np.cumsum([len(content), *map(len, seeds), *(len(data) for _, data in batch)])[1:]
        # Not the end of the file: what reads beyond the last chunk must be seen to do so.
        content = b"".join([content, *seeds, *(data for _, data in batch), _BOUNDARY])
        read = _load(self._pyxdf, content, ends.tolist())[len(seeds) :]
        for (chunk, _), (seconds, values) in zip(batch, read, strict=False):
            if not are_times(seconds).all():
                raise chunk.error("a sample has a timestamp that is no time")
            self._last_s[chunk.stream] = float(seconds[-1])
            yield Samples(chunk, seen[chunk.stream], 0, seconds, values)
        if len(read) < len(batch):
            raise batch[len(read)][0].error("samples do not fill their chunk: it is corrupt")

    def _bytes(self, chunk: Chunk) -> bytes:
        """The bytes of a chunk, checked as far as its counts; nothing of one without samples."""
        header = self._headers[chunk.stream]
        size = chunk.end - chunk.content
        n, length = varlen(self._file.read(chunk.content, min(size, _LENGTH)))
        least = 1 + header.channels * SAMPLE_BYTES[header.channel_format]
        if n < 0 or n * least > size - length:
            raise chunk.error(f"a chunk of {size} bytes cannot hold {n} samples: it is corrupt")
        most = MOST_TEXT_BYTES if header.is_text else MOST_BYTES
        if size > most:
            raise chunk.error(f"a chunk of {size} bytes of samples: {most} is the most")
        return self._file.read(chunk.offset, chunk.end - chunk.offset) if n else b""

    def _seed(self, header: StreamHeader) -> bytes:
        """A sample at the last time of a stream, from which pyxdf counts on."""
        stamp = np.float64(self._last_s[header.number]).tobytes()
        one = b"\x01\x00" if header.is_text else bytes(SAMPLE_BYTES[header.channel_format])
        return _chunk(SAMPLES, header.number, b"\x01\x01\x08" + stamp + one * header.channels)


def _load(pyxdf: Any, content: bytes, ends: list[int]) -> list[tuple[Seconds, Any]]:
    """Timestamps and values of each chunk of samples, up to one that does not end where it must."""
    file = io.BytesIO(content)
    read: list[tuple[Seconds, Any]] = []

    def keep(values: Any, seconds: Seconds, info: Any, stream: int) -> tuple[Any, Seconds, Any]:
        if len(read) == len(ends) or file.tell() != ends[len(read)]:
            raise _Lost
        read.append((seconds, values))
        return values[:0], seconds[:0], info

    # Where pyxdf is lost it takes values for chunks, and may raise whatever these lead to.
    with _quiet(logging.getLogger("pyxdf")), suppress(_Lost, Exception):
        pyxdf.load_xdf(file, on_chunk=keep, synchronize_clocks=False, dejitter_timestamps=False)
    return read


class _Lost(BaseException):
    """pyxdf does not stand where a chunk ends. It would go on after an Exception."""


@contextmanager
def _quiet(logger: logging.Logger) -> Iterator[None]:
    """Errors are raised here, with the place in the whole file."""
    level = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(level)


def _header_chunk(header: StreamHeader) -> bytes:
    """A header that says of a stream what pyxdf needs to read samples."""
    fields = {
        "name": "stream",
        "channel_count": header.channels,
        "nominal_srate": repr(header.srate),
        "channel_format": header.channel_format,
    }
    xml = "".join(f"<{name}>{value}</{name}>" for name, value in fields.items())
    return _chunk(STREAM_HEADER, header.number, f"<info>{xml}</info>".encode())


def _chunk(tag: int, stream: int, content: bytes) -> bytes:
    head = tag.to_bytes(2, "little") + stream.to_bytes(4, "little")
    return b"\x08" + (len(content) + 6).to_bytes(8, "little") + head + content
