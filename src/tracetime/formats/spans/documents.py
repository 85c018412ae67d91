"""The JSON objects of a file: one a line, or one alone that may have many lines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from tracetime.errors import TraceError
from tracetime.formats.trace_file import Budget, TraceFile

LONGEST: Final = 1 << 28
"""Bytes of an object: it is decoded at once, in several times as many."""


class Document(NamedTuple):
    """One JSON object of a file.

    Attributes:
        text: its bytes.
        offset: of its first byte in the uncompressed file.
        line: that it begins on, from 1.
        position: the byte of the file that has been reached.
    """

    text: bytes
    offset: int
    line: int
    position: int


def documents(file: TraceFile, budget: Budget) -> Iterator[Document]:
    """Yield the objects of a file: those of its lines, unless its first line is no whole object.

    Raises:
        TraceError: one of them is too long; and as `TraceFile.chunks`.
    """
    parts: list[bytes] = []
    offset, line, held, position = 0, 1, 0, 0
    alone: bool | None = None
    for piece, position in file.chunks(budget):
        start = 0
        while not alone and (end := piece.find(b"\n", start) + 1):
            _check_length(held + end - start, offset, line)
            text = b"".join((*parts, piece[start:end]))
            begun = text.strip()
            if alone is None and begun:
                alone = not begun.endswith(b"}")
                if alone:
                    break
            if begun:
                yield Document(text, offset, line, position)
            offset, line, held, parts, start = offset + len(text), line + 1, 0, [], end
        parts.append(piece[start:])
        held += len(piece) - start
        _check_length(held, offset, line)
    text = b"".join(parts)
    if text.strip():
        yield Document(text, offset, line, position)


def _check_length(length: int, offset: int, line: int) -> None:
    if length > LONGEST:
        raise TraceError(
            f"line {line}: a JSON object of more than {LONGEST >> 20} MiB: write one object a "
            "line, as the collector's file exporter does",
            offset,
        )
