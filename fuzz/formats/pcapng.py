"""Captures of several interfaces and sections in both byte orders, and pcap; wrong lengths."""

from __future__ import annotations

from random import Random


def samples() -> list[bytes]:
    from captures import Capture, pcap

    found = []
    for order in "<>":
        c = Capture(order)
        head = c.section() + c.interface(name="eth0", zone=60) + c.interface(resolution=0x8A)
        body = (
            c.packet(10**15, comment=b"\xff", dropped=3)
            + c.packet(2**40, on=1)
            + c.old_packet(10**15, dropped=5)
        )
        tail = c.simple_packet() + c.statistics(dropped=7) + c.block(0xBAD, b"custom")
        far = c.section() + c.interface(resolution=12, offset_s=-5) + c.packet(2**64 - 1)
        found += [head + body * 4 + tail, head + body + far + tail[:-20]]
        found.append(pcap([(10**9, k, b"data") for k in range(5)], order=order, zone=1))
    return found


def mutate(random: Random, data: bytes) -> bytes:
    """Change a word, which is a length, a kind or a time."""
    at = random.randrange(0, max(len(data) - 4, 1)) & ~3
    put = random.choice(
        (b"\xff\xff\xff\xff", b"\0\0\0\0", b"\0\0\0\x10", b"\x10\0\0\0", b"\6\0\0\0")
    )
    return data[:at] + put + data[at + 4 :]
