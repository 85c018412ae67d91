"""Captures of packets made by code: blocks of pcapng in either byte order, and pcap."""

from __future__ import annotations

import struct
from collections.abc import Iterable

Options = Iterable[tuple[int, bytes]]

COMMENT, NAME, RESOLUTION, TIME_ZONE, OFFSET = 1, 2, 9, 10, 14
DROPPED, DROPPED_BY_SYSTEM = 5, 7
DROPPED_BEFORE = 4
UNKNOWN = 0xFFFF


class Capture:
    """Writes the blocks of a pcapng file in one byte order."""

    def __init__(self, order: str = "<") -> None:
        self.order = order

    def pack(self, form: str, *values: int) -> bytes:
        return struct.pack(self.order + form, *values)

    def block(self, kind: int, body: bytes) -> bytes:
        body += b"\0" * (-len(body) % 4)
        length = self.pack("I", len(body) + 12)
        return self.pack("I", kind) + length + body + length

    def options(self, options: Options) -> bytes:
        out = b"".join(
            self.pack("HH", code, len(value)) + value + b"\0" * (-len(value) % 4)
            for code, value in options
        )
        return out + self.pack("HH", 0, 0) if out else b""

    def section(self) -> bytes:
        return self.block(0x0A0D0D0A, self.pack("IHHq", 0x1A2B3C4D, 1, 0, -1))

    def interface(
        self,
        *,
        link: int = 1,
        name: str | None = None,
        resolution: int | None = None,
        offset_s: int | None = None,
        zone: int | None = None,
    ) -> bytes:
        options = []
        if name is not None:
            options.append((NAME, name.encode()))
        if resolution is not None:
            options.append((RESOLUTION, bytes([resolution])))
        if zone is not None:
            options.append((TIME_ZONE, self.pack("i", zone)))
        if offset_s is not None:
            options.append((OFFSET, self.pack("q", offset_s)))
        return self.block(1, self.pack("HHI", link, 0, 0) + self.options(options))

    def packet(
        self,
        ticks: int,
        data: bytes = b"data",
        *,
        on: int = 0,
        length: int | None = None,
        comment: bytes | None = None,
        dropped: int | None = None,
    ) -> bytes:
        size = len(data) if length is None else length
        body = self.pack("IIIII", on, ticks >> 32, ticks & 0xFFFFFFFF, len(data), size)
        body += data + b"\0" * (-len(data) % 4)
        options = [] if comment is None else [(COMMENT, comment)]
        if dropped is not None:
            options.append((DROPPED_BEFORE, self.pack("Q", dropped)))
        return self.block(6, body + self.options(options))

    def old_packet(
        self, ticks: int, data: bytes = b"data", *, on: int = 0, dropped: int = 0
    ) -> bytes:
        times = (ticks >> 32, ticks & 0xFFFFFFFF)
        return self.block(2, self.pack("HHIIII", on, dropped, *times, len(data), len(data)) + data)

    def simple_packet(self, data: bytes = b"data") -> bytes:
        return self.block(3, self.pack("I", len(data)) + data)

    def statistics(self, *, on: int = 0, dropped: int = 0, by_system: int = 0) -> bytes:
        counts = ((DROPPED, dropped), (DROPPED_BY_SYSTEM, by_system))
        options = [(code, self.pack("Q", n)) for code, n in counts]
        return self.block(5, self.pack("III", on, 0, 0) + self.options(options))


def pcap(
    packets: Iterable[tuple[int, int, bytes]],
    *,
    order: str = "<",
    nanoseconds: bool = False,
    link: int = 1,
    zone: int = 0,
    magic: int = 0xA1B2C3D4,
) -> bytes:
    """A pcap file of packets: seconds, parts of a second, data."""
    magic = 0xA1B23C4D if nanoseconds else magic
    out = struct.pack(order + "IHHiIII", magic, 2, 4, zone, 0, 65535, link)
    for seconds, part, data in packets:
        out += struct.pack(order + "IIII", seconds, part, len(data), len(data)) + data
    return out
