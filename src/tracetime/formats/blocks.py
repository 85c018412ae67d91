"""The content of a file in blocks that are large enough to parse at once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tracetime.errors import TraceError
from tracetime.formats.trace_file import Budget, TraceFile

BLOCK: Final = 4 << 20
"""Bytes that are parsed at once: so many that the calls of NumPy cost nothing."""


def blocks(file: TraceFile, max_expansion: int) -> Iterator[tuple[bytes, int, bool]]:
    """Yield the content, the position reached in the file, and whether this is the end.

    Raises:
        TraceError: it is cut off or corrupt, after what could be decompressed.
    """
    pieces: list[bytes] = []
    held = position = 0
    try:
        for piece, position in file.chunks(Budget(max_expansion)):
            pieces.append(piece)
            held += len(piece)
            if held >= BLOCK:
                yield b"".join(pieces), position, False
                pieces, held = [], 0
    except TraceError:
        yield b"".join(pieces), position, False
        raise
    yield b"".join(pieces), position, True
