"""Entries of a journal, plain and slow."""

from __future__ import annotations

Fields = list[tuple[bytes, bytes]]


def entries(data: bytes) -> list[Fields]:
    """The fields of each entry of a journal that is whole."""
    found: list[Fields] = []
    fields: Fields = []
    at = 0
    while at < len(data):
        end = data.index(b"\n", at)
        line, at = data[at:end], end + 1
        if not line:
            if fields:
                found.append(fields)
            fields = []
        elif b"=" in line:
            name, _, value = line.partition(b"=")
            fields.append((name, value))
        else:
            size = int.from_bytes(data[at : at + 8], "little")
            fields.append((line, data[at + 8 : at + 8 + size]))
            at += 8 + size + 1
    return found
