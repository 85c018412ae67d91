"""The chunks that an XDF file consists of: where each begins, of which stream it is, and its end.

A chunk is its length, a tag, for most tags the number of a stream, and its content. Nothing here
reads samples: a file is walked by the lengths, and every length is checked against what is there.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import numpy as np

from tracetime._kernels import xdf
from tracetime.errors import TraceError
from tracetime.formats.xdf import MAGIC
from tracetime.formats.xdf.content import Content
from tracetime.formats.xdf.seconds import Values

STREAM_HEADER: Final = 2
SAMPLES: Final = 3
CLOCK_OFFSET: Final = 4

_AT_ONCE: Final = 1 << 20
"""Bytes in which chunks are looked for at once."""
_NO_CHUNK: Final = 1
"""Of `xdf.chunks`: the other fault is that a chunk is cut off."""


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


class Chunks(NamedTuple):
    """Chunks in the order of the file: the columns of `Chunk`, int64."""

    number: Values
    offset: Values
    tag: Values
    stream: Values
    content: Values
    end: Values

    def rows(self, rows: Any) -> Chunks:
        """Some of them."""
        return Chunks(*(column[rows] for column in self))

    def one(self, row: int) -> Chunk:
        """One of them."""
        return Chunk(*(int(column[row]) for column in self))


def walk(file: Content) -> Iterator[Chunks]:
    """Yield the chunks of a file in order.

    Raises:
        TraceError: a chunk is cut off or impossible; the file could not be decompressed.
    """
    if file.read(0, len(MAGIC)) != MAGIC:
        raise TraceError("the file does not begin with XDF:", 0)
    at, number = len(MAGIC), 0
    while at < file.size:
        found, after, fault, n_bytes = xdf.chunks(file.read(at, _AT_ONCE), file.size - at)
        offset, tag, stream, content, end = found.T
        numbers = number + np.arange(len(found))
        yield Chunks(numbers, at + offset, tag, stream, at + content, at + end)
        at, number = at + after, number + len(found)
        if fault:
            raise TraceError(
                "no chunk of XDF begins here: the file is corrupt, or its end is missing; read "
                "what comes before it (--partial)"
                if fault == _NO_CHUNK
                else f"the file is cut off: a chunk of {n_bytes} bytes has {file.size - at}; "
                "record again, or read what comes before it (--partial)",
                at,
                number,
            )
    if file.fault is not None:
        raise file.fault
