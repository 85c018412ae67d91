"""Journals of several boots and machines, steps, binary fields; lengths and times that are off."""

from __future__ import annotations

from random import Random


def samples() -> list[bytes]:
    from journals import START_US, entry, logged

    second = {"boot": "b0070000000000000000000000000002"}
    plain = [logged(k * 10**6, f"line {k}") for k in range(8)]
    lines = [logged(k * 10**6, f"{k}\nmore", FIELD=b"\0\xff\n") for k in range(8)]
    later = [logged(k * 10**6, **second, realtime_us=START_US + 10**9 + k) for k in range(8)]
    theirs = [logged(k * 10**6, machine="c0ffee" + "0" * 26) for k in range(4)]
    bare = [entry({"__REALTIME_TIMESTAMP": START_US + k, "MESSAGE": ""}) for k in range(4)]
    return [b"".join(parts) for parts in (plain, lines, plain + later, lines + theirs + bare)]


def mutate(random: Random, data: bytes) -> bytes:
    """Change a number, or a length, of one field."""
    at = data.find(random.choice((b"TIMESTAMP=", b"_ID=", b"MESSAGE\n", b"FIELD\n")), 1)
    at = data.find(b"\n", at) if random.random() < 0.5 else data.find(b"=", at)
    put = random.choice((b"9" * random.randrange(1, 20), b"\xff" * 8, b"\0" * 8, b"", b"-1"))
    return data[: at + 1] + put + data[at + 1 + random.choice((0, len(put))) :]
