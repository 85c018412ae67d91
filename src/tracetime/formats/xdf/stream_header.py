"""What the header of a stream says of it: XML, of which only the fields of `info` are kept."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final
from xml.parsers import expat

from tracetime.errors import TraceError
from tracetime.formats.xdf.chunks import Chunk
from tracetime.formats.xdf.content import Content

SAMPLE_BYTES: Final = {
    "float32": 4,
    "double64": 8,
    "int8": 1,
    "int16": 2,
    "int32": 4,
    "int64": 8,
    "string": 2,
}
"""By channel format, the least bytes of one value; a string is its length at least."""

MOST_BYTES: Final = 8 << 20
"""Of a header; those of electrode caps have some 100 kB."""

_MOST_CHANNELS: Final = 1 << 20
_MOST_CHARACTERS: Final = 1_000
"""Of a field's text, the rest of which is dropped."""


@dataclass(frozen=True, slots=True)
class StreamHeader:
    """One stream.

    Attributes:
        number: its StreamId in the file.
        name, type, hostname: as the header has them; "" where it does not.
        channels, channel_format, srate: of each sample; srate is 0 of irregular streams.
    """

    number: int
    name: str
    type: str
    hostname: str
    channels: int
    channel_format: str
    srate: float

    @property
    def is_text(self) -> bool:
        """Whether samples are strings: markers."""
        return self.channel_format == "string"


def read_header(file: Content, chunk: Chunk) -> StreamHeader:
    """Return what the header chunk of a stream says.

    Raises:
        TraceError: it is no XML, or lacks what samples cannot be read without.
    """
    size = chunk.end - chunk.content
    if size > MOST_BYTES:
        raise chunk.error(f"the header of stream {chunk.stream} has {size} bytes: it is corrupt")
    try:
        fields = _fields(file.read(chunk.content, size))
    except (expat.ExpatError, ValueError) as error:
        raise chunk.error(f"the header of stream {chunk.stream} is no XML: {error}") from None
    return StreamHeader(
        chunk.stream,
        fields.get("name", ""),
        fields.get("type", ""),
        fields.get("hostname", ""),
        _channels(fields, chunk),
        _format(fields, chunk),
        _srate(fields, chunk),
    )


def _fields(xml: bytes) -> dict[str, str]:
    """The texts of the elements right below the root, the first of each name."""
    fields: dict[str, str] = {}
    path: list[str] = []

    def start(name: str, attributes: dict[str, str]) -> None:
        path.append(name)
        if len(path) == 2 and name in fields:
            path[-1] = ""

    def end(name: str) -> None:
        path.pop()

    def text(data: str) -> None:
        if len(path) == 2 and path[-1] in _FIELDS:
            fields[path[-1]] = (fields.get(path[-1], "") + data)[:_MOST_CHARACTERS]

    def refuse(*_: object) -> None:
        raise ValueError("it declares entities")

    parser = expat.ParserCreate("utf-8")
    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.CharacterDataHandler = text
    parser.EntityDeclHandler = refuse
    # Writers put what they like into texts; the fields that matter are plain.
    parser.Parse(xml.decode("utf-8", "replace").encode(), True)
    return {name: value.strip() for name, value in fields.items()}


_FIELDS: Final = frozenset(
    ("name", "type", "hostname", "channel_count", "channel_format", "nominal_srate")
)


def _channels(fields: dict[str, str], chunk: Chunk) -> int:
    text = fields.get("channel_count", "")
    if not (text.isascii() and text.isdecimal() and len(text) < 10):
        raise _lacks(chunk, "channel_count", text)
    if not 1 <= int(text) <= _MOST_CHANNELS:
        raise _lacks(chunk, "channel_count", text)
    return int(text)


def _format(fields: dict[str, str], chunk: Chunk) -> str:
    text = fields.get("channel_format", "")
    if text not in SAMPLE_BYTES:
        raise _lacks(chunk, "channel_format", text)
    return text


def _srate(fields: dict[str, str], chunk: Chunk) -> float:
    text = fields.get("nominal_srate", "")
    try:
        srate = float(text)
    except ValueError:
        srate = math.nan
    if not (math.isfinite(srate) and srate >= 0):
        raise _lacks(chunk, "nominal_srate", text)
    return srate


def _lacks(chunk: Chunk, field: str, text: str) -> TraceError:
    what = f"has {field} {text[:40]!r}" if text else f"has no {field}"
    return chunk.error(f"the header of stream {chunk.stream} {what}: its samples cannot be read")
