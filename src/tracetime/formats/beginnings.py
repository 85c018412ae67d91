"""The first bytes by which a file is known to be of a format, and the function that opens it.

The reader of a format is loaded when a file of it is opened.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from tracetime.formats.trace_file import TraceFile
    from tracetime.formats.trace_folder import TraceFolder
    from tracetime.trace.open_options import OpenOptions
    from tracetime.trace.trace import Trace


class Format(NamedTuple):
    """A format of traces.

    Attributes:
        probe: whether a file is of it, by its first 4096 bytes (uncompressed), or fewer.
        open: gives the trace; reads nothing yet.
        is_shared: whether files of other programs begin so, too.
    """

    probe: Callable[[bytes], bool]
    open: Callable[[TraceFile, OpenOptions], Trace]
    is_shared: bool = False


class FolderFormat(NamedTuple):
    """A format of traces that are directories.

    Attributes:
        probe: whether a directory is of it, by the names of its files.
        open: gives the trace; reads nothing yet.
    """

    probe: Callable[[TraceFolder], bool]
    open: Callable[[TraceFolder, OpenOptions], Trace]


def _opens(module: str, name: str) -> Callable[[Any, OpenOptions], Trace]:
    """Return what opens a trace by a class or a function of a module of formats/."""

    def open(file: Any, options: OpenOptions) -> Trace:
        made: Trace = getattr(import_module(f"tracetime.formats.{module}"), name)(file, options)
        return made

    return open


# Packets

_SECTION: Final = b"\x0a\x0d\x0d\x0a"
_BYTE_ORDERS: Final = (b"\x1a\x2b\x3c\x4d", b"\x4d\x3c\x2b\x1a")
_PCAP: Final = (
    *(b"\xa1\xb2\xc3\xd4", b"\xd4\xc3\xb2\xa1"),  # in us, in either byte order
    *(b"\xa1\xb2\x3c\x4d", b"\x4d\x3c\xb2\xa1"),  # in ns
    *(b"\xa1\xb2\xcd\x34", b"\x34\xcd\xb2\xa1"),  # modified, which the reader refuses
)


def _is_capture(beginning: bytes) -> bool:
    """Whether a file begins with a section of pcapng, or with the header of pcap."""
    is_section = beginning.startswith(_SECTION) and beginning[8:12] in _BYTE_ORDERS
    return is_section or beginning.startswith(_PCAP)


# Spans of distributed traces in JSON

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
# JSON that is read in another form: Zipkin's, journalctl's.
_FOREIGN: Final = re.compile(
    _BEGIN + rb'(?:\{\s*"resource_?(?:log|metric|profile)s"\s*:\s*\['
    rb'|\[\s*\{[^{}\[\]]*"traceId"\s*:'
    # Of journalctl; systemd's names of fields are in capitals.
    rb'|\{(?s:.*)"(?:__(?:CURSOR|SEQNUM(?:_ID)?|(?:REALTIME|MONOTONIC)_TIMESTAMP)|_BOOT_ID)"\s*:\s*")',
    re.IGNORECASE,
)


def _spans(beginning: re.Pattern[bytes], form: str) -> Format:
    """Return a form of spans, of a module of formats/spans/, by how its files begin."""

    def open(file: TraceFile, options: OpenOptions) -> Trace:
        from tracetime.formats.spans.reader import SpansTrace

        return SpansTrace(file, options, import_module(f"tracetime.formats.spans.{form}").SPANS)

    return Format(lambda given: beginning.match(given) is not None, open)


# JSON of Chrome and of PyTorch's profiler, and systrace's text

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


def _is_json(beginning: bytes) -> bool:
    """Whether a file is text that begins as an object, or an array of objects, or as systrace."""
    if _BRACKET.match(beginning) is None and _BINARY.search(beginning):
        return False
    return _JSON.match(beginning) is not None or is_systrace(beginning)


def is_systrace(beginning: bytes) -> bool:
    """Whether text begins as that of ftrace."""
    return _TRACER.search(beginning) is not None or _LINE.search(beginning) is not None


# Others

_FIRST_FIELDS: Final = (
    b"__CURSOR=",
    b"__REALTIME_TIMESTAMP=",
    b"__MONOTONIC_TIMESTAMP=",
    b"__SEQNUM=",
)
"""Of the address of an entry, which systemd writes first into a journal."""

CTF_METADATA: Final = "metadata"
"""The file that a directory with a CTF trace has."""

CTF_2: Final = b"\x1e{"
"""What metadata of CTF 2 begin with, a sequence of JSON texts."""

_CTF_BEGINNINGS: Final = (
    b"\x57\x1d\xd1\x75",  # of packets of metadata
    b"\x75\xd1\x1d\x57",
    b"\xc1\x1f\xfc\xc1",  # of packets of a stream
    b"\xc1\xfc\x1f\xc1",
    b"/* CTF ",  # of metadata as text
    CTF_2,
)

XDF: Final = b"XDF:"

_ZIP: Final = (b"PK\x03\x04", b"PK\x05\x06")
"""Of a member, and of the end of an archive without any."""

_TAR: Final = b"ustar"
_TAR_AT: Final = 257


def is_archive(beginning: bytes) -> bool:
    """Whether a file is an archive."""
    is_tar = beginning[_TAR_AT : _TAR_AT + len(_TAR)] == _TAR
    return beginning.startswith(_ZIP) or is_tar


def has_ctf(folder: TraceFolder) -> bool:
    """Whether a directory, or one below it, has a CTF trace."""
    return any(path.name == CTF_METADATA for path in folder.files)


def is_ctf_part(beginning: bytes) -> bool:
    """Whether a file is a part of a CTF trace."""
    return beginning.startswith(_CTF_BEGINNINGS)


def _is_table(beginning: bytes) -> bool:
    """Whether a file is a table, of CSV only one whose header names what a trace has."""
    from tracetime.formats.table.layouts import is_table

    return is_table(beginning)


def _is_log(beginning: bytes) -> bool:
    """Whether a file is a log whose lines have times."""
    from tracetime.formats.logs.lines import is_log

    return is_log(beginning)


_PACKET: Final = re.compile(rb"\n(?!(?s:[\x80-\xff]{0,4}[\x00-\x7f])(?:\x08|\x12[\x01-\x7f][/T]))")
"""A packet of Perfetto, and none of a type of values of pprof, or of a plane of XPlane."""


def _is_perfetto(beginning: bytes) -> bool:
    """Whether a file begins with a packet."""
    return _PACKET.match(beginning) is not None


open_perfetto: Final = _opens("perfetto", "open")

FORMATS: Final = [
    # Before Perfetto's, which begins with the same byte.
    Format(_is_capture, _opens("pcapng.reader", "CaptureTrace")),
    # Before any other JSON.
    _spans(_OTLP, "otlp"),
    _spans(_JAEGER, "jaeger"),
    _spans(_FOREIGN, "foreign"),
    # Before Perfetto's: a file of JSON may begin with a line feed, as a packet does.
    Format(_is_json, _opens("chrome_json.reader", "ChromeJsonTrace"), is_shared=True),
    Format(_is_perfetto, open_perfetto),
    Format(
        lambda beginning: beginning.startswith(_FIRST_FIELDS),
        _opens("journal.reader", "JournalTrace"),
    ),
    Format(is_ctf_part, _opens("ctf.reader", "refuse_part")),
    Format(_is_table, _opens("table.reader", "TableTrace")),
    Format(lambda beginning: beginning.startswith(XDF), _opens("xdf.xdf_trace", "XdfTrace")),
    Format(is_archive, _opens("archive.archive", "open_only_member")),
    Format(_is_log, _opens("logs.reader", "LogTrace")),
]
"""In the order in which they are probed."""

FOLDER_FORMATS: Final = [FolderFormat(has_ctf, _opens("ctf.reader", "CtfTrace"))]
