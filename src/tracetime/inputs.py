"""What is read is not written over: the one list of the files and directories that are read.

A file is known by its device and inode, under whatever name. Where a directory is read, nothing in
it is written.
"""

from __future__ import annotations

import contextlib
import os
import stat
import threading
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import IO, Any, Final
from weakref import WeakKeyDictionary

from tracetime.errors import UsageError

Identity = tuple[int, int]

_reading: Final[WeakKeyDictionary[Any, set[Identity]]] = WeakKeyDictionary()
"""By what reads them, while its `closed` is False."""

_asked: Final[WeakKeyDictionary[Any, Callable[[], Iterable[str]]]] = WeakKeyDictionary()
"""What tells only when it is asked which files it has opened."""

_kept: Final[list[set[Identity]]] = []
"""What was read since each `keep_inputs` began."""

_lock: Final = threading.RLock()


def open_to_read(path: str | os.PathLike[str]) -> IO[bytes]:
    """Open a file, and nothing else.

    Raises:
        UsageError: it is no file, or cannot be read.
    """
    name = os.fspath(path)
    try:
        # Before it is opened: to open a pipe may block.
        if not stat.S_ISREG(Path(name).stat().st_mode):
            raise UsageError(f"cannot read {name!r}: it is not a file")
        file = Path(name).open("rb")  # noqa: SIM115
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise UsageError(f"cannot read {name!r}: {reason}") from error
    protect(file)
    return file


def protect(file: IO[Any]) -> None:
    """Refuse to write over this open file, until it is closed."""
    # A file object without a file of the system cannot be written over.
    with contextlib.suppress(OSError, ValueError):
        protect_all(file, [os.fstat(file.fileno())])


def protect_all(reader: Any, found: Iterable[os.stat_result]) -> None:
    """Refuse to write over files, and in directories, until `reader.closed`."""
    read = {
        (facts.st_dev, facts.st_ino)
        for facts in found
        if stat.S_ISREG(facts.st_mode) or stat.S_ISDIR(facts.st_mode)
    }
    with _lock:
        _reading.setdefault(reader, set()).update(read)
        for kept in _kept:
            kept.update(read)


def protect_opened(reader: Any, opened: Callable[[], Iterable[str]]) -> None:
    """Protect what `opened` says that a library has opened, whenever a file is to be written."""
    with _lock:
        _asked[reader] = opened


@contextlib.contextmanager
def keep_inputs() -> Iterator[None]:
    """Protect what is read in the block until it ends, closed or not."""
    kept: set[Identity] = set()
    with _lock:
        _kept.append(kept)
    try:
        yield
    finally:
        with _lock:
            # By what it is: another thread's may have come after it.
            _kept[:] = [one for one in _kept if one is not kept]


def note_opened() -> None:
    """Ask what was opened so far: before it is closed."""
    with _lock:
        for reader, opened in list(_asked.items()):
            if not reader.closed:
                protect_all(reader, _facts(opened()))


def _facts(paths: Iterable[str]) -> Iterator[os.stat_result]:
    for path in paths:
        with contextlib.suppress(OSError, ValueError):
            yield Path(path).stat()


def refuse_input(path: str | os.PathLike[str]) -> None:
    """Check that nothing reads the file under whatever name, nor a directory that it is in.

    Raises:
        UsageError: it is being read.
    """
    note_opened()
    with contextlib.suppress(OSError, ValueError):
        target = Path(os.path.realpath(path))
        found = {(facts.st_dev, facts.st_ino) for facts in _facts(map(str, target.parents))}
        itself = {(facts.st_dev, facts.st_ino) for facts in _facts([str(target)])}
        with _lock:
            read = set().union(
                *(files for reader, files in _reading.items() if not reader.closed), *_kept
            )
        what = "that" if itself & read else "its directory" if found & read else ""
        if what:
            raise UsageError(
                f"cannot write {str(path)!r}: {what} is what is read; choose another file"
            )
