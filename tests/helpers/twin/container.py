"""Packets out of bytes: the tokenizer, and the compressed forms."""

from __future__ import annotations

import io
import zlib
from collections.abc import Iterator

import pyarrow as pa

from .records import COMPRESSED, ZSTD_COMPRESSED, TwinError
from .wire import Message, varint


class Tokenizer:
    """One trace."""

    def __init__(self) -> None:
        self.codec: int | None = None

    def tokens(self, data: bytes) -> Iterator[Message | None]:
        """Every packet in place; None for one that the importer does not see."""
        pos, end = 0, len(data)
        while end - pos >= 2:
            header = min(end, pos + 20)
            tag = varint(data, pos, header)
            if tag is None:
                check_cut(header - pos)
                return
            wire, at = tag[0] & 7, tag[1]
            if wire == 5 or wire == 1:
                at += 4 if wire == 5 else 8
                if at > end:
                    return
            elif wire in (0, 2):
                size = varint(data, at, header)
                if size is None:
                    check_cut(header - pos)
                    return
                at = size[1]
                if wire == 2:
                    if size[0] > end - at:
                        return
                    content, at = data[at : at + size[0]], at + size[0]
                    if tag[0] == 0x0A:
                        yield from self.expand(content)
            else:
                raise TwinError("unknown field type in the trace")
            pos = at

    def expand(self, content: bytes) -> Iterator[Message | None]:
        if not content:
            yield None
            return
        message = Message(content)
        if message.has(COMPRESSED):
            inner, codec = message.bytes(COMPRESSED), COMPRESSED
        elif message.has(ZSTD_COMPRESSED):
            inner, codec = message.bytes(ZSTD_COMPRESSED), ZSTD_COMPRESSED
        else:
            yield message
            return
        if self.codec not in (None, codec):
            raise TwinError("a trace must not mix codecs")
        self.codec = codec
        data = inflate(inner) if codec == COMPRESSED else unzstd_frame(inner)
        pos, end = 0, len(data)
        while end - pos > 2:
            if data[pos] != 0x0A:
                raise TwinError("expected a packet inside compressed packets")
            size = varint(data, pos + 1, end)
            if size is None or size[0] > end - size[1]:
                raise TwinError("invalid packet size inside compressed packets")
            pos = size[1] + size[0]
            yield Message(data[size[1] : pos])


def check_cut(size: int) -> None:
    """A header that cannot be read is the end of a cut-off file if it is short."""
    if size >= 20:
        raise TwinError("cannot parse a field of the trace")


def open_container(data: bytes) -> tuple[bytes, int]:
    """The trace in a file, and the file number it has: a container counts as a file."""
    number = 0
    while data[:2] == b"\x1f\x8b" or data[:4] == b"\x28\xb5\x2f\xfd":
        data = gunzip_file(data) if data[:2] == b"\x1f\x8b" else unzstd(data)
        number += 1
    if data and data[0] != 0x0A:
        raise TwinError("unknown trace type")
    return data, number


def inflate(data: bytes) -> bytes:
    """One zlib or gzip stream, and nothing after it."""
    stream = zlib.decompressobj(47)
    try:
        content = stream.decompress(data)
    except zlib.error as error:
        raise TwinError("cannot decompress packets") from error
    if not stream.eof or stream.unused_data:
        raise TwinError("cannot decompress packets")
    return content


def gunzip_file(data: bytes) -> bytes:
    """One or more gzip streams."""
    parts = []
    while data:
        stream = zlib.decompressobj(47)
        try:
            parts.append(stream.decompress(data))
        except zlib.error as error:
            raise TwinError("cannot decompress the trace") from error
        if not stream.eof:
            raise TwinError("compressed stream incomplete")
        data = stream.unused_data
    return b"".join(parts)


def unzstd(data: bytes) -> bytes:
    try:
        return bytes(pa.CompressedInputStream(io.BytesIO(data), "zstd").read())
    except (OSError, pa.ArrowException) as error:
        raise TwinError("cannot decompress zstd") from error


def unzstd_frame(data: bytes) -> bytes:
    """One zstd frame, and nothing after it."""
    if zstd_frame_size(data) != len(data):
        raise TwinError("cannot decompress packets")
    return unzstd(data)


def zstd_frame_size(data: bytes) -> int:
    """The size of the first frame (RFC 8878); -1 where it is cut off or not one."""
    magic = int.from_bytes(data[:4], "little")
    if magic & 0xFFFFFFF0 == 0x184D2A50 and len(data) >= 8:
        return 8 + int.from_bytes(data[4:8], "little")
    if magic != 0xFD2FB528 or len(data) < 5:
        return -1
    descriptor = data[4]
    single = descriptor >> 5 & 1
    content_size = (single, 2, 4, 8)[descriptor >> 6]
    pos = 5 + (not single) + (0, 1, 2, 4)[descriptor & 3] + content_size
    while pos + 3 <= len(data):
        block = int.from_bytes(data[pos : pos + 3], "little")
        is_rle = block >> 1 & 3 == 1
        pos += 3 + (1 if is_rle else block >> 3)
        if block & 1:
            return pos + 4 * (descriptor >> 2 & 1)
    return -1
