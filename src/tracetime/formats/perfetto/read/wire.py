"""Framing: windows of a trace file handed to the importer, compressed packets expanded in place.

It says what follows each stop of the importer; the importer knows what packets mean
(`_kernels/perfetto/importer.pyx`).
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from typing import Final

from tracetime._kernels.graph import TangledError, TooManyClocksError
from tracetime._kernels.perfetto.importer import Importer
from tracetime.errors import TraceError
from tracetime.formats.perfetto.schema import IMPORT_ERRORS
from tracetime.formats.trace_file import Budget, TraceFile, inflate, unzstd
from tracetime.trace.events_table import Columns

WINDOW: Final = 4 << 20
MAX_PACKET: Final = 1 << 28
"""Perfetto's own limit for a message (protozero's kMaxMessageLength)."""

# The Stop codes of _kernels/perfetto/importer.pxd.
_END, _ROWS, _COMPRESSED, _NEEDS_FINAL, _ERROR = range(5)
_ZLIB: Final = 1
# Bytes at the end of a compressed packet that ProtoTraceTokenizer leaves unread.
_IGNORED_TAIL: Final = 2


class Window:
    """The part of a stream that is in memory: `data[start:end]` is still to be read.

    `offset` is the stream position of data[0]. The window grows only while the stream fills it,
    so that a false length costs nothing.
    """

    def __init__(self, read: Callable[[memoryview], int], size: int) -> None:
        self._read = read
        self.data = bytearray(size)
        self.start = self.end = self.offset = 0

    def refill(self, needed: int = 0) -> bool:
        """Move what is unread to the front and read on; False at the end of the stream.

        needed: how long the packet at the front says it is, 0 where that is not known.
        """
        unread = self.end - self.start
        if unread == len(self.data):
            if unread >= MAX_PACKET or needed > MAX_PACKET:
                raise TraceError(
                    f"a packet of more than {MAX_PACKET} bytes, Perfetto's own limit: the trace is "
                    "corrupt from here on",
                    self.offset,
                )
            self._grow()
        elif self.start:
            with memoryview(self.data) as view:
                view[:unread] = view[self.start : self.end]
        self.offset += self.start
        self.start, self.end = 0, unread
        with memoryview(self.data) as view:
            n = self._read(view[unread:])
        self.end += n
        return n > 0

    def _grow(self) -> None:
        """Make room for twice as much, or for the largest packet; in place, never both at once."""
        size = min(2 * len(self.data), MAX_PACKET)
        while len(self.data) < size:
            self.data += bytes(min(WINDOW, size - len(self.data)))


class Pass:
    """One reading of a trace file through one importer, as batches of rows.

    Args:
        learn: called where the end of the file decides; returns the importer that has seen it.
        progress: called with the position reached in the file.
    """

    def __init__(
        self,
        file: TraceFile,
        importer: Importer,
        max_expansion: int,
        learn: Callable[[], Importer] | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> None:
        self._file = file
        self._importer = importer
        self._budget = Budget(max_expansion)
        self._learn = learn
        self._progress = progress
        self._reached = 0

    def run(self) -> Iterator[Columns]:
        """Yield the columns of each batch of rows.

        Raises:
            TraceError: no trace, cut off, corrupt, or expanding past the limit.
        """
        read = self._from_chunks() if self._file.compressed else self._from_file()
        window = Window(read, _usual_size(self._file.size))
        if not window.refill():
            raise TraceError("the file is empty: nothing was recorded", 0)
        try:
            yield from self._windows(window, None)
        except TangledError as error:
            # No real trace comes near; hostile snapshots could keep it busy for hours.
            raise TraceError(
                f"{error}; if the trace is a real one, please report it",
                self._importer.stop_offset,
                self._importer.packets,
            ) from error
        except TooManyClocksError:
            raise TraceError(
                f"snapshots name more than {self._importer.engine.most_nodes} clocks, or lists of "
                "clocks; if they really are that many, raise the limit (max_clocks, --max-clocks)",
                self._importer.stop_offset,
                self._importer.packets,
            ) from None
        if len(self._importer.rows):
            yield self._importer.rows.take()
        self._importer.finish()

    def _from_file(self) -> Callable[[memoryview], int]:
        def read(into: memoryview) -> int:
            n = self._file.read(into, self._reached)
            self._reached += n
            self._report()
            return n

        return read

    def _from_chunks(self) -> Callable[[memoryview], int]:
        def pieces() -> Iterator[bytes]:
            for piece, reached in self._file.chunks(self._budget):
                self._reached = reached
                self._report()
                yield piece

        return reader_of(pieces())

    def _report(self) -> None:
        if self._progress is not None:
            self._progress(self._reached)

    def _windows(self, window: Window, wrapper: int | None) -> Iterator[Columns]:
        """Feed a stream to its end; `wrapper` is the offset of the packet it was expanded from."""
        importer = self._importer
        nested = wrapper is not None
        while True:
            stop, window.start, first, last = importer.feed(
                window.data,
                window.start,
                window.end,
                window.offset if wrapper is None else wrapper,
                nested,
            )
            if stop == _ROWS:
                yield importer.rows.take()
            elif stop == _COMPRESSED:
                payload = bytes(memoryview(window.data)[first:last])
                yield from self._expand(payload, importer.stop_offset)
            elif stop == _NEEDS_FINAL:
                assert self._learn is not None
                importer.decide_with(self._learn())
            elif stop == _ERROR:
                raise TraceError(
                    IMPORT_ERRORS[importer.error], importer.stop_offset, importer.packets
                )
            elif not window.refill(last - window.start):
                self._check_end(window, nested)
                return

    def _check_end(self, window: Window, nested: bool) -> None:
        unread = window.end - window.start
        offset, packet = self._importer.stop_offset, self._importer.packets
        if nested and unread > _IGNORED_TAIL:
            raise TraceError(
                "a compressed packet ends in mid-packet: it is corrupt", offset, packet
            )
        if not nested and unread:
            raise TraceError(
                f"the trace is cut off in mid-packet: {unread} bytes are left of it; get a whole "
                "copy",
                offset,
                packet,
            )

    def _expand(self, payload: bytes, offset: int) -> Iterator[Columns]:
        """Import the packets of a compressed packet."""
        packet = self._importer.packets

        def pieces() -> Iterator[bytes]:
            unpack = inflate if self._importer.codec == _ZLIB else unzstd
            try:
                for piece in unpack(payload):
                    self._budget.spend(len(piece), offset, packet)
                    yield piece
            except (OSError, zlib.error) as error:
                raise TraceError(
                    f"a compressed packet cannot be decompressed: {error}", offset, packet
                ) from error

        yield from self._windows(Window(reader_of(pieces()), _usual_size(len(payload))), offset)


def _usual_size(packed: int) -> int:
    """Bytes of a window for what so many may expand to; it grows where that is more."""
    return min(WINDOW, max(4096, 16 * packed))


def reader_of(pieces: Iterator[bytes]) -> Callable[[memoryview], int]:
    """Turn an iterator of bytes into a function that fills a buffer as far as one piece goes."""
    rest = memoryview(b"")

    def read(into: memoryview) -> int:
        nonlocal rest
        while not rest:
            piece = next(pieces, None)
            if piece is None:
                return 0
            rest = memoryview(piece)
        n = min(len(rest), len(into))
        into[:n] = rest[:n]
        rest = rest[n:]
        return n

    return read
