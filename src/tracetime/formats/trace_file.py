"""The bytes of a trace file, plain or compressed, as one stream that can be read repeatedly."""

from __future__ import annotations

import bz2
import lzma
import os
import shutil
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO, Final, NamedTuple

import pyarrow as pa

from tracetime.atomic_file import protect
from tracetime.errors import TraceError, UsageError

BEGINNING: Final = 4096
"""Bytes by which the format of a file is recognised."""

GZIP: Final = b"\x1f\x8b"
ZSTD: Final = b"\x28\xb5\x2f\xfd"
XZ: Final = b"\xfd7zX"
BZIP2: Final = b"BZh"
_XZ_MEMORY: Final = 1 << 28
"""What decompressing may take: `xz -9` needs a quarter of that."""
CHUNK: Final = 1 << 20
# The bytes that a read loses where the stream is cut off within it.
_ZSTD_CHUNK: Final = 1 << 13

_ERRORS: Final = (zlib.error, lzma.LZMAError, OSError, EOFError)
"""What decompressors raise for corrupt data; bzip2 raises OSError."""

_EXPANSION_HINT: Final = (
    "if the trace really is that large, raise the limit (max_expansion, --max-expansion)"
)


class Budget:
    """The number of bytes that decompression may still yield, over a whole file."""

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


class _Gzip:
    """Decompresses one member of a gzip file; `left` is what it has not taken of its input."""

    def __init__(self) -> None:
        self._engine = zlib.decompressobj(wbits=31)
        self.left = b""

    def decompress(self, data: bytes, most: int) -> bytes:
        piece = self._engine.decompress(data, most)
        self.left = self._engine.unused_data or self._engine.unconsumed_tail
        return piece

    @property
    def wants_more(self) -> bool:
        return True

    @property
    def eof(self) -> bool:
        return self._engine.eof


class _Stream:
    """One stream of xz or bzip2, like `_Gzip`, by a decompressor that keeps its input itself."""

    def __init__(self, engine: lzma.LZMADecompressor | bz2.BZ2Decompressor) -> None:
        self._engine = engine
        self.left = b""

    def decompress(self, data: bytes, most: int) -> bytes:
        piece = self._engine.decompress(data, most)
        self.left = self._engine.unused_data if self._engine.eof else b""
        return piece

    @property
    def wants_more(self) -> bool:
        return self._engine.needs_input

    @property
    def eof(self) -> bool:
        return self._engine.eof


def is_compressed(beginning: bytes) -> bool:
    """Whether a file that begins so is decompressed."""
    return beginning[:4] == ZSTD or _codec_of(beginning[:4]) is not None


class _Codec(NamedTuple):
    """A format of compression whose files are members, one after another."""

    name: str
    engine: Callable[[], _Gzip | _Stream]


def _xz() -> _Stream:
    return _Stream(lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_XZ_MEMORY))


def _bzip2() -> _Stream:
    return _Stream(bz2.BZ2Decompressor())


def _codec_of(magic: bytes) -> _Codec | None:
    if magic[:2] == GZIP:
        return _Codec("gzip", _Gzip)
    if magic == XZ:
        return _Codec("xz", _xz)
    return _Codec("bzip2", _bzip2) if magic[:3] == BZIP2 else None


