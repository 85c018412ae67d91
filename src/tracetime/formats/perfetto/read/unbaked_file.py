"""`UnbakedFile`: the packets of the trace that a baked one was made from, as a file to read."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from typing import IO

import numpy as np
import numpy.typing as npt

from tracetime._kernels.perfetto.bake import Unbaker
from tracetime.errors import TraceError
from tracetime.formats.trace_file import Budget, TraceFile


class UnbakedFile(TraceFile):
    """The source of a baked trace, made from that while it is read.

    Attributes:
        compressed: True: what is read is no part of the file as it lies there.
        damage: why it could not be read to its end, where it does not say what it was.

    Args:
        file: the baked trace, which stays open when this is closed.
        on_packets: takes, with each piece, the number of the baked packet of each of its packets.
    """

    def __init__(
        self,
        file: TraceFile,
        on_packets: Callable[[npt.NDArray[np.uint64]], None] | None = None,
    ) -> None:
        self.path, self.size = file.path, file.size
        self.compressed = True
        self.on_read = ()
        self.damage: TraceError | None = None
        self._baked = file
        self._on_packets = on_packets

    def close(self) -> None:
        """The file belongs to the baked trace."""

    def check_open(self) -> None:
        """Raise UsageError once the baked trace is closed."""
        self._baked.check_open()

    def fileno(self) -> int:
        """The baked file's descriptor."""
        return self._baked.fileno()

    def beginning(self, n: int) -> bytes:
        """The first n bytes, or as many as there are."""
        found = b""
        for piece, _ in self.chunks(Budget(1 << 62)):
            found += piece
            if len(found) >= n:
                break
        return found[:n]

    def chunks(self, budget: Budget) -> Iterator[tuple[bytes, int]]:
        """Yield the packets of the source, with the position reached in the baked file.

        Raises:
            TraceError: a packet does not say what it was.
        """
        unbaker = Unbaker()
        unread = bytearray()
        needed = 1
        for piece, at in self._baked.chunks(budget):
            unread += piece
            if len(unread) < needed:
                continue
            try:
                found, taken, needed = unbaker.feed(unread)
            except ValueError as error:
                self.damage = TraceError(f"the trace has {error}", None, unbaker.packets)
                raise self.damage from error
            del unread[:taken]
            if self._on_packets is not None:
                self._on_packets(unbaker.take_numbers())
            if found:
                yield found, at
        if unread:
            yield bytes(unread), self.size

    def uncompressed(self, budget: Budget, partial: bool) -> IO[bytes]:
        """The source as a temporary file."""
        content = tempfile.TemporaryFile()  # noqa: SIM115
        for piece, _ in self.chunks(budget):
            content.write(piece)
        content.flush()
        return content
