"""Files that appear under their name when they are complete, or not at all."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path

from tracetime.errors import UsageError


def part_of(target: Path) -> Path:
    """A temporary name beside `target`, to be renamed to it."""
    # As short as can be: a directory may take no longer name than the target's.
    return target.with_name(f".{secrets.token_hex(4)}.part")


def file_target(path: str | os.PathLike[str]) -> Path:
    """The file to write as `path`, links followed, so that a link stays one.

    Raises:
        UsageError: it is no file.
    """
    try:
        target = Path(os.path.realpath(path))
        if target.exists() and not target.is_file():
            raise UsageError(f"cannot write {str(path)!r}: it is not a file")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise UsageError(f"cannot write {str(path)!r}: {reason}; choose another file") from error
    return target


def not_written(target: Path, error: OSError) -> UsageError:
    """The error to raise where writing `target` failed, after what was written is removed."""
    # Arrow puts the system's error into its message, where errno is not set.
    why = os.strerror(error.errno) if error.errno else str(error)
    return UsageError(
        f"cannot write {str(target)!r}: {why}; nothing was left behind, choose another file"
    )


@contextlib.contextmanager
def whole_file(target: Path) -> Iterator[Path]:
    """A new, empty file beside `target`, which takes its name, and its mode, when the block ends.

    Where the block raises, it is removed, and `target` stays as it was.

    Raises:
        UsageError: OSError in the block, or of renaming.
    """
    part = part_of(target)
    try:
        part.touch(exist_ok=False)
        if target.exists():
            shutil.copymode(target, part)
        yield part
        part.replace(target)
    except OSError as error:
        raise not_written(target, error) from error
    finally:
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)
