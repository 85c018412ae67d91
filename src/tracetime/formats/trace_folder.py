"""A trace that is a directory: its files, with the interface of a trace file that formats need."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from tracetime.atomic_file import protect_all
from tracetime.errors import UsageError

_MOST_FILES: Final = 100_000
"""A larger directory is no trace: somebody gave their home."""


class TraceFolder:
    """The files of a directory and of those below it; links that lead out of it are not followed.

    Until it is closed, nothing is written in it.

    Args:
        path: of the directory.

    Attributes:
        files: paths and sizes (bytes), by path.
        size: of all files, bytes.
        links_out: those that are links to what is not in the directory.

    Raises:
        UsageError: it cannot be read, or has too many files.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fspath(path)
        self.files: dict[Path, int] = {}
        self.links_out: list[Path] = []
        self.closed = False
        try:
            self._list(Path(self.path))
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            raise UsageError(f"cannot read {self.path!r}: {reason}") from error
        self.size = sum(self.files.values())
        self.on_read: Sequence[Callable[[int], None]] = ()

    def _list(self, folder: Path) -> None:
        protect_all(self, [folder.stat()])
        home = _real(folder)
        left = [folder]
        while left:
            for entry in sorted(os.scandir(left.pop()), key=lambda entry: entry.name):
                if entry.is_dir(follow_symlinks=False):
                    left.append(Path(entry.path))
                elif entry.is_symlink() and not _real(entry.path).startswith(home):
                    self.links_out.append(Path(entry.path))
                elif entry.is_file():
                    self.files[Path(entry.path)] = entry.stat().st_size
                    protect_all(self, [entry.stat()])
                if len(self.files) + len(left) > _MOST_FILES:
                    raise UsageError(
                        f"{self.path!r} has more than {_MOST_FILES} files: give the directory of "
                        "the trace itself"
                    )

    def reach(self, at: int) -> None:
        """Tell those who follow the reading that so many bytes have been read."""
        for watch in self.on_read:
            watch(at)

    def close(self) -> None:
        """Close the folder: nothing can be read afterwards."""
        self.closed = True

    def check_open(self) -> None:
        """Raise UsageError once it is closed."""
        if self.closed:
            raise UsageError(f"the trace {self.path!r} is closed")


def _real(path: str | os.PathLike[str]) -> str:
    """The real place of a path, with a separator at its end."""
    return os.path.join(os.path.realpath(path), "")  # noqa: PTH118  which drops it
