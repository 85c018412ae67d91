"""Mutations of a trace: of its bytes and of its fields."""

from __future__ import annotations

import gzip
import zlib
from random import Random

_HUGE = (0x7FFF_FFFF_FFFF_FFFF, 0x8000_0000_0000_0000, 0xFFFF_FFFF_FFFF_FFFF, 1 << 32, 1 << 28)
# Field numbers that the reader knows, in many messages and in TracePacket.
_SMALL = (*range(1, 9), 10, 11, 13)
_OF_PACKETS = (37, 39, 40, 41, 42, 44, 50, 51, 54, 58, 59, 60, 69, 84, 95, 98, 107, 133, 9876)
_NUMBERS = (*_SMALL, *_OF_PACKETS)


def varint(value: int) -> bytes:
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def field(number: int, value: int | bytes) -> bytes:
    """A field: a varint for an int, length-delimited for bytes."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def some_fields(random: Random, depth: int = 3) -> bytes:
    """A message of random fields, with numbers that the reader knows."""
    out = b""
    for _ in range(random.randrange(1, 6)):
        number = random.choice(_NUMBERS)
        if depth and random.random() < 0.4:
            out += field(number, some_fields(random, depth - 1))
        else:
            small = random.randrange(130)
            out += field(number, random.choice((small, small, random.choice(_HUGE))))
    return out


def packets_of(data: bytes) -> list[bytes]:
    """The complete packets at the start of a trace, each with its tag and length."""
    found, at = [], 0
    while at < len(data) and data[at] == 0x0A:
        size = shift = 0
        body = at + 1
        while body < len(data):
            size |= (data[body] & 0x7F) << shift
            shift += 7
            body += 1
            if data[body - 1] < 0x80:
                break
        if body + size > len(data):
            break
        found.append(data[at : body + size])
        at = body + size
    return found


def mutated(random: Random, data: bytes, other: bytes) -> bytes:
    """`data` with one to six mutations; some take parts of `other`."""
    for _ in range(random.randrange(1, 7)):
        data = random.choice(_MUTATIONS)(random, data, other) or b"\n"
    return data


def _flip(random: Random, data: bytes, other: bytes) -> bytes:
    out = bytearray(data)
    for _ in range(random.randrange(1, 9)):
        out[random.randrange(len(out))] ^= 1 << random.randrange(8)
    return bytes(out)


def _cut(random: Random, data: bytes, other: bytes) -> bytes:
    return data[: random.randrange(len(data) + 1)]


def _splice(random: Random, data: bytes, other: bytes) -> bytes:
    start, stop = sorted((random.randrange(len(other) + 1), random.randrange(len(other) + 1)))
    at = random.randrange(len(data) + 1)
    return data[:at] + other[start : min(stop, start + 4096)] + data[at:]


def _remove(random: Random, data: bytes, other: bytes) -> bytes:
    at = random.randrange(len(data))
    return data[:at] + data[at + random.randrange(1, 64) :]


def _huge_number(random: Random, data: bytes, other: bytes) -> bytes:
    at = random.randrange(len(data) + 1)
    return data[:at] + varint(random.choice(_HUGE)) + data[at + random.randrange(3) :]


def _insert_packet(random: Random, data: bytes, other: bytes) -> bytes:
    packets = packets_of(data)
    packets.insert(random.randrange(len(packets) + 1), field(1, some_fields(random)))
    return b"".join(packets)


def _shuffle_packets(random: Random, data: bytes, other: bytes) -> bytes:
    packets = packets_of(data) + packets_of(other)[:50]
    random.shuffle(packets)
    return b"".join(packets[:2000])


def _compress(random: Random, data: bytes, other: bytes) -> bytes:
    """Compress packets, perhaps again, perhaps in a stream that is cut off."""
    packed = zlib.compress(b"".join(packets_of(data)[:500]), 1)
    if random.random() < 0.3:
        packed = packed[: random.randrange(len(packed) + 1)]
    return field(1, field(50, packed)) + data[: random.randrange(len(data) + 1)]


def _whole_gzip(random: Random, data: bytes, other: bytes) -> bytes:
    return gzip.compress(data, 1)


_MUTATIONS = (
    _flip,
    _flip,
    _cut,
    _splice,
    _remove,
    _huge_number,
    _insert_packet,
    _insert_packet,
    _shuffle_packets,
    _compress,
    _whole_gzip,
)
