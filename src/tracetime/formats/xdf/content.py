"""The bytes of a file, decompressed, at any place of it: as often and by as many as want them."""

from __future__ import annotations

import os
from typing import IO

from tracetime.errors import TraceError
from tracetime.formats.trace_file import Budget, TraceFile


class Content:
    """What an open file holds.

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