class TraceFile:
    """A trace file opened for reading from the start as often as wanted.

    Args:
        path: of the file, or `-` for standard input, which is copied to a temporary file first.
        content: the file, unbuffered, where it is open already; the path names it then.

    Raises:
        UsageError: there is no such file, or it cannot be read.
    """

    def __init__(self, path: str | os.PathLike[str], content: IO[bytes] | None = None) -> None:
        self.path = os.fspath(path)
        try:
            if content is not None:
                self._file: IO[bytes] = content
            elif self.path == "-" and sys.stdin is None:
                raise UsageError("there is no standard input to read")
            elif self.path == "-":
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
        self._zstd = magic == ZSTD
        self._codec = _codec_of(magic)
        self.compressed = self._zstd or self._codec is not None
        self.on_read: Sequence[Callable[[int], None]] = ()

    def close(self) -> None:
        """Close the file; nothing can be read afterwards."""
        self._file.close()

    def check_open(self) -> None:
        """Raise UsageError once the file is closed."""
        if self._file.closed:
            raise UsageError(f"the trace {self.path!r} is closed")

    def fileno(self) -> int:
        """The file's descriptor; UsageError once it is closed."""
        self.check_open()
        return self._file.fileno()

    def beginning(self, n: int = BEGINNING) -> bytes:
        """The first n bytes, uncompressed, or as many as there are."""
        first = os.pread(self._file.fileno(), CHUNK if self.compressed else n, 0)
        try:
            if self._zstd:
                return next(unzstd(first, n), b"")
            if self._codec is not None:
                return self._codec.engine().decompress(first, n)
        except _ERRORS:
            return b""
        return first

    def is_unreadable(self, beginning: bytes) -> bool:
        """Whether it begins with nothing because it does not decompress."""
        return self.compressed and not beginning

    def read(self, into: memoryview, at: int) -> int:
        """Fill `into` from the file's byte `at` on; returns the number of bytes."""
        done = 0
        while done < len(into):
            n = os.preadv(self.fileno(), [into[done:]], at + done)
            if n == 0:
                break
            done += n
        self._reach(at + done)
        return done

    def chunks(self, budget: Budget) -> Iterator[tuple[bytes, int]]:
        """Yield the content, decompressed where it is not plain, with the file position reached."""
        if self._zstd:
            pieces = self._unzstd(budget)
        else:
            pieces = self._plain() if self._codec is None else self._unpack(self._codec, budget)
        for piece, at in pieces:
            self._reach(at)
            yield piece, at

    def _reach(self, at: int) -> None:
        for watch in self.on_read:
            watch(at)

    def uncompressed(self, budget: Budget, partial: bool) -> IO[bytes]:
        """The content as a file; a temporary one if this is compressed.

        Args:
            partial: of what cannot be read to its end, take what can be read.

        Raises:
            TraceError: it is cut off or corrupt.
            UsageError: there is no room for the temporary file.
        """
        if not self.compressed:
            return os.fdopen(os.dup(self._file.fileno()), "rb")
        content = tempfile.TemporaryFile()  # noqa: SIM115
        try:
            for piece, _ in self.chunks(budget):
                content.write(piece)
            content.flush()
        except TraceError:
            if not partial:
                content.close()
                raise
            content.flush()
        except OSError as error:
            content.close()
            where = tempfile.gettempdir()
            raise UsageError(
                f"cannot decompress {self.path!r} into {where}: {error.strerror or error}"
            ) from error
        return content

    def _plain(self) -> Iterator[tuple[bytes, int]]:
        at = 0
        while piece := os.pread(self.fileno(), CHUNK, at):
            at += len(piece)
            yield piece, at

    def _unpack(self, codec: _Codec, budget: Budget) -> Iterator[tuple[bytes, int]]:
        engine = codec.engine()
        at = yielded = 0
        pending = b""
        while True:
            if not pending and engine.wants_more:
                pending = os.pread(self.fileno(), CHUNK, at)
                at += len(pending)
                if not pending:
                    raise TraceError(f"the {codec.name} file is cut off: get a whole copy", yielded)
            try:
                piece = engine.decompress(pending, CHUNK)
            except _ERRORS as error:
                raise TraceError(f"the {codec.name} file is corrupt: {error}", yielded) from error
            pending = engine.left
            if piece:
                budget.spend(len(piece), yielded)
                yielded += len(piece)
                yield piece, at
            if engine.eof:
                if not pending:
                    pending = os.pread(self.fileno(), CHUNK, at)
                    at += len(pending)
                # Zeros pad a file; anything else is the next member.
                while pending and not pending.strip(b"\0"):
                    pending = os.pread(self.fileno(), CHUNK, at)
                    at += len(pending)
                if not pending:
                    return
                engine = codec.engine()  # members may follow one another

    def _unzstd(self, budget: Budget) -> Iterator[tuple[bytes, int]]:
        source = _SharedReader(self)
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


class _SharedReader:
    """A file read from its start by a position of its own: others may read it meanwhile."""

    closed = False

    def __init__(self, file: TraceFile) -> None:
        self._file = file
        self.at = 0

    def read(self, n: int) -> bytes:
        data = os.pread(self._file.fileno(), n, self.at)
        self.at += len(data)
        return data

    def close(self) -> None:
        """Do nothing: the file belongs to another reader, and stays open."""


def _spool(stream: IO[bytes]) -> IO[bytes]:
    """Copy a stream to a temporary file: reading a trace can take two passes."""
    spooled = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115
    shutil.copyfileobj(stream, spooled, CHUNK)
    return spooled


# The content of a file in blocks that are large enough to parse at once.

BLOCK: Final = 4 << 20
"""Bytes that are parsed at once: so many that the calls of NumPy cost nothing."""


def blocks(file: TraceFile, max_expansion: int) -> Iterator[tuple[bytes, int, bool]]:
    """Yield the content, the position reached in the file, and whether this is the end.

    Raises:
        TraceError: it is cut off or corrupt, after what could be decompressed.
    """
    pieces: list[bytes] = []
    held = position = 0
    try:
        for piece, position in file.chunks(Budget(max_expansion)):
            pieces.append(piece)
            held += len(piece)
            if held >= BLOCK:
                yield b"".join(pieces), position, False
                pieces, held = [], 0
    except TraceError:
        yield b"".join(pieces), position, False
        raise
    yield b"".join(pieces), position, True
