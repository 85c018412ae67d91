"""Perfetto traces (floor 3): bytes to columns and snapshots, and back."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tracetime.formats.trace_file import TraceFile
    from tracetime.open_options import OpenOptions
    from tracetime.trace import Trace


def probe(beginning: bytes) -> bool:
    """Whether a file begins with a packet."""
    return beginning[:1] == b"\n"


def open(file: TraceFile, options: OpenOptions) -> Trace:
    """Return the trace; see `register_format`."""
    from tracetime.formats.perfetto.read.reader import PerfettoTrace

    return PerfettoTrace(file, options)
