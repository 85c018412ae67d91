"""The parts of a recording that other processes write, each in a file beside its own."""

from __future__ import annotations

import contextlib
import fcntl
import itertools
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Final

from tracetime._kernels.perfetto.parts import Part
from tracetime._kernels.perfetto.writer import PacketBuffer
from tracetime.atomic_file import file_target, whole_file
from tracetime.errors import UsageError
from tracetime.formats.perfetto.write.joining import Joining, scan
from tracetime.formats.perfetto.write.snapshots import dropped_packet
from tracetime.formats.perfetto.write.writer import BUFFER_BYTES, PartOf, TraceWriter

_SUFFIX: Final = ".part"
# Tracks of one process, and parts that processes of one number may begin.
_TRACK_BITS: Final = 32
_PART_BITS: Final = 10


class Parts:
    """The files of the parts: PATH.PID.part; PATH.PID-1.part for a later process of that number.

    Attributes:
        path: of the recording.
    """

    def __init__(self, path: str) -> None:
        self.path = str(Path(path).absolute())

    def begin(self, owner: object, *, sync: bool) -> TraceWriter:
        """Return the writer of this process's part: no other part has tracks of its numbers."""
        pid = os.getpid()
        for number in itertools.count():
            label = f"{pid}-{number}" if number else str(pid)
            path = f"{self.path}.{label}{_SUFFIX}"
            if not os.path.lexists(path):
                break
        first_track = (pid << _PART_BITS | number) << _TRACK_BITS
        part = PartOf(owner, first_track, label)
        return TraceWriter(path, overwrite=False, sync=sync, part=part)

    def remove(self) -> None:
        """Remove the parts that a recording left which was not closed."""
        for path in self.ended():
            Path(path).unlink()

    def running(self) -> list[str]:
        """The parts that are still written."""
        return sorted(set(self._all()) - set(self.ended()))

    def _all(self) -> list[str]:
        folder, name = Path(self.path).parent, Path(self.path).name
        part = re.compile(rf"{re.escape(name)}\.\d+(-\d+)?{re.escape(_SUFFIX)}")
        return [str(one) for one in folder.iterdir() if part.fullmatch(one.name)]

    def ended(self) -> Iterator[str]:
        """The parts that no process has locked."""
        for path in sorted(self._all()):
            with contextlib.suppress(OSError), Path(path).open("rb") as file:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
                yield path


def join_parts(path: str | os.PathLike[str]) -> list[str]:
    """Join the parts that processes have left beside a recording whose own process was killed.

    The trace is replaced by one with all of them; then they are removed. A part that a process
    still writes stays.

    Args:
        path: of the recording.

    Returns:
        the paths of the parts that were joined.

    Raises:
        UsageError: there is no such recording, it is still written, or the file cannot be written.
    """
    target = file_target(path)
    try:
        with target.open("rb") as file:
            _lock(file)
            paths = [*Parts(str(target)).ended()]
            if paths:
                with whole_file(target) as made, made.open("wb") as out:
                    _write(file, paths, out)
    except OSError as error:
        raise UsageError(f"cannot join the parts of {os.fspath(path)!r}: {error}") from error
    for one in paths:
        Path(one).unlink()
    return paths


def _lock(file: IO[bytes]) -> None:
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        raise UsageError(
            f"{file.name!r} is still recorded: close the recording, which joins its parts"
        ) from None


def _write(recording: IO[bytes], paths: list[str], out: IO[bytes]) -> None:
    """Write the packets of the recording and of its parts; one that is cut off is left out."""
    own = Part(0, set())
    size = scan(recording, own)
    recording.seek(0)
    shutil.copyfileobj(recording, out)
    out.truncate(size)
    out.seek(size)
    buffer = PacketBuffer(BUFFER_BYTES, 0, BUFFER_BYTES)
    joining = Joining(buffer, paths, own.highest, own.clocks, None)
    joining.run(lambda: _flush(buffer, out))
    if buffer.dropped:
        # Each process has said so itself; the sum of all comes last.
        buffer.put(dropped_packet(buffer.dropped + own.dropped), False)
    _flush(buffer, out)


def _flush(buffer: PacketBuffer, out: IO[bytes]) -> None:
    out.write(buffer.take())
