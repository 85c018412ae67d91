"""Spans as columns: what the decoders of both formats fill, and all that reads them takes."""

from __future__ import annotations

from base64 import b64decode
from bisect import bisect_left
from contextlib import suppress
from dataclasses import dataclass, field, fields
from hashlib import blake2b
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tracetime.clocks.snapshot import INT64_MAX
from tracetime.columns.arrays import ends_of, texts_of
from tracetime.graph.values import Values

KINDS: Final = ("unspecified", "internal", "server", "client", "producer", "consumer")
"""The kinds of spans, by OTLP's numbers."""

SERVER, CLIENT, CONSUMER = (KINDS.index(kind) for kind in ("server", "client", "consumer"))

# Bits of the column `marks`.
ENDED: Final = 1
"""The span has an end."""
FAILED: Final = 2
"""It ended with an error."""
STREAMED: Final = 4
"""It is of more than one message each way."""
AWAITED: Final = 8
"""It began by waiting, maybe before its parent did."""
FOLLOWS: Final = 16
"""Its parent does not wait for it."""
ANSWERED: Final = 32
"""It is a client's, and has the status of a response: the server had begun before it ended."""

RESPONSE_STATUS: Final = ("http.response.status_code", "http.status_code")
"""The attributes that a client's span has once it was answered."""

_TRACE_DIGITS: Final = 32
_SPAN_DIGITS: Final = 16
_TIME_DIGITS: Final = 19

Words = npt.NDArray[np.uint64]
Time: TypeAlias = int | str | None
"""Of a file: a whole number or its decimal digits."""


@dataclass(eq=False, slots=True)
class Spans:
    """The spans of a part of a file, in file order, one row each.

    Attributes:
        first: the number of the first.
        offset: int64, the first byte of the JSON object that has it.
        resource: int32, its number.
        trace: uint64[n, 2], id: uint64[n], parent: uint64[n]: ids; a parent of 0 is none.
        begin, end: int64 ns, readings of its host's clock.
        kind: uint8, index of `KINDS`.
        marks: uint8, bits.
        name, args: texts.
        event_span: int64, the row of the span of each of their events, ascending.
        event_time: int64 ns.
        event_name, event_args: texts.
        position: the byte of the file that has been reached.
    """

    first: int
    offset: Values
    resource: npt.NDArray[np.int32]
    trace: Words
    id: Words
    parent: Words
    begin: Values
    end: Values
    kind: npt.NDArray[np.uint8]
    marks: npt.NDArray[np.uint8]
    name: pa.Array
    args: pa.Array
    event_span: Values
    event_time: Values
    event_name: pa.Array
    event_args: pa.Array
    position: int

    def __len__(self) -> int:
        return len(self.begin)


