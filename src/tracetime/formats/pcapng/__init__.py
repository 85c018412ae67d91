"""Captures of packets: pcapng, and the older pcap."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from tracetime.formats.trace_file import TraceFile
    from tracetime.trace.open_options import OpenOptions
    from tracetime.trace.trace import Trace

_SECTION: Final = b"\x0a\x0d\x0d\x0a"
_BYTE_ORDERS: Final = (b"\x1a\x2b\x3c\x4d", b"\x4d\x3c\x2b\x1a")
_PCAP: Final = (
    *(b"\xa1\xb2\xc3\xd4", b"\xd4\xc3\xb2\xa1"),  # in us, in either byte order
    *(b"\xa1\xb2\x3c\x4d", b"\x4d\x3c\xb2\xa1"),  # in ns
    *(b"\xa1\xb2\xcd\x34", b"\x34\xcd\xb2\xa1"),  # modified, which the reader refuses
)


def probe(beginning: bytes) -> bool:
    """Whether a file begins with a section of pcapng, or with the header of pcap."""
    is_section = beginning.startswith(_SECTION) and beginning[8:12] in _BYTE_ORDERS
    return is_section or beginning.startswith(_PCAP)


def open(file: TraceFile, options: OpenOptions) -> Trace:
    """Return the trace; see `register_format`."""
    from tracetime.formats.pcapng.reader import CaptureTrace

    return CaptureTrace(file, options)
