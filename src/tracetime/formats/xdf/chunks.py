"""The chunks that an XDF file consists of: where each begins, of which stream it is, and its end.

A chunk is its length, a tag, for most tags the number of a stream, and its content. Nothing here
reads samples: a file is walked by the lengths, and every length is checked against what is there.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from tracetime.errors import TraceError
from tracetime.formats.xdf import MAGIC
from tracetime.formats.xdf.content import Content

STREAM_HEADER: Final = 2
SAMPLES: Final = 3
CLOCK_OFFSET: Final = 4
_OF_STREAMS: Final = (STREAM_HEADER, SAMPLES, CLOCK_OFFSET, 6)
_LAST_TAG: Final = 6

_HEAD: Final = 24
"""Bytes that hold the length of a chunk, its tag, its stream and how many samples follow."""


class Chunk(NamedTuple):
    """One chunk.

    Attributes:
        number: how many are before it.
        offset: of its first byte in the file.
        tag, stream: what it is, and of which stream; stream is -1 of the file's own chunks.
        content, end: where its content begins, and where the next chunk does.
    """

    number: int
    offset: int
    tag: int
    stream: int
    content: int
    end: int

    def error(self, what: str) -> TraceError:
        """The error that something is wrong in this chunk."""
        return TraceError(what, self.offset, self.number)


def walk(file: Content) -> Iterator[Chunk]:
    """Yield the chunks of a file in order.

    Raises:
        TraceError: a chunk is cut off or impossible; the file could not be decompressed.
    """
    if file.read(0, len(MAGIC)) != MAGIC:
        raise TraceError("the file does not begin with XDF:", 0)
    at, number = len(MAGIC), 0
    while at < file.size:
        chunk = _chunk(file.read(at, _HEAD), at, number)
        if chunk.end > file.size:
            raise chunk.error(
                f"the file is cut off: a chunk of {chunk.end - at} bytes has {file.size - at}; "
                "record again, or read what comes before it (--partial)"
            )
        yield chunk
        at, number = chunk.end, number + 1
    if file.fault is not None:
        raise file.fault


def _chunk(head: bytes, at: int, number: int) -> Chunk:
    length, begin = varlen(head)
    tag = int.from_bytes(head[begin : begin + 2], "little")
    has_stream = tag in _OF_STREAMS
    least = 6 if has_stream else 2
    if length < least or not 1 <= tag <= _LAST_TAG:
        raise TraceError(
            "no chunk of XDF begins here: the file is corrupt, or its end is missing; read what "
            "comes before it (--partial)",
            at,
            number,
        )
    stream = -1
    if has_stream:
        stream = int.from_bytes(head[begin + 2 : begin + 6], "little")
    return Chunk(number, at, tag, stream, at + begin + least, at + begin + length)


def varlen(data: bytes) -> tuple[int, int]:
    """The number of variable length that bytes begin with, and how many bytes it takes.

    (-1, 0) where there is none.
    """
    width = data[0] if data else 0
    if width not in (1, 4, 8) or len(data) < 1 + width:
        return -1, 0
    return int.from_bytes(data[1 : 1 + width], "little"), 1 + width
