"""Journals of systemd, in its Journal Export Format (`journalctl -o export`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from tracetime.formats.trace_file import TraceFile
    from tracetime.trace.open_options import OpenOptions
    from tracetime.trace.trace import Trace

_FIRST_FIELDS: Final = (
    b"__CURSOR=",
    b"__REALTIME_TIMESTAMP=",
    b"__MONOTONIC_TIMESTAMP=",
    b"__SEQNUM=",
)


def probe(beginning: bytes) -> bool:
    """Whether a file begins with an address of an entry, which systemd writes first."""
    return beginning.startswith(_FIRST_FIELDS)


def open(file: TraceFile, options: OpenOptions) -> Trace:
    """Return the trace; see `register_format`."""
    from tracetime.formats.journal.reader import JournalTrace

    return JournalTrace(file, options)
