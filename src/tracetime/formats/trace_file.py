"""The bytes of a trace file, plain or compressed, as one stream that can be read repeatedly."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Final

import pyarrow as pa

from tracetime.atomic_file import protect
from tracetime.errors import TraceError, UsageError

GZIP: Final = b"\x1f\x8b"
ZSTD: Final = b"\x28\xb5\x2f\xfd"
CHUNK: Final = 1 << 20
# How much a read loses where the stream is cut off within it.
_ZSTD_CHUNK: Final = 1 << 13

_EXPANSION_HINT: Final = "if the trace really is that large, raise the limit (--max-expansion)"


class Budget:
    """How many bytes decompression may still yield, over a whole file."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.left = limit

    def spend(self, n: int, offset: int | None = None, packet: int | None = None) -> None:
        """Take n bytes off; raises TraceError where the limit is passed."""
        self.left -= n
        if self.left < 0:
            raise TraceError(
                f"decompressing yields more than {self.limit} bytes; {_EXPANSION_HINT}",
                offset,
                packet,
            )


def inflate(data: memoryview | bytes, chunk: int = CHUNK) -> Iterator[bytes]:
    """Decompress one zlib or gzip stream, piece by piece.

    Raises:
        zlib.error: corrupt, cut off, or followed by other bytes.
    """
    engine = zlib.decompressobj(wbits=47)
    pending = b""
    at = 0
    while not engine.eof:
        # By pieces: zlib returns what it has not taken of one as a copy.
        fed = pending or data[at : at + chunk]
        at += 0 if pending else len(fed)
        piece = engine.decompress(fed, chunk)
        pending = engine.unconsumed_tail
        if piece:
            yield piece
        elif not engine.eof and not len(fed):
            raise zlib.error("the compressed data is cut off")
    if engine.unused_data or at < len(data):
        raise zlib.error("bytes follow the compressed data")


def unzstd(data: memoryview | bytes, chunk: int = CHUNK) -> Iterator[bytes]:
    """Decompress zstd frames, piece by piece.

    Raises:
        OSError: corrupt or cut off.
    """
    if not len(data):
        raise OSError("there is no zstd frame")
    with pa.CompressedInputStream(pa.BufferReader(pa.py_buffer(data)), "zstd") as stream:
        while piece := stream.read(chunk):
            yield piece


class TraceFile:
    """A trace file opened for reading from the start as often as wanted.

    Args:
        path: of the file, or `-` for standard input, which is copied to a temporary file first.

    Raises:
        UsageError: there is no such file, or it cannot be read.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fspath(path)
        try:
            if self.path == "-" and sys.stdin is None:
                raise UsageError("there is no standard input to read")
            if self.path == "-":
                protect(sys.stdin.buffer)
                self._file = _spool(sys.stdin.buffer)
            else:
                self._file = Path(self.path).open("rb", buffering=0)  # noqa: SIM115
                protect(self._file)
                if not self._file.seekable():
                    pipe, self._file = self._file, _spool(self._file)
                    pipe.close()
            self.size = os.fstat(self._file.fileno()).st_size
            self._file.seek(0)
            magic = self._file.read(4) or b""
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            raise UsageError(f"cannot read {self.path!r}: {reason}") from error
        self.compressed = magic[:2] == GZIP or magic == ZSTD
        self._zstd = magic == ZSTD

    def close(self) -> None:
        """Close the file; nothing can be read afterwards."""
        self._file.close()

    def check_open(self) -> None:
        """Raise UsageError once the file is closed."""
        if self._file.closed:
            raise UsageError(f"the trace {self.path!r} is closed")

    def beginning(self, n: int) -> bytes:
        """The first n bytes, uncompressed, or as many as there are."""
        first = os.pread(self._file.fileno(), CHUNK if self.compressed else n, 0)
        try:
            if self._zstd:
                return next(unzstd(first, n), b"")
            if self.compressed:
                return zlib.decompressobj(wbits=31).decompress(first, n)
        except (OSError, zlib.error):
            return b""
        return first

    def read(self, into: memoryview, at: int) -> int:
        """Fill `into` from the file's byte `at` on; returns how many bytes there were."""
        done = 0
        while done < len(into):
            n = os.preadv(self._file.fileno(), [into[done:]], at + done)
            if n == 0:
                break
            done += n
        return done

    def chunks(self, budget: Budget) -> Iterator[tuple[bytes, int]]:
        """Yield the content, decompressed where it is not plain, with the file position reached."""
        if self._zstd:
            return self._unzstd(budget)
        return self._gunzip(budget) if self.compressed else self._plain()

    def _plain(self) -> Iterator[tuple[bytes, int]]:
        at = 0
        while piece := os.pread(self._file.fileno(), CHUNK, at):
            at += len(piece)
            yield piece, at

    def _gunzip(self, budget: Budget) -> Iterator[tuple[bytes, int]]:
        engine = zlib.decompressobj(wbits=31)
        at = yielded = 0
        pending = b""
        while True:
            if not pending:
                pending = os.pread(self._file.fileno(), CHUNK, at)
                at += len(pending)
                if not pending:
                    raise TraceError("the gzip file is cut off: get a whole copy", yielded)
            try:
                piece = engine.decompress(pending, CHUNK)
            except zlib.error as error:
                raise TraceError(f"the gzip file is corrupt: {error}", yielded) from error
            pending = engine.unconsumed_tail
            if piece:
                budget.spend(len(piece), yielded)
                yielded += len(piece)
                yield piece, at
            if engine.eof:
                pending = engine.unused_data or os.pread(self._file.fileno(), CHUNK, at)
                at += 0 if engine.unused_data else len(pending)
                # Zeros pad a file; anything else is the next member.
                while pending and not pending.strip(b"\0"):
                    pending = os.pread(self._file.fileno(), CHUNK, at)
                    at += len(pending)
                if not pending:
                    return
                engine = zlib.decompressobj(wbits=31)  # members may follow one another

    def _unzstd(self, budget: Budget) -> Iterator[tuple[bytes, int]]:
        source = _Reader(self._file)
        yielded = 0
        with pa.CompressedInputStream(pa.PythonFile(source, "r"), "zstd") as stream:
            while True:
                try:
                    piece = stream.read(_ZSTD_CHUNK)
                except OSError as error:
                    raise TraceError(f"the zstd file is corrupt: {error}", yielded) from error
                if not piece:
                    return
                budget.spend(len(piece), yielded)
                yielded += len(piece)
                yield piece, source.at


class _Reader:
    """A file read from its start by a position of its own: others may read it meanwhile."""

    closed = False

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.at = 0

    def read(self, n: int) -> bytes:
        data = os.pread(self._file.fileno(), n, self.at)
        self.at += len(data)
        return data

    def close(self) -> None:
        """The file belongs to another reader, and stays open."""


def _spool(stream: IO[bytes]) -> IO[bytes]:
    """Copy a stream to a temporary file: reading a trace can take two passes."""
    spooled = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115
    shutil.copyfileobj(stream, spooled, CHUNK)
    return spooled
