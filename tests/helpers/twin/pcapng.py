"""Packets of a pcapng file that is whole, plain and slow."""

from __future__ import annotations

import struct
from fractions import Fraction
from math import ceil, floor
from typing import Any


def packets(data: bytes) -> list[dict[str, Any]]:
    """Each packet with a time: its interface, ticks, and the ns that its reading can stand for."""
    found: list[dict[str, Any]] = []
    known: list[tuple[Fraction, int]] = []
    at = first = number = 0
    order = "<"
    while at < len(data):
        if data[at : at + 4] == b"\n\r\r\n":
            order = "<" if data[at + 8] == 0x4D else ">"
            first = len(known)
        kind, length = struct.unpack_from(order + "II", data, at)
        body = data[at + 8 : at + length - 4]
        if kind == 1:
            known.append(_interface(body[8:], order))
        elif kind in (2, 6):
            on = struct.unpack_from(order + ("H" if kind == 2 else "I"), body)[0] + first
            high, low, captured, size = struct.unpack_from(order + "IIII", body, 4)
            tick, offset_s = known[on]
            ticks = high << 32 | low
            begin, end = ticks * tick, (ticks + 1) * tick
            found.append(
                {
                    "offset": at,
                    "packet": number,
                    "interface": on,
                    "ticks": ticks,
                    "first_ns": floor(begin) + offset_s * 10**9,
                    "last_ns": ceil(end) - 1 + offset_s * 10**9,
                    "captured": captured,
                    "length": size,
                    "comment": _options(body[20 + captured + -captured % 4 :], order).get(1),
                }
            )
        number += kind in (2, 3, 6)
        at += length
    return found


def _interface(options: bytes, order: str) -> tuple[Fraction, int]:
    """How long a tick lasts, ns, and where it counts from, s."""
    found = _options(options, order)
    resolution = found.get(9, b"\6")[0]
    base = 2 if resolution & 0x80 else 10
    offset_s = struct.unpack(order + "q", found.get(14, bytes(8)))[0]
    return Fraction(10**9, base ** (resolution & 0x7F)), offset_s


def _options(data: bytes, order: str) -> dict[int, bytes]:
    found = {}
    at = 0
    while at < len(data):
        code, length = struct.unpack_from(order + "HH", data, at)
        if code == 0:
            break
        found[code] = data[at + 4 : at + 4 + length]
        at += 4 + length + -length % 4
    return found
