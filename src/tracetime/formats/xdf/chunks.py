"""The chunks of an XDF file: the begin of each, its stream, and its end.

A chunk is its length, a tag, for most tags the number of a stream, and its content. Nothing here
reads samples: a file is walked by the lengths, and every length is checked against what is there.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import IO, Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tracetime._kernels import xdf
from tracetime.columns.time_columns import time_column
from tracetime.errors import TraceError
from tracetime.formats.beginnings import XDF
from tracetime.formats.trace_file import Budget, TraceFile
from tracetime.graph.values import Values

# The bytes of a file, decompressed, at any place of it: as often and by as many as want them.

Seconds = npt.NDArray[np.float64]

MOST_S = 4.0e9
"""Of a time; Unix time reaches it in 2096. The difference of two fits in int64 ns."""


def are_times(seconds: Seconds) -> npt.NDArray[np.bool_]:
    """A mask of seconds that are times: finite, and within int64 ns."""
    fit: npt.NDArray[np.bool_] = np.abs(seconds) < MOST_S
    return fit


def nanoseconds(seconds: Seconds) -> Values:
    """The whole ns nearest to the exact value of each float; all must be times."""
    return time_column(pa.array(seconds), "time_stamps", float_unit="s").values


def resolution_ns(times_ns: Values) -> float:
    """The distance of floats of seconds at the largest of some times, ns: 1 at least."""
    largest_s = float(np.abs(times_ns).max(initial=0)) / 1e9
    return max(1.0, float(np.spacing(largest_s)) * 1e9)


class Content:
    """The content of an open file.

    Args:
        file: is decompressed into a temporary file, if it is compressed.
        max_expansion: how many bytes that may yield.
        partial: of what cannot be decompressed to its end, take what can be.

    Attributes:
        size: bytes.
        fault: with `partial`, the error that ended decompression.

    Raises:
        TraceError: it is cut off or corrupt.
    """

    def __init__(self, file: TraceFile, max_expansion: int, partial: bool) -> None:
        self._file = file
        self._unpacked: IO[bytes] | None = None
        self.fault: TraceError | None = None
        self.size = file.size
        if file.compressed:
            self._unpacked = self._unpack(max_expansion, partial)
            self.size = os.fstat(self._unpacked.fileno()).st_size

    def _unpack(self, max_expansion: int, partial: bool) -> IO[bytes]:
        try:
            return self._file.uncompressed(Budget(max_expansion), False)
        except TraceError as error:
            if not partial:
                raise
            self.fault = error.with_traceback(None)
        return self._file.uncompressed(Budget(max_expansion), True)

    def read(self, at: int, n: int) -> bytes:
        """Up to n bytes from byte `at` on; fewer at the end."""
        self._file.check_open()
        n = min(n, max(0, self.size - at))
        if self._unpacked is not None:
            return os.pread(self._unpacked.fileno(), n, at)
        piece = bytearray(n)
        done = self._file.read(memoryview(piece), at)
        return bytes(piece[:done])

    def close(self) -> None:
        """Give the temporary file back."""
        if self._unpacked is not None:
            self._unpacked.close()


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
        """The chunks of some rows."""
        return Chunks(*(column[rows] for column in self))

    def one(self, row: int) -> Chunk:
        """The chunk of one row."""
        return Chunk(*(int(column[row]) for column in self))


def walk(file: Content) -> Iterator[Chunks]:
    """Yield the chunks of a file in order.

    Raises:
        TraceError: a chunk is cut off or impossible; the file could not be decompressed.
    """
    if file.read(0, len(XDF)) != XDF:
        raise TraceError("the file does not begin with XDF:", 0)
    at, number = len(XDF), 0
    while at < file.size:
        found, after, fault, n_bytes = xdf.chunks(file.read(at, _AT_ONCE), file.size - at)
        offset, tag, stream, content, end = found.T
        numbers = number + np.arange(len(found))
        yield Chunks(numbers, at + offset, tag, stream, at + content, at + end)
        at, number = at + after, number + len(found)
        if fault:
            raise TraceError(
                "no chunk of XDF begins here: the file is corrupt, or its end is missing; get a "
                "whole copy"
                if fault == _NO_CHUNK
                else f"the file is cut off: a chunk of {n_bytes} bytes has {file.size - at}; "
                "record again, or get a whole copy",
                at,
                number,
            )
    if file.fault is not None:
        raise file.fault
