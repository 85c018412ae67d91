"""What is read is not written over; what is written appears when it is complete, or not at all.

Of the files and directories that are read there is one list. A file is known by its device and
inode, under whatever name; where a directory is read, nothing in it is written.

Every output file except a recording is written as a `Part` of the path that `file_target` returns,
which is never a file that is being read.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import stat
import threading
import zlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import IO, Any, Final, NamedTuple
from weakref import WeakKeyDictionary

from tracetime.errors import UsageError

_ENDING: Final = ".part"

Identity = tuple[int, int]

_reading: Final[WeakKeyDictionary[Any, set[Identity]]] = WeakKeyDictionary()
"""By what reads them, while its `closed` is False."""

_asked: Final[WeakKeyDictionary[Any, Callable[[], Iterable[str]]]] = WeakKeyDictionary()
"""What tells only when it is asked which files it has opened."""


class OutputIsInputError(Exception):
    """Streams go to a file that is read: no error may be written there, either.

    streams: their descriptors.
    """

    def __init__(self, streams: frozenset[int]) -> None:
        super().__init__("output goes to a file that is read; send it to another one")
        self.streams = streams


class _Kept(NamedTuple):
    """The files that were read since a `keep_inputs` began, and those that its streams write."""

    read: set[Identity]
    written: dict[int, Identity]

    def check(self, read: set[Identity]) -> None:
        streams = frozenset(stream for stream, file in self.written.items() if file in read)
        if streams:
            raise OutputIsInputError(streams)


_kept: Final[list[_Kept]] = []
"""Of each `keep_inputs` that has begun."""

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
    """Refuse to write over files, and in directories, until `reader.closed`.

    Raises:
        OutputIsInputError: a stream of `keep_inputs` goes to one of them.
    """
    read = {
        (facts.st_dev, facts.st_ino)
        for facts in found
        if stat.S_ISREG(facts.st_mode) or stat.S_ISDIR(facts.st_mode)
    }
    with _lock:
        _reading.setdefault(reader, set()).update(read)
        for kept in _kept:
            kept.read.update(read)
        for kept in _kept:
            kept.check(read)


def protect_opened(reader: Any, opened: Callable[[], Iterable[str]]) -> None:
    """Protect what `opened` says that a library has opened, whenever a file is to be written."""
    with _lock:
        _asked[reader] = opened


@contextlib.contextmanager
def keep_inputs(streams: Iterable[int] = ()) -> Iterator[None]:
    """Protect what is read in the block until it ends, closed or not.

    streams: the descriptors that the block writes to, whatever they are.
    """
    written = dict[int, Identity]()
    for stream in streams:
        # One may be closed.
        with contextlib.suppress(OSError):
            facts = os.fstat(stream)
            if stat.S_ISREG(facts.st_mode):
                written[stream] = facts.st_dev, facts.st_ino
    kept = _Kept(set(), written)
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
                *(files for reader, files in _reading.items() if not reader.closed),
                *(kept.read for kept in _kept),
            )
        what = "that" if itself & read else "its directory" if found & read else ""
        if what:
            raise UsageError(
                f"cannot write {str(path)!r}: {what} is what is read; choose another file"
            )


def file_target(path: str | os.PathLike[str]) -> Path:
    """The file to write for `path`: links are followed, so that a link stays one.

    Raises:
        UsageError: it is no file, or one that is being read, under any name, or in a directory that
            is.
    """
    try:
        target = Path(os.path.realpath(path))
        if target.exists() and not target.is_file():
            raise UsageError(f"cannot write {str(path)!r}: it is not a file")
        refuse_input(path)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise UsageError(f"cannot write {str(path)!r}: {reason}; choose another file") from error
    return target


def not_written(target: Path, error: OSError) -> UsageError:
    """The error to raise if writing `target` failed and the part was removed."""
    # Arrow has the system's error in its message, without errno.
    why = os.strerror(error.errno) if error.errno else str(error)
    return UsageError(
        f"cannot write {str(target)!r}: {why}; nothing was left behind, choose another file"
    )


class Part:
    """A file in the directory of `target` that will take its name.

    Parts that killed runs left for the same target are removed first. A run holds the kernel's lock
    on its part, which ends with the run: a locked part belongs to a live run, and stays.

    Attributes:
        path: of the file while it exists under this name, else None.
    """

    def __init__(self, target: Path) -> None:
        self._target = target
        self._lock = -1
        self.path: Path | None = None

    @property
    def beside(self) -> Path:
        """A path for who makes the file, or a directory, itself; with the endings of the target."""
        assert self.path is not None
        return self.path.with_name(f"{self.path.name}.new{''.join(self._target.suffixes)}")

    def make(self) -> Path:
        """Make the file, empty, with the target's mode.

        Call it where `discard` follows: a signal may come as soon as the file exists.

        Raises:
            OSError: it cannot be made.
        """
        # As short as possible: the file system may allow no longer names than the target's.
        name = f"{zlib.crc32(os.fsencode(self._target.name)):08x}"
        _remove_leftovers(self._target.parent, f".{name}-")
        while self._lock < 0:
            self.path = self._target.with_name(f".{name}-{os.urandom(4).hex()}{_ENDING}")
            self._lock = _create(self.path)
        assert self.path is not None
        if self._target.exists():
            _copy_mode(self._target, self.path)
        return self.path

    def take_name(self) -> None:
        """Replace the target by the file.

        Raises:
            OSError: of renaming.
            UsageError: since `file_target` the target was opened to be read.
        """
        assert self.path is not None
        refuse_input(self._target)
        made = self.beside
        if made.is_file():
            _copy_mode(self.path, made)
            made.replace(self.path)
        if made.is_dir():
            made.replace(self._target)
        else:
            self.path.replace(self._target)
            self.path = None

    def discard(self) -> None:
        """Remove the file, unless it has taken the name, and release the lock."""
        if self.path is not None:
            with contextlib.suppress(OSError):
                _remove(self.path)
            self.path = None
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1


def _create(path: Path) -> int:
    """A descriptor of the new file, locked; -1 if another run is removing it as a leftover."""
    made = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
    try:
        fcntl.flock(made, fcntl.LOCK_EX | fcntl.LOCK_NB)
        taken = not os.fstat(made).st_nlink
    except BlockingIOError:
        taken = True
    except OSError:
        # A file system without locks: there no run removes leftovers.
        taken = False
    if taken:
        os.close(made)
        return -1
    return made


def _copy_mode(of: Path, to: Path) -> None:
    to.chmod(stat.S_IMODE(of.stat().st_mode))


def _remove(path: Path) -> None:
    """Remove a part, and what was made beside it."""
    # Loads the libraries of archives, for which `tracetime --version` would wait.
    import shutil

    for made in path.parent.glob(f"{path.name}.new*"):
        if made.is_dir():
            shutil.rmtree(made, ignore_errors=True)
        else:
            made.unlink(missing_ok=True)
    path.unlink(missing_ok=True)


def _remove_leftovers(directory: Path, start: str) -> None:
    with contextlib.suppress(OSError):
        for path in directory.iterdir():
            if path.name.startswith(start) and path.suffix == _ENDING:
                _remove_if_dead(path)


def _remove_if_dead(path: Path) -> None:
    with contextlib.suppress(OSError):
        file = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            _remove(path)
        finally:
            os.close(file)


@contextlib.contextmanager
def whole_file(target: Path, *, empty: bool = True) -> Iterator[Path]:
    """A new file that takes the name and mode of `target` when the block ends.

    If the block raises, the file is removed, and `target` stays as it was.

    Args:
        target: as `file_target` returns it.
        empty: give an empty file; else a path where there is none, with the endings of `target`.
            What is made there may be a directory, where nothing is at `target`.

    Raises:
        UsageError: an OSError in the block, or of renaming.
    """
    part = Part(target)
    try:
        made = part.make()
        yield made if empty else part.beside
        part.take_name()
    except OSError as error:
        raise not_written(target, error) from error
    finally:
        part.discard()
