"""Spans of distributed traces in JSON: OpenTelemetry's (OTLP) and Jaeger's."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from tracetime.formats.trace_file import TraceFile
    from tracetime.trace.open_options import OpenOptions
    from tracetime.trace.trace import Trace

_BEGIN: Final = rb"(?:\xef\xbb\xbf)?\s*"
# Tempo has `batches`; Tempo's and Jaeger's APIs wrap it all in `trace` or `result`.
_OTLP: Final = re.compile(
    # Several objects may be in an array.
    _BEGIN + rb'(?:\[\s*)?\{\s*(?:"(?:trace|result)"\s*:\s*\{\s*)?'
    rb'"(?:resourceSpans|resource_spans|batches)"\s*:\s*\['
)
_JAEGER: Final = re.compile(
    _BEGIN + rb'\{(?:(?:\s*"\w+"\s*:\s*(?:\d+|null)\s*,)*'
    rb'\s*"data"\s*:\s*\[\s*\{[^{}\[\]]*"(?:traceID|spans|processes)"'
    # No trace was found.
    rb'|(?:\s*"\w+"\s*:\s*(?:\d+|null)\s*,)*\s*"data"\s*:\s*(?:\[\s*\]|null)\s*,\s*"(?:total|limit|errors)"'
    # Elasticsearch, which may hold Jaeger's spans: an answer, and its hits one a line.
    rb'|\s*"took"\s*:\s*\d+\s*,\s*"timed_out"|\s*"_index"\s*:\s*"[^"]*jaeger-span'
    # One trace alone.
    rb'|[^{}\[\]]*"traceID"\s*:[^{}\[\]]*"(?:spans"\s*:\s*\[|processes"\s*:\s*\{))'
)
_FOREIGN: Final = re.compile(
    _BEGIN + rb'(?:\{\s*"resource_?(?:log|metric|profile)s"\s*:\s*\['
    rb'|\[\s*\{[^{}\[\]]*"traceId"\s*:'
    # Of journalctl; systemd's names of fields are in capitals.
    rb'|\{(?s:.*)"(?:__(?:CURSOR|SEQNUM(?:_ID)?|(?:REALTIME|MONOTONIC)_TIMESTAMP)|_BOOT_ID)"\s*:\s*")',
    re.IGNORECASE,
)


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


def probe_foreign(beginning: bytes) -> bool:
    """Whether a file begins as JSON that is read in another form: Zipkin's, journalctl's."""
    return _FOREIGN.match(beginning) is not None


def open_foreign(file: TraceFile, options: OpenOptions) -> Trace:
    """Return a trace that says what the file is once it is read; see `register_format`."""
    from tracetime.formats.spans import foreign
    from tracetime.formats.spans.reader import SpansTrace

    return SpansTrace(file, options, foreign.SPANS)
