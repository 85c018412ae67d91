"""Members of zip and tar archives, whose bytes are hostile."""

from __future__ import annotations

import stat
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from typing import IO, Final, cast

from tracetime.errors import TraceError
from tracetime.formats.trace_file import CHUNK

# Of a tar archive: its headers are walked, and nothing is unpacked.

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


_END: Final = b"PK\x05\x06"
_END_SIZE: Final = 22
_LONGEST_REMARK: Final = 0xFFFF
_MOST_DIRECTORY: Final = 4 << 20
"""Bytes of the list of members: zipfile makes an object of every 50, of 20 times that size."""

_READ: Final = {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}
"""Compressions whose expansion can be stopped at each step, as zipfile uses them."""

_IS_ENCRYPTED: Final = 1

DAMAGED: Final = (
    zipfile.BadZipFile,
    ArithmeticError,
    EOFError,
    LookupError,
    NotImplementedError,
    OSError,
    RuntimeError,
    ValueError,
    zlib.error,
)
"""What zipfile raises for bytes that are not a zip archive, or a damaged one."""


class _Pieces:
    """An archive of which nothing is read in pieces that are longer than its list may be.

    zipfile reads the list in one piece, whose length one of several records gives.
    """

    def __init__(self, content: IO[bytes]) -> None:
        self._content = content
        self.seek = content.seek
        self.seekable = content.seekable
        self.tell = content.tell

    def read(self, n: int = -1) -> bytes:
        if n > _MOST_DIRECTORY:
            raise TraceError(
                f"the list of members of the zip archive is longer than {_MOST_DIRECTORY >> 20} "
                "MiB: unpack it, and give the traces in it"
            )
        return self._content.read(n)


class ZipMembers:
    """The members of a zip archive.

    Raises:
        TraceError: it is cut off or damaged, or lists very many members.
    """

    def __init__(self, content: IO[bytes]) -> None:
        _check_end(content)
        try:
            self._archive = zipfile.ZipFile(cast("IO[bytes]", _Pieces(content)))
        except DAMAGED as error:
            raise damaged("zip", error) from error

    def names(self) -> Iterator[tuple[str, str | None]]:
        """Yield the name of each member, and why it cannot be a trace, if so."""
        for member in self._archive.infolist():
            why = None
            # Of an empty name `ZipInfo.is_dir` makes an IndexError.
            if member.filename.endswith("/"):
                why = FOLDER
            elif stat.S_ISLNK(member.external_attr >> 16):
                why = "it is a link"
            yield member.filename, why

    def read(self, name: str, chunk: int = CHUNK) -> Iterator[bytes]:
        """Yield the content of a member, piece by piece.

        Raises:
            TraceError: it is encrypted, damaged, or compressed by what is not read here.
        """
        member = self._archive.getinfo(name)
        if member.flag_bits & _IS_ENCRYPTED:
            raise TraceError(f"member {name!r} is encrypted: unpack it with its password")
        if member.compress_type not in _READ:
            raise TraceError(
                f"member {name!r} is compressed by method {member.compress_type}, and only stored "
                "and deflated ones are read: unpack the archive"
            )
        try:
            with self._archive.open(member) as content:
                while piece := content.read(chunk):
                    yield piece
        except DAMAGED as error:
            raise damaged(f"member {name!r}", error) from error


def damaged(what: str, error: BaseException) -> TraceError:
    """The error for a damaged archive or member."""
    subject = "the zip archive" if what == "zip" else what
    return TraceError(f"{subject} is cut off or damaged ({error}): get a whole copy")


def _check_end(content: IO[bytes]) -> None:
    """Refuse an archive that has lost its end."""
    size = content.seek(0, 2)
    content.seek(max(0, size - _END_SIZE - _LONGEST_REMARK))
    end = content.read()
    at = end.rfind(_END)
    if at < 0 or len(end) - at < _END_SIZE:
        # No offset, since nothing before it can be read: `--partial` would not help.
        raise TraceError(
            "the zip archive is cut off: its list of members, which was at its end, is missing; "
            "get a whole copy"
        )
