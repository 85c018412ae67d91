"""Tables as traces: Parquet, Arrow (a file or a stream) and CSV, of events or of snapshots."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tracetime.formats.trace_file import TraceFile
    from tracetime.trace.open_options import OpenOptions
    from tracetime.trace.trace import Trace


def probe(beginning: bytes) -> bool:
    """Whether a file is a table, of CSV only one whose header names what a trace has."""
    from tracetime.formats.table.layouts import is_table

    return is_table(beginning)


def open(file: TraceFile, options: OpenOptions) -> Trace:
    """Return the trace; see `register_format`."""
    from tracetime.formats.table.reader import TableTrace

    return TableTrace(file, options)
