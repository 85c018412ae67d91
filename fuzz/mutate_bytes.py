"""Mutations of a file of any format: of its bytes, its lines, and the numbers in its text."""

from __future__ import annotations

import gzip
import re
from random import Random

_NUMBER = re.compile(rb"-?\d+(?:\.\d+)?")
_NUMBERS = (
    b"0",
    b"-1",
    b"1e400",
    b"9223372036854775807",
    b"-9223372036854775808",
    b"18446744073709551616",
    b"0.1",
    b"1e-9",
    b"NaN",
    b"null",
    b'"x"',
)
_LONGEST = 1 << 16


def mutated(random: Random, data: bytes, other: bytes) -> bytes:
    """`data` with one to six mutations; some take parts of `other`."""
    for _ in range(random.randrange(1, 7)):
        data = random.choice(_MUTATIONS)(random, data, other) or b"\0"
    return data


def _flip(random: Random, data: bytes, other: bytes) -> bytes:
    out = bytearray(data)
    for _ in range(random.randrange(1, 9)):
        out[random.randrange(len(out))] ^= 1 << random.randrange(8)
    return bytes(out)


def _set(random: Random, data: bytes, other: bytes) -> bytes:
    """Set 1, 2, 4 or 8 bytes: lengths and counts become huge, or none."""
    out = bytearray(data)
    at, size = random.randrange(len(out)), random.choice((1, 2, 4, 8))
    out[at : at + size] = random.choice((b"\0", b"\xff", b"\x7f")) * size
    return bytes(out)


def _cut(random: Random, data: bytes, other: bytes) -> bytes:
    return data[: random.randrange(len(data) + 1)]


def _splice(random: Random, data: bytes, other: bytes) -> bytes:
    start = random.randrange(len(other) + 1)
    part = other[start : start + random.randrange(4096)]
    at = random.randrange(len(data) + 1)
    return data[:at] + part + data[at:]


def _remove(random: Random, data: bytes, other: bytes) -> bytes:
    at = random.randrange(len(data))
    return data[:at] + data[at + random.randrange(1, 64) :]


def _repeat(random: Random, data: bytes, other: bytes) -> bytes:
    start = random.randrange(len(data))
    part = data[start : start + random.randrange(1, 64)]
    return (
        data[:start]
        + part * min(random.choice((2, 100, 10_000)), _LONGEST // len(part))
        + data[start:]
    )


def _number(random: Random, data: bytes, other: bytes) -> bytes:
    """Another number in place of one that stands in the text."""
    found = list(_NUMBER.finditer(data[: 1 << 16]))
    if not found:
        return data
    one = random.choice(found)
    return data[: one.start()] + random.choice(_NUMBERS) + data[one.end() :]


def _shuffle_lines(random: Random, data: bytes, other: bytes) -> bytes:
    lines = data.splitlines(keepends=True)[:2000]
    random.shuffle(lines)
    return b"".join(lines)


def _whole_gzip(random: Random, data: bytes, other: bytes) -> bytes:
    return gzip.compress(data, 1)


_MUTATIONS = (
    _flip,
    _flip,
    _set,
    _set,
    _cut,
    _splice,
    _remove,
    _repeat,
    _number,
    _number,
    _shuffle_lines,
    _whole_gzip,
)
