"""Archives of traces, zip and tar: each member that is a trace can be opened as one."""

from __future__ import annotations

import os
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from tracetime.errors import UsageError
from tracetime.formats.beginnings import is_archive

if TYPE_CHECKING:
    from tracetime.formats.trace_file import TraceFile
    from tracetime.trace.open_options import OpenOptions
    from tracetime.trace.trace import Trace


def open(file: TraceFile, options: OpenOptions) -> Trace:
    """Return the trace of an archive of one; see `register_format`.

    Raises:
        UsageError: it has several, or none.
        TraceError: it is cut off or damaged.
    """
    from tracetime.formats.archive.archive import Archive

    with Archive(file, options) as archive:
        return archive.open(archive.only_member())


def open_member(file: TraceFile, member: str, options: OpenOptions) -> Trace:
    """Return a trace of an archive.

    Raises:
        UsageError: the file is no archive, or has no such trace.
        TraceError: it is cut off or damaged.
    """
    from tracetime.formats.archive.archive import Archive

    if not is_archive(file.beginning()):
        file.close()
        raise UsageError(f"{file.path!r} is no archive, so it has no member {member!r}")
    with Archive(file, options) as archive:
        return archive.open(member)


def open_all(file: TraceFile, options: OpenOptions) -> list[Trace]:
    """Return the traces of an archive.

    Raises:
        UsageError: it has none.
        TraceError: it is cut off or damaged, or a trace in it cannot be unpacked.
    """
    from tracetime.formats.archive.archive import Archive

    with Archive(file, options) as archive, ExitStack() as opened:
        archive.check_traces()
        traces = [opened.enter_context(archive.open(name)) for name in archive.members]
        opened.pop_all()
        return traces


def split_member(path: str | os.PathLike[str]) -> tuple[str, str] | None:
    """Return archive and member of a path `ARCHIVE:MEMBER`; None for any other."""
    text = os.fspath(path)
    try:
        if ":" not in text or Path(text).exists():
            return None
        at = text.find(":")
        while at >= 0:
            if Path(text[:at]).is_file():
                return text[:at], text[at + 1 :]
            at = text.find(":", at + 1)
    except (OSError, ValueError):
        return None
    return None
