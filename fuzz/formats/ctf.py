"""CTF traces of one stream: the metadata and the packets, with a line in between."""

from __future__ import annotations

from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

_BETWEEN = b"\n==== stream ====\n"


def samples() -> list[bytes]:
    from ctf_files import Clock, Event, Packet, Trace

    found = []
    for seed in range(12):
        random = Random(seed)
        packets = [
            Packet(
                [
                    Event(random.randrange(1 << random.choice((8, 40, 62))), random.randrange(2))
                    for _ in range(random.randrange(1, 9))
                ],
                discarded=3 * number,
                number=number * random.choice((1, 1, 2)),
                own=(1, 2, "bash") if seed % 2 else None,
            )
            for number in range(random.randrange(1, 4))
        ]
        clock = Clock(
            random.choice(("monotonic", "cycles")),
            freq=random.choice((1, 1000, 10**9, 3 * 10**9)),
            offset_s=random.choice((0, 1_700_000_000)),
        )
        trace = Trace({"stream": packets}, clock, own=bool(seed % 2))
        with TemporaryDirectory() as folder:
            trace.write(Path(folder))
            found.append(_BETWEEN.join(Path(folder, name).read_bytes() for name in trace.files))
    return found


def mutate(random: Random, data: bytes) -> bytes:
    """Another word of TSDL in place of one: types within types, sizes, lengths, alignments."""
    metadata, between, stream = data.partition(_BETWEEN)
    words = metadata.split(b" ")
    for _ in range(random.randrange(1, 4)):
        words[random.randrange(len(words))] = random.choice(
            (*_WORDS, random.choice(words), b"u64 x[" + str(random.choice(_SIZES)).encode() + b"];")
        )
    return b" ".join(words) + between + stream


_SIZES = (0, 1, 7, 64, 1 << 20, 1 << 32, (1 << 64) - 1)
_WORDS = (
    b"{", b"}", b"};", b"struct {", b"variant <id> {", b"string", b"u64 _n; u8 _s[_n];",
    b"enum : u8 { a = 0 ... 3, b = 4 } _e;", b"floating_point { exp_dig = 8; mant_dig = 24; } _f;",
    b"size = 0;", b"size = 65;", b"align = 3;", b"align = 1024;", b"byte_order = be;", b"freq = 0;",
    b"struct { } _empty[4294967295];", b"struct {" * 200, b"offset_s = 9223372036854775807;",
)  # fmt: skip


def write(folder: Path, data: bytes) -> Path:
    metadata, _, stream = data.partition(_BETWEEN)
    (folder / "metadata").write_bytes(metadata)
    (folder / "stream").write_bytes(stream)
    return folder
