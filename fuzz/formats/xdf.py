"""Small XDF files; mutations of the content of a chunk, whose length is put right."""

from __future__ import annotations

import struct
from random import Random

_DOUBLES = (0.0, -1.0, 1e-310, 1e9, 4e9, 1e300, float("nan"), float("inf"), -1e12)


def samples() -> list[bytes]:
    from xdf_files import XdfFile, two_streams

    alone = XdfFile()
    alone.stream(7, channels=64, channel_format="double64", srate=1000)
    alone.samples(7, [17.0, None], [[0.5] * 64, [float("nan")] * 64])
    alone.offset(7, 6.1, -0.1)
    reset = XdfFile()
    reset.stream(1, channel_format="int16", srate=1)
    for k in range(20):
        now = 5.0 + k if k < 10 else k - 9.0
        reset.offset(1, now, 100.0 + 1e-5 * (k % 3) + (0 if k < 10 else 40))
        reset.samples(1, [now + 0.5], [k])
    return [two_streams().content, alone.content, reset.content]


def mutate(random: Random, data: bytes) -> bytes:
    """Change, drop, repeat or replace a chunk; the file stays one of chunks."""
    from xdf_files import varlen

    chunks = _chunks(data)
    if not chunks:
        return data
    which = random.randrange(len(chunks))
    chunk = bytearray(chunks[which])
    match random.randrange(5):
        case 0:
            del chunks[which]
        case 1:
            chunks.insert(random.randrange(len(chunks)), bytes(chunk))
        case 2 if len(chunk) >= 14:
            at = random.randrange(6, len(chunk) - 7)
            chunk[at : at + 8] = struct.pack("<d", random.choice(_DOUBLES))
            chunks[which] = bytes(chunk)
        case 3:
            del chunk[random.randrange(2, len(chunk) + 1) :]
            chunks[which] = bytes(chunk)
        case _:
            chunk[random.randrange(len(chunk))] = random.randrange(256)
            chunks[which] = bytes(chunk)
    return data[:4] + b"".join(varlen(len(one)) + one for one in chunks)


def _chunks(data: bytes) -> list[bytes]:
    """The chunks of a file, tag and content, as far as there are any."""
    found, at = [], 4
    while at < len(data) and data[at] in (1, 4, 8):
        begin = at + 1 + data[at]
        length = int.from_bytes(data[at + 1 : begin], "little")
        if length < 2 or begin + length > len(data):
            break
        found.append(data[begin : begin + length])
        at = begin + length
    return found
