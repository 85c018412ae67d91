"""Logs of text of each program; other digits, lines without an end, bytes that are no text."""

from __future__ import annotations

from random import Random


def samples() -> list[bytes]:
    return [
        b"".join(b"<6>[%5d.%06d][ T12] usb: new device\n" % (k, k * 999) for k in range(30)),
        b"".join(
            b"bash %d/7 [001] 56.%06d: 25 cycles:u: a\n\tffff foo\n" % (k, k) for k in range(30)
        ),
        b"".join(b'[pid %d] 17%08d.123456 openat(1, "x") = 3\n' % (k, k) for k in range(30)),
        b"".join(b"2026-11-%02d 18:14:49.123 +0100 1 2 I Tag: it\n" % k for k in range(32)),
        b"".join(b"1.2.3.4 - - [%02d/Feb/2024:23:59:60 -0130] GET\n" % k for k in range(32)),
        b"".join(b"<34>1 2003-10-11T22:%02d:15.003Z host app - words\r\n" % k for k in range(60)),
    ]


def mutate(random: Random, data: bytes) -> bytes:
    """Change a digit, or the end of a line."""
    at = random.randrange(len(data))
    return data[:at] + random.choice((b"9", b"", b"\n", b"\xff", b"0" * 12, b"Z")) + data[at + 1 :]
