"""Members of a tar archive, whose bytes are hostile."""

from __future__ import annotations

import tarfile
from collections.abc import Iterator
from typing import IO, Final, cast

from tracetime.errors import TraceError
from tracetime.formats.trace_file import CHUNK

FOLDER: Final = "it is a folder"

_BLOCK: Final = tarfile.BLOCKSIZE

_DAMAGED: Final = (
    tarfile.TarError,
    ArithmeticError,
    EOFError,
    LookupError,
    OSError,
    RecursionError,
    ValueError,
)
"""What tarfile raises for bytes that are not a tar archive, or a damaged one."""


class _Headers:
    """A file of which nothing is read in pieces that are longer than a header or a chunk."""

    def __init__(self, content: IO[bytes]) -> None:
        self._content = content
        self.seek = content.seek
        self.tell = content.tell

    def read(self, n: int = -1) -> bytes:
        if not 0 <= n <= CHUNK:
            raise tarfile.ReadError(f"a header has {n} bytes")
        return self._content.read(n)


class TarMembers:
    """The members of a tar archive; they are read one after another."""

    def __init__(self, content: IO[bytes]) -> None:
        self._content = content
        self._size = content.seek(0, 2)
        content.seek(0)
        self._found: dict[str, tarfile.TarInfo] = {}
        try:
            self._archive = tarfile.open(  # noqa: SIM115  closed with what it reads
                fileobj=cast("IO[bytes]", _Headers(content)), mode="r:"
            )
        except _DAMAGED as error:
            raise _damaged(error, 0) from error

    def names(self) -> Iterator[tuple[str, str | None]]:
        """Yield the name of each member, and why it cannot be a trace, if so.

        Raises:
            TraceError: the archive is cut off or damaged.
        """
        before = -1
        while True:
            offset = self._archive.offset
            try:
                member = self._archive.next()
            except _DAMAGED as error:
                raise _damaged(error, offset) from error
            if member is None:
                self._check_end(self._archive.offset)
                return
            if member.offset <= before or member.size < 0:
                raise _damaged("a member has a negative size", offset)
            before = member.offset
            why = None
            if member.isdir():
                why = FOLDER
            elif not member.isreg() or member.issparse():
                why = "it is a link, a device or has holes"
            else:
                self._found[member.name] = member
            yield member.name, why

    def _check_end(self, offset: int) -> None:
        """tarfile ends at anything that is no header; an archive ends in zeros."""
        self._content.seek(offset)
        end = self._content.read(_BLOCK)
        if end.strip(b"\0") or 0 < len(end) < _BLOCK or offset > self._size:
            raise _damaged("no header of a member stands there", offset)

    def read(self, name: str, chunk: int = CHUNK) -> Iterator[bytes]:
        """Yield the content of a member, piece by piece.

        Raises:
            TraceError: the archive ends before it does.
        """
        member = self._found[name]
        at, end = member.offset_data, member.offset_data + member.size
        while at < end:
            self._content.seek(at)
            piece = self._content.read(min(chunk, end - at))
            if not piece:
                raise TraceError(f"member {name!r} is cut off: get a whole copy of the archive", at)
            at += len(piece)
            yield piece


def _damaged(error: object, offset: int) -> TraceError:
    return TraceError(f"the tar archive is cut off or damaged ({error}): get a whole copy", offset)
