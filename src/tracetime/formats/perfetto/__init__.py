"""Perfetto traces: bytes to columns and snapshots, and back."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tracetime.formats.trace_file import TraceFile
    from tracetime.trace.open_options import OpenOptions
    from tracetime.trace.trace import Trace


def open(file: TraceFile, options: OpenOptions) -> Trace:
    """Return the trace; see `register_format`."""
    from tracetime._kernels.perfetto.packets import carries_readings

    # The first packet of a baked trace is far shorter.
    if carries_readings(file.beginning()):
        from tracetime.formats.perfetto.read.carried_trace import CarriedTrace

        return CarriedTrace(file, options)
    from tracetime.formats.perfetto.read.reader import PerfettoTrace

    return PerfettoTrace(file, options)
