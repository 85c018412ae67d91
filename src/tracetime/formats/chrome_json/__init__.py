"""Trace files in JSON: those of Chrome and of PyTorch's profiler; and systrace's text."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from tracetime.formats.trace_file import TraceFile
    from tracetime.trace.open_options import OpenOptions
    from tracetime.trace.trace import Trace

_JSON: Final = re.compile(
    rb"(?:\xef\xbb\xbf)?[ \t\r\n]*(?:\{[ \t\r\n]*(?:[\"/]|\Z)|\[[ \t\r\n]*[\]{/])"
)
_TRACER: Final = re.compile(rb"^# tracer: \w", re.MULTILINE)
_LINE: Final = re.compile(
    rb"^.{1,40}-\d+ +(?:\( *[\d-]+\) )?\[\d+\] .{0,6} *\d+\.\d+: \w+:", re.MULTILINE
)
_BRACKET: Final = re.compile(rb"(?:\xef\xbb\xbf[ \t\r\n]*)?[{\[]")
"""No other format begins so, whatever bytes follow: raw control characters, or zeros as padding."""
_BINARY: Final = re.compile(rb"[\x00-\x08\x0e-\x1f]")


def probe(beginning: bytes) -> bool:
    """Whether a file is text that begins as an object, or an array of objects, or as systrace."""
    if _BRACKET.match(beginning) is None and _BINARY.search(beginning):
        return False
    return _JSON.match(beginning) is not None or is_systrace(beginning)


def is_systrace(beginning: bytes) -> bool:
    """Whether text begins as that of ftrace."""
    return _TRACER.search(beginning) is not None or _LINE.search(beginning) is not None


def open(file: TraceFile, options: OpenOptions) -> Trace:
    """Return the trace; see `register_format`."""
    from tracetime.formats.chrome_json.reader import ChromeJsonTrace

    return ChromeJsonTrace(file, options)
