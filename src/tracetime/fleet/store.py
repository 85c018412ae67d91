"""The place of a data set: a directory, or a URL of fsspec. Every file appears whole.

Nothing is appended to and, where the place is remote, nothing renamed: object stores do neither.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, Protocol

from tracetime.atomic_file import refuse_input
from tracetime.errors import UsageError
from tracetime.fleet.sources import filesystem, is_remote, usage_errors

_WORK: Final = ".work"
"""Of a directory: where files are until they are whole. No reader of tables looks there."""

_AT_ONCE: Final = 1000
"""Objects that are asked for together."""


class Store(Protocol):
    """The files of a data set, by names with slashes.

    `put` replaces a file at once: a reader sees the old one or the new one, whole.
    """

    def names(self, folder: str) -> list[str]:
        """The names of the files in a folder, without it; none where there is no such folder."""

    def read(self, names: Iterable[str]) -> Iterator[tuple[str, bytes]]:
        """Yield files and their contents; those that are not there are left out."""

    def has(self, name: str) -> bool:
        """Whether there is a file."""

    def put(self, path: Path, name: str) -> None:
        """Move a file, which is in a `workspace`, to its name."""

    def remove(self, name: str) -> None:
        """Remove a file, if it is there."""

    def workspace(self) -> contextlib.AbstractContextManager[Path]:
        """Give a directory for files that are not yet whole; it is removed afterwards."""

    def clean(self) -> None:
        """Remove the workspaces of runs that were killed."""


def open_store(out: str) -> Store:
    """Return the place of a data set.

    Raises:
        UsageError: there is a file, or no package for the URL.
    """
    return RemoteStore(out) if is_remote(out) else LocalStore(Path(out))


class LocalStore:
    """A `Store` in a directory."""

    def __init__(self, root: Path) -> None:
        self._root = root
        refuse_input(root)
        try:
            root.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            why = f"{error.strerror}; choose another directory"
            raise UsageError(f"cannot write {str(root)!r}: {why}") from error

    def names(self, folder: str) -> list[str]:
        with contextlib.suppress(FileNotFoundError):
            return [path.name for path in (self._root / folder).iterdir() if path.name[0] != "."]
        return []

    def read(self, names: Iterable[str]) -> Iterator[tuple[str, bytes]]:
        for name in names:
            with contextlib.suppress(FileNotFoundError):
                yield name, (self._root / name).read_bytes()

    def has(self, name: str) -> bool:
        return (self._root / name).is_file()

    def put(self, path: Path, name: str) -> None:
        target = self._root / name
        refuse_input(target)
        target.parent.mkdir(parents=True, exist_ok=True)
        path.replace(target)

    def remove(self, name: str) -> None:
        refuse_input(self._root / name)
        (self._root / name).unlink(missing_ok=True)

    @contextlib.contextmanager
    def workspace(self) -> Iterator[Path]:
        folder, lock = self._make_workspace()
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)
            os.close(lock)

    def _make_workspace(self) -> tuple[Path, int]:
        home = self._root / _WORK
        while True:
            # Another run may remove the directory, while it is empty, or not yet locked.
            with contextlib.suppress(FileNotFoundError):
                home.mkdir(exist_ok=True)
                folder = Path(tempfile.mkdtemp(dir=home))
                if (lock := _lock(folder)) is not None:
                    return folder, lock

    def clean(self) -> None:
        home = self._root / _WORK
        with contextlib.suppress(FileNotFoundError):
            for folder in list(home.iterdir()):
                if (lock := _lock(folder)) is not None:
                    shutil.rmtree(folder, ignore_errors=True)
                    os.close(lock)
            with contextlib.suppress(OSError):  # Another run has one.
                home.rmdir()


def _lock(folder: Path) -> int | None:
    """Lock a directory, until the descriptor is closed; None where another process has."""
    try:
        found = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return None
    with contextlib.suppress(OSError):
        fcntl.flock(found, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # Another run may have taken it for a leftover, and have removed it.
        if folder.is_dir():
            return found
    os.close(found)
    return None


class RemoteStore:
    """A `Store` at a URL of fsspec."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._fs, root = filesystem(url)
        self._root = root.rstrip("/")

    def names(self, folder: str) -> list[str]:
        with usage_errors(self._url, "read"):
            self._fs.invalidate_cache()
            try:
                found = self._fs.ls(f"{self._root}/{folder}", detail=True)
            except FileNotFoundError:
                return []
        names: list[str] = [info["name"] for info in found if info["type"] == "file"]
        return [name.rpartition("/")[2] for name in names]

    def read(self, names: Iterable[str]) -> Iterator[tuple[str, bytes]]:
        paths = {f"{self._root}/{name}": name for name in names}
        every = list(paths)
        for start in range(0, len(every), _AT_ONCE):
            some = every[start : start + _AT_ONCE]
            with usage_errors(self._url, "read"):
                # Of a range s3fs does not first ask for the size, and for a directory of the name.
                found = self._fs.cat_ranges(some, 0, None, on_error="return")
                for content in found:
                    if not isinstance(content, (bytes, FileNotFoundError)):
                        raise content
            for path, content in zip(some, found, strict=True):
                if isinstance(content, bytes):
                    yield paths[path], content

    def has(self, name: str) -> bool:
        with usage_errors(self._url, "read"):
            self._fs.invalidate_cache()
            return bool(self._fs.isfile(f"{self._root}/{name}"))

    def put(self, path: Path, name: str) -> None:
        with usage_errors(self._url, "write"):
            self._fs.put_file(str(path), f"{self._root}/{name}")

    def remove(self, name: str) -> None:
        with usage_errors(self._url, "write"), contextlib.suppress(FileNotFoundError):
            self._fs.rm_file(f"{self._root}/{name}")

    @contextlib.contextmanager
    def workspace(self) -> Iterator[Path]:
        with tempfile.TemporaryDirectory(prefix="tracetime-") as folder:
            yield Path(folder)

    def clean(self) -> None:
        """Do nothing: the system clears its directory of temporary files."""
