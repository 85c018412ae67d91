"""A trace file that grows by whole packets: it is readable at any moment.

This module handles the failures of the file (another recording's, a full disk, a limit, a target
that cannot be written); it knows nothing about the packets' contents.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import IO, Final

from tracetime._kernels.perfetto.packets import whole_packets
from tracetime.atomic_file import file_target
from tracetime.errors import UsageError

_AT_ONCE: Final = 8 << 20
"""Bytes written by one call: a signal waits no longer than for these."""

_MODE: Final = 0o666  # less what the umask takes away

_BEGINNING: Final = bytes.fromhex("0a 05 aa 04 02 10 01")
"""A packet that says that tracing has started: what a recording is that was killed at once. The
first block is written over it."""

_FIRST: Final = 64
"""Bytes by which a file is known again, where somebody else may have written to it."""

_ROOMS: Final = (0, 64, 1 << 12, 1 << 16)
"""Bytes to cut off the end for a last packet, until it fits. A file system may free only whole
blocks."""


class BeingWritten(UsageError):
    """The file belongs to another recording."""


class TraceOutput:
    """The file of one recording: the kernel locks it until it is closed.

    The lock ends with this process, however that ends. The file that was at the path stays there
    until the first block is written. A block that cannot be written is kept, and tried again at the
    next `write`: until then the file ends with a whole packet. An exception during a write, of a
    signal's handler for example, loses nothing and repeats nothing.

    Attributes:
        path: as given.
        size: bytes of whole packets in the file.

    Args:
        path: of the file.
        take: returns whole packets to write; empty if there are none.
        written: called with `size` whenever that has changed.
        overwrite: whether a file that is not empty may be replaced.
        sync: whether the file survives a power cut: `write` waits for the disk.

    Raises:
        UsageError: the file cannot be made, belongs to another recording, or is to be kept.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        take: Callable[[], bytes],
        written: Callable[[int], None],
        *,
        overwrite: bool = True,
        sync: bool = False,
    ) -> None:
        try:
            self.path = os.fsdecode(path)
        except TypeError as error:
            raise UsageError(f"a trace's path is a string or a Path, not {path!r}") from error
        self.size = 0
        self._take = take
        self._written = written
        self._sync = sync
        self._taken: deque[bytes] = deque()
        # The current block: where it begins in the file, and how much of it is written.
        self._block: tuple[int, bytes, int] = 0, b"", 0
        # Where the blocks of the file's last bytes begin.
        self._begins: deque[int] = deque([0])
        self._begun = False
        self._first = b""
        self._synced = 0
        self._target = file_target(self.path)
        try:
            self._file, self._made = self._lock()
        except OSError as error:
            raise self._refusal(error, "give another path") from error
        if not (overwrite or self._holds_nothing()):
            self._file.close()
            raise UsageError(
                f"cannot write {self.path!r}: it exists already; give another path, or replace "
                "it with --force"
            )

    def _lock(self) -> tuple[IO[bytes], bool]:
        """The file, with its lock, and whether it was made for this recording."""
        while True:
            made = True
            try:
                number = os.open(self._target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _MODE)
            except FileExistsError:
                made = False
                number = os.open(self._target, os.O_WRONLY)
            file = os.fdopen(number, "wb", buffering=0)
            try:
                fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                if error.errno == errno.EWOULDBLOCK:
                    file.close()
                    raise BeingWritten(
                        f"cannot write {self.path!r}: another recording writes it; end that one, "
                        "or give another path"
                    ) from None
                # A file system without locks.
            # A recording that gave up the file it had made may have removed it meanwhile.
            if self._is_in_place(file):
                if made:
                    # What does not fit on a full disk is told by the first block.
                    with contextlib.suppress(OSError):
                        file.write(_BEGINNING)
                return file, made
            file.close()

    def _is_in_place(self, file: IO[bytes]) -> bool:
        with contextlib.suppress(OSError):
            return os.path.samestat(os.fstat(file.fileno()), self._target.stat())
        return False

    def _holds_nothing(self) -> bool:
        """Whether nothing was recorded into the file: it is empty, or of a run that was killed."""
        with self._target.open("rb") as file:
            return file.read(len(_BEGINNING) + 1) in (b"", _BEGINNING)

    def write(self) -> None:
        """Write what waits, and then what `take` returns.

        Raises:
            UsageError: not all could be written; the rest waits. Somebody has cut the file, or has
                deleted, moved or replaced it.
        """
        try:
            self._begin()
            while not self._is_overwritten() and self._next_block():
                self._write_block()
            self._wait_for_disk()
            self._check()
        except OSError as error:
            raise self.too_large(error) from error

    def write_ahead(self) -> None:
        """Write what waits, for a signal's handler that interrupts `write` and may end the process.

        If `write` goes on, it writes the same bytes to the same places once more.

        Raises:
            UsageError: not all could be written.
        """
        try:
            self._begin()
            if self._is_overwritten():
                return
            self._write_all()
            if self._sync:
                self._sync_file()
        except OSError as error:
            raise self.too_large(error) from error

    def _begin(self) -> None:
        """Take what waits; before the first of it, the file is emptied."""
        # All of it in C: no signal comes between taking a block and keeping it.
        self._taken.extend(iter(self._take, b""))
        if self._taken and not self._begun:
            if not self._made or len(self._taken[0]) < len(_BEGINNING):
                os.ftruncate(self._file.fileno(), 0)
            self._first = self._taken[0][:_FIRST]
            self._begun = True

    def _write_all(self) -> None:
        """Write what waits to its places; if not all can be written, whole packets of it."""
        number = self._file.fileno()
        before = os.fstat(number).st_size
        begin, block, done = self._block
        # Another handler that interrupts this one adds to what waits.
        for one in list(self._taken):
            if one is not block:
                begin, done = begin + len(block), 0
                block = one
            try:
                while done < len(one):
                    done += os.pwrite(number, memoryview(one)[done : done + _AT_ONCE], begin + done)
            except OSError:
                end = begin + whole_packets(one, done)
                # What the interrupted call has written stays: it does not write that again.
                if end >= before:
                    os.ftruncate(number, end)
                raise

    def _is_overwritten(self) -> bool:
        """Whether somebody has cut the file or written to it: what comes after cannot be read."""
        if os.fstat(self._file.fileno()).st_size < self.size:
            return True
        if self.size < len(self._first) or not self._is_in_place(self._file):
            return False
        with contextlib.suppress(OSError), self._target.open("rb") as file:
            return file.read(len(self._first)) != self._first
        return False

    def _check(self) -> None:
        if self._is_overwritten():
            done = "cut or overwrote"
        elif not self._is_in_place(self._file):
            done = "deleted, moved or replaced"
        else:
            return
        raise UsageError(
            f"{self.path!r} does not have what was recorded: somebody {done} the file meanwhile; "
            "record again, into a file that stays"
        )

    def _next_block(self) -> bool:
        """Go to the next block if the current one is done; whether there is one."""
        begin, block, done = self._block
        if done < len(block):
            return True
        if self._taken and self._taken[0] is block:
            self._taken.popleft()
        if not self._taken:
            return False
        self._block = begin + done, self._taken[0], 0
        self._begins.append(begin + done)
        while len(self._begins) > 1 and self._begins[1] <= begin + done - _ROOMS[-1]:
            self._begins.popleft()
        return True

    def _write_block(self) -> None:
        """Write the current block, each part at its own place."""
        begin, block, done = self._block
        try:
            while done < len(block):
                part = memoryview(block)[done : done + _AT_ONCE]
                done += os.pwrite(self._file.fileno(), part, begin + done)
        except OSError:
            done = whole_packets(block, done)
            with contextlib.suppress(OSError):
                os.ftruncate(self._file.fileno(), begin + done)
            raise
        finally:
            self._block = begin, block, done
            self.size = begin + done
            self._written(self.size)

    def end_short(self, last: Callable[[Iterable[memoryview]], bytes]) -> None:
        """Give up what could not be written, and end the file with a packet that says so.

        If that packet does not fit, whole packets are cut off the end for it. An exception here
        leaves whole packets and what waits, to be written or given up.

        Args:
            last: returns the packet to end with, for the packets that are given up; empty for none.
        """
        rooms: Sequence[int] = _ROOMS
        if self._is_overwritten():
            # Nothing more is written into it.
            last(self._waiting())
            rooms = ()
        for room in rooms:
            with contextlib.suppress(OSError):
                if room:
                    self._take_back(room)
                packet = last(self._waiting())
                if not (packet and self.size):
                    break
                if os.pwrite(self._file.fileno(), packet, self.size) == len(packet):
                    self.size += len(packet)
                    self._wait_for_disk()
                    break
            with contextlib.suppress(OSError):
                os.ftruncate(self._file.fileno(), self.size)
        self._taken.clear()
        self._block = self.size, b"", 0

    def _waiting(self) -> Iterator[memoryview]:
        """The packets that are taken and not in the file."""
        _, block, done = self._block
        for one in self._taken:
            yield memoryview(one)[done if one is block else 0 :]

    def _take_back(self, room: int) -> None:
        """Cut off whole packets, so many bytes or more if possible: they wait again."""
        begin = next(begin for begin in reversed(self._begins) if begin <= max(0, self.size - room))
        with self._target.open("rb", buffering=0) as file:
            if not os.path.samestat(os.fstat(file.fileno()), os.fstat(self._file.fileno())):
                return
            tail = os.pread(file.fileno(), self.size - begin, begin)
        if len(tail) < self.size - begin:
            return
        whole = whole_packets(tail, max(0, len(tail) - room))
        waiting = deque([tail[whole:], *map(bytes, self._waiting())])
        self._block, self._taken = (begin + whole, waiting[0], 0), waiting
        os.ftruncate(self._file.fileno(), begin + whole)
        self.size = begin + whole
        self._written(self.size)

    def go_back(self, size: int) -> None:
        """Cut the file after its first `size` bytes, which are whole packets; forget what waits.

        Raises:
            UsageError: the file cannot be cut.
        """
        try:
            os.ftruncate(self._file.fileno(), size)
        except OSError as error:
            raise self.too_large(error) from error
        self._taken.clear()
        self._block = size, b"", 0
        self.size = size
        self._begins = deque([0, *(begin for begin in self._begins if 0 < begin < size), size])

    def _wait_for_disk(self) -> None:
        if self._sync and self._synced != self.size:
            self._sync_file()
            self._synced = self.size

    def _sync_file(self) -> None:
        if sys.platform == "darwin":
            fcntl.fcntl(self._file, fcntl.F_FULLFSYNC)
        else:
            os.fdatasync(self._file.fileno())
        if not self._synced:
            # The first time the directory, too: it lists the file.
            folder = os.open(self._target.parent, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)

    @property
    def closed(self) -> bool:
        """Whether the file was closed."""
        return self._file.closed

    def close(self) -> None:
        """Close the file; a file that was made and is empty is removed."""
        if not self.closed:
            if self._made and not self.size:
                with contextlib.suppress(OSError):
                    self._target.unlink()
            # A child that was just forked may still have its copy open, and the lock with it.
            with contextlib.suppress(OSError):
                fcntl.flock(self._file, fcntl.LOCK_UN)
        self.abandon()

    def abandon(self) -> None:
        """Close only this process's descriptor: it may be a forked child."""
        self._taken.clear()
        self._file.close()

    def too_large(self, error: OSError) -> UsageError:
        """The error of a file that cannot be written whole."""
        there = f"the {self.size} bytes that are there are a whole trace"
        return self._refusal(error, f"make room; {there if self.size else 'nothing is there yet'}")

    def _refusal(self, error: OSError, advice: str) -> UsageError:
        return UsageError(f"cannot write {self.path!r}: {error.strerror or error}; {advice}")
