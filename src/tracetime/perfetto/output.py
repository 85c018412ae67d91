"""A trace file that grows by whole packets: what is in it is readable whenever it is looked at.

What goes wrong with the file stands here (a full disk, a limit, a target that cannot be written);
what is in the packets does not.
"""

from __future__ import annotations

import contextlib
import os
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Final

from tracetime._kernels.packets import whole_packets
from tracetime.errors import UsageError

_AT_ONCE: Final = 8 << 20
"""Bytes written by one call: a file system does not answer for long."""


class TraceOutput:
    """The file of a recording.

    What could not be written is kept, and tried again at the next `write`: until then the file
    ends with a whole packet.

    Attributes:
        path: as given.
        size: bytes of whole packets in the file.

    Args:
        path: of the file; one that is there is replaced.
        written: called with the number of bytes of each block once all of it is in the file.

    Raises:
        UsageError: the file cannot be made.
    """

    def __init__(self, path: str | os.PathLike[str], written: Callable[[int], None]) -> None:
        try:
            self.path = os.fsdecode(path)
        except TypeError as error:
            raise UsageError(f"a trace's path is a string or a Path, not {path!r}") from error
        self.size = 0
        self._written = written
        self._waiting: deque[memoryview] = deque()
        try:
            self._file = Path(self.path).open("wb", buffering=0)  # noqa: SIM115
        except (OSError, ValueError) as error:
            raise self._refusal(error, "give another path") from error

    def write(self, block: bytes) -> None:
        """Add whole packets to the file, after what has been waiting.

        Raises:
            UsageError: not all of it could be written; the rest waits.
        """
        if block:
            self._waiting.append(memoryview(block))
        while self._waiting:
            self._write_first()

    def _write_first(self) -> None:
        """Write the block that has been waiting longest."""
        block = self._waiting[0]
        done = 0
        try:
            while done < len(block):
                done += os.write(self._file.fileno(), block[done : done + _AT_ONCE])
        except OSError as error:
            whole = whole_packets(block, done)
            if whole < done:
                # A pipe or a device has no end to cut off.
                with contextlib.suppress(OSError):
                    os.ftruncate(self._file.fileno(), self.size + whole)
                    os.lseek(self._file.fileno(), self.size + whole, os.SEEK_SET)
            self.size += whole
            self._waiting[0] = block[whole:]
            self._written(whole)
            raise self._refusal(
                error, f"make room; the {self.size} bytes that are there are a whole trace"
            ) from error
        self.size += done
        self._waiting.popleft()
        self._written(done)

    def close(self) -> None:
        """Give the file back, with what it has."""
        self._waiting.clear()
        self._file.close()

    def _refusal(self, error: OSError | ValueError, then: str) -> UsageError:
        reason = getattr(error, "strerror", None) or error
        return UsageError(f"cannot write {self.path!r}: {reason}; {then}")
