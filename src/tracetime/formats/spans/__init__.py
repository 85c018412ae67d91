"""Spans of distributed traces in JSON: OpenTelemetry's (OTLP) and Jaeger's."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from tracetime.formats.trace_file import TraceFile
    from tracetime.open_options import OpenOptions
    from tracetime.trace import Trace

_OTLP: Final = re.compile(rb'\s*\{\s*"(resourceSpans|resource_spans)"\s*:')
_JAEGER: Final = re.compile(rb'\s*\{\s*"data"\s*:\s*\[\s*\{[^{}\[\]]*"(traceID|spans|processes)"')


def probe_otlp(beginning: bytes) -> bool:
    """Whether a file begins with an object that has the spans of resources."""
    return _OTLP.match(beginning) is not None


def open_otlp(file: TraceFile, options: OpenOptions) -> Trace:
    """Return the trace; see `register_format`."""
    from tracetime.formats.spans import otlp
    from tracetime.formats.spans.reader import SpansTrace

    return SpansTrace(file, options, otlp.SPANS)


def probe_jaeger(beginning: bytes) -> bool:
    """Whether a file begins with an object that has the data of traces."""
    return _JAEGER.match(beginning) is not None


def open_jaeger(file: TraceFile, options: OpenOptions) -> Trace:
    """Return the trace; see `register_format`."""
    from tracetime.formats.spans import jaeger
    from tracetime.formats.spans.reader import SpansTrace

    return SpansTrace(file, options, jaeger.SPANS)
