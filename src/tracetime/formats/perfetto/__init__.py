"""Perfetto traces: bytes to columns and snapshots, and back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from tracetime.formats.trace_file import TraceFile
    from tracetime.trace.open_options import OpenOptions
    from tracetime.trace.trace import Trace

_MARK_BYTES: Final = 512
"""The first packet of a baked trace is far shorter."""


def probe(beginning: bytes) -> bool:
    """Whether a file begins with a packet."""
    return beginning[:1] == b"\n"


def open(file: TraceFile, options: OpenOptions) -> Trace:
    """Return the trace; see `register_format`."""
    from tracetime._kernels.perfetto.bake import carries_source

    if carries_source(file.beginning(_MARK_BYTES)):
        from tracetime.formats.perfetto.read.baked_trace import BakedTrace

        return BakedTrace(file, options)
    from tracetime.formats.perfetto.read.reader import PerfettoTrace

    return PerfettoTrace(file, options)