@dataclass(eq=False, slots=True)
class SpanLists:
    """The lists of a decoder, one element a span of one batch; see `Spans`.

    Texts of ids are as the file has them, and so are times, which `unit_ns` multiplies.
    """

    unit_ns: int
    offset: list[int] = field(default_factory=list)
    resource: list[int] = field(default_factory=list)
    trace: list[str] = field(default_factory=list)
    id: list[str] = field(default_factory=list)
    parent: list[str] = field(default_factory=list)
    begin: list[Time] = field(default_factory=list)
    end: list[Time] = field(default_factory=list)
    kind: list[int] = field(default_factory=list)
    marks: list[int] = field(default_factory=list)
    name: list[str] = field(default_factory=list)
    args: list[bytes] = field(default_factory=list)
    event_span: list[int] = field(default_factory=list)
    event_time: list[Time] = field(default_factory=list)
    event_name: list[str] = field(default_factory=list)
    event_args: list[bytes] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.id)

    def clear(self) -> None:
        """Forget the spans: columns made of them stay."""
        self.cut(0)

    def cut(self, rows: int) -> None:
        """Keep the first n spans."""
        events = bisect_left(self.event_span, rows)
        for name in _LISTS:
            del getattr(self, name)[events if name.startswith("event_") else rows :]

    def first_bad(self) -> int:
        """The first span with a time that `spans` refuses; how many there are where none has."""
        times = [*zip(self.event_span, self.event_time, strict=True)]
        times += [*enumerate(self.begin), *enumerate(self.end)]
        most = INT64_MAX // self.unit_ns
        return min((row for row, time in times if not _is_time(time, most)), default=len(self))

    def spans(self, first: int, position: int) -> Spans:
        """Return them as columns.

        first: the number of the first span.

        Raises:
            ValueError: a time is no whole number of ns, or out of range.
        """
        begin, end, event_time = (
            self._times(times) for times in (self.begin, self.end, self.event_time)
        )
        return Spans(
            first=first,
            offset=np.array(self.offset, np.int64),
            resource=np.array(self.resource, np.int32),
            trace=_words(self.trace, _TRACE_DIGITS).reshape(-1, 2),
            id=_words(self.id, _SPAN_DIGITS),
            parent=_words(self.parent, _SPAN_DIGITS),
            begin=begin,
            end=end,
            kind=np.array(self.kind, np.uint8),
            marks=np.array(self.marks, np.uint8) | np.where(end != 0, ENDED, 0).astype(np.uint8),
            name=texts_of(self.name),
            args=_join_texts(self.args),
            event_span=np.array(self.event_span, np.int64),
            event_time=event_time,
            event_name=texts_of(self.event_name),
            event_args=_join_texts(self.event_args),
            position=position,
        )

    def _times(self, given: list[Time]) -> Values:
        """Times as ns; none is 0."""
        if not any(given):
            return np.zeros(len(given), np.int64)
        texts = [time for time in given if isinstance(time, str)]
        digits = "".join(texts)
        if digits and not (digits.isascii() and digits.isdigit()):
            raise ValueError("a time is no whole number")
        try:
            numbers = [int(time or 0) for time in given] if texts else [time or 0 for time in given]
            times = np.array(numbers, np.int64)
        except OverflowError:
            raise ValueError("a time is out of range") from None
        if times.min(initial=0) < 0 or times.max(initial=0) > INT64_MAX // self.unit_ns:
            raise ValueError("a time is out of range")
        ns: Values = times * self.unit_ns
        return ns


_LISTS: Final = tuple(one.name for one in fields(SpanLists) if one.name != "unit_ns")


def _is_time(time: Time, most: int) -> bool:
    if isinstance(time, str) and time:
        if not (time.isascii() and time.isdigit() and len(time.lstrip("0")) <= _TIME_DIGITS):
            return False
        time = int(time.lstrip("0") or 0)
    return 0 <= int(time or 0) <= most


def _words(ids: list[str], digits: int) -> Words:
    """Ids as numbers: `digits` hexadecimal digits each, fewer of which lack zeros before them.

    They may be in base64. Other ids are hashed; an empty one is 0.
    """
    if not any(ids):
        return np.zeros(len(ids) * digits // _SPAN_DIGITS, np.uint64)
    padded = [one.rjust(digits, "0") for one in ids]
    joined = "".join(padded)
    found = _hex(joined) if {*map(len, padded)} <= {digits} else b""
    if len(found) * 2 != len(joined):
        found = b"".join(_word(one, digits) for one in ids)
    words: Words = np.frombuffer(found, ">u8").astype(np.uint64)
    return words


def _word(one: str, digits: int) -> bytes:
    if len(one) % 4 == 0 and one.endswith("="):
        # What protobuf's own JSON has: Tempo's, and that of old collectors.
        with suppress(ValueError):
            found = b64decode(one, validate=True)
            if len(found) * 2 == digits:
                return found
    padded = one.rjust(digits, "0")
    found = _hex(padded) if len(padded) == digits else b""
    if len(found) * 2 == digits:
        return found
    return blake2b(one.encode(), digest_size=digits // 2).digest()


def _hex(text: str) -> bytes:
    try:
        return bytes.fromhex(text)
    except ValueError:
        return b""


def _join_texts(texts: list[bytes]) -> pa.Array:
    """UTF-8 texts as an Arrow array, null where empty."""
    ends = ends_of(map(len, texts), len(texts))
    has = np.packbits(np.diff(ends) > 0, bitorder="little")
    # bytes.join takes 80 bytes for each text.
    joined = b"".join(filter(None, texts))
    buffers = [pa.py_buffer(has), pa.py_buffer(ends), pa.py_buffer(joined)]
    return pa.Array.from_buffers(pa.string(), len(texts), buffers)
