"""XDF: recordings of the lab streaming layer: samples by the clocks of many hosts."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tracetime.formats.trace_file import TraceFile
    from tracetime.trace.open_options import OpenOptions
    from tracetime.trace.trace import Trace

MAGIC = b"XDF:"


def probe(beginning: bytes) -> bool:
    """Whether a file begins with the magic of XDF."""
    return beginning.startswith(MAGIC)


def open(file: TraceFile, options: OpenOptions) -> Trace:
    """Return the trace; see `register_format`."""
    from tracetime.formats.xdf.xdf_trace import XdfTrace

    return XdfTrace(file, options)
