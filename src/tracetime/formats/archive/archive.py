"""An archive and the traces in it. Members are copied to temporary files without a name."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from typing import IO, TYPE_CHECKING, Final, Protocol, Self

from tracetime.errors import TraceError, UsageError
from tracetime.formats.archive.members import FOLDER, TarMembers, ZipMembers
from tracetime.formats.beginnings import is_archive, is_ctf_part
from tracetime.formats.trace_file import BEGINNING, CHUNK, Budget, TraceFile, is_compressed
from tracetime.text import did_you_mean, printable
from tracetime.trace.open_options import OpenOptions, OrderSource

if TYPE_CHECKING:
    from tracetime.trace.trace import Trace

MOST_MEMBERS: Final = 10_000
MOST_SMALL: Final = 750
"""So many traces of one archive are read by one command, however small they are: each takes 5 ms,
which is much for a small archive, and little for one of larger traces."""

_SMALL: Final = 1 << 15
_MOST_LISTED: Final = 10
_PACKED_BEGINNING: Final = 1 << 18
"""Bytes of a compressed member of which the first 4096 of the trace are decompressed."""

_MANIFEST: Final = re.compile(rb'\s*\{\s*"perfetto_manifest"')


class Members(Protocol):
    """The members of an archive, zip or tar."""

    def names(self) -> Iterator[tuple[str, str | None]]:
        """Yield the name of each member, and why it cannot be a trace, if so."""

    def read(self, name: str, chunk: int = CHUNK) -> Iterator[bytes]:
        """Yield the content of a member, piece by piece."""


class Archive:
    """An open archive; close it, or use it in a `with`. Traces of it stay open.

    Args:
        file: the archive; closed with it.
        options: of every trace. `max_expansion` limits what is decompressed and copied in all; with
            `partial`, members before a damaged place are kept.

    Attributes:
        members: names of those that are traces, in order.
        left_out: why others are none, by name.
        manifests: names of those that are a perfetto_manifest.
        damage: with `partial`, the error after which no member was found.

    Raises:
        TraceError: it is cut off or damaged, has a name twice, or very many members.
    """

    def __init__(self, file: TraceFile, options: OpenOptions) -> None:
        self._file = file
        self._options = options
        self._budget = Budget(options.max_expansion)
        self._stack = ExitStack()
        self._stack.callback(file.close)
        self.members: list[str] = []
        self._known: set[str] = set()
        self.left_out: dict[str, str] = {}
        self.manifests: list[str] = []
        self.damage: TraceError | None = None
        try:
            content = self._stack.enter_context(file.uncompressed(self._budget, options.partial))
            is_zip = file.beginning(2) == b"PK"
            self._inside: Members = ZipMembers(content) if is_zip else TarMembers(content)
            self._list()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the archive; traces that were opened stay so."""
        self._stack.close()

    def open(self, name: str, orders: OrderSource | None = None) -> Trace:
        """Return a member as a trace, whose path is `ARCHIVE:MEMBER`.

        orders: as of `open_trace`, where the options have none.

        Raises:
            UsageError: there is no such member.
            TraceError: it is damaged, encrypted, or larger than `max_expansion` allows.
        """
        from tracetime.formats import open_file

        if name not in self._known:
            known = did_you_mean(name, self.members)
            why = self.left_out.get(name)
            reason = "is no trace: " + why if why else f"is not in {printable(self._file.path)!r}"
            raise UsageError(f"member {printable(name)!r} {reason}{'' if why else known}")
        options = replace(self._options, orders=self._options.orders or orders)
        return open_file(TraceFile(f"{self._file.path}:{name}", self._copy(name)), options)

    def read(self, name: str, most: int) -> bytes:
        """Return the content of a member, of which no more than a byte beyond `most` is read.

        Raises:
            TraceError: it is damaged, encrypted, or larger than `max_expansion` allows.
        """
        content = bytearray()
        for piece in self._inside.read(name):
            self._budget.spend(len(piece))
            content += piece
            if len(content) > most:
                break
        return bytes(content[: most + 1])

    def only_member(self) -> str:
        """Return the one member that is a trace.

        Raises:
            UsageError: there are several, or none.
        """
        self.check_traces()
        if len(self.members) > 1:
            path, names = printable(self._file.path), [printable(name) for name in self.members]
            if path == "-":
                raise UsageError(
                    f"the archive on standard input has {len(names)} traces: store it in a file, "
                    f"and name one, as in FILE:{names[0]}; it has {_list_names(names)}"
                )
            raise UsageError(
                f"the archive {path!r} has {len(names)} traces: name one, as in "
                f"{path}:{names[0]}; it has {_list_names(names)}"
            )
        return self.members[0]

    def check_sizes(self) -> None:
        """Raise UsageError where there are very many traces, but little of each."""
        n, path = len(self.members), printable(self._file.path)
        if n > MOST_SMALL and self._file.size < n * _SMALL:
            raise UsageError(
                f"the archive {path!r} has {n} small traces, of which {MOST_SMALL} are read at "
                f"once: name one, as in {path}:{printable(self.members[0])}, or unpack it, and "
                "give some at a time"
            )

    def check_traces(self) -> None:
        """Raise UsageError where no member is a trace."""
        if not self.members:
            found = [f"{printable(name)}: {why}" for name, why in self.left_out.items()]
            which = _list_names(found) or "it is empty"
            raise UsageError(f"the archive {printable(self._file.path)!r} has no trace ({which})")

    def _list(self) -> None:
        try:
            names: set[str] = set()
            for n, (name, why) in enumerate(self._inside.names()):
                if n == MOST_MEMBERS:
                    raise TraceError(
                        f"the archive has more than {MOST_MEMBERS} members: unpack it, and give "
                        "the traces in it"
                    )
                if why == FOLDER:
                    continue
                if name in names:
                    raise TraceError(
                        f"the archive has two members named {printable(name)!r}: unpack it"
                    )
                names.add(name)
                reason = why or self._why_none(name)
                if reason is None:
                    self.members.append(name)
                    self._known.add(name)
                else:
                    self.left_out[name] = reason
        except TraceError as error:
            if not (self._options.partial and self.members):
                raise
            self.damage = error.with_traceback(None)

    def _why_none(self, name: str) -> str | None:
        """The reason why a member is no trace; None where it is one, or cannot be read."""
        from tracetime.formats import is_of_format

        try:
            beginning = self._beginning(name)
        except TraceError:
            return None
        if is_archive(beginning):
            return "it is an archive itself: unpack the outer one"
        if is_ctf_part(beginning):
            return "it is a part of a CTF trace, which is a directory: unpack the archive"
        if _MANIFEST.match(beginning):
            self.manifests.append(name)
            return "a perfetto_manifest: the traces stay apart"
        if is_of_format(beginning):
            return None
        from tracetime.formats.other_programs import other_program

        return f"it is {other_program(beginning) or 'of no known format'}"

    def _beginning(self, name: str) -> bytes:
        """The first bytes of a member, decompressed."""
        beginning = self._first(name, BEGINNING)
        if not is_compressed(beginning):
            return beginning
        content = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115  closed as a TraceFile
        content.write(self._first(name, _PACKED_BEGINNING))
        file = TraceFile(name, content)
        try:
            return file.beginning()
        finally:
            file.close()

    def _first(self, name: str, n: int) -> bytes:
        piece = next(self._inside.read(name, n), b"")
        self._budget.spend(len(piece))
        return piece

    def _copy(self, name: str) -> IO[bytes]:
        """A member's content in a temporary file."""
        content = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115  closed with its trace
        try:
            for piece in self._inside.read(name):
                self._budget.spend(len(piece))
                content.write(piece)
        except OSError as error:
            content.close()
            where = tempfile.gettempdir()
            raise UsageError(f"cannot unpack {name!r} into {where}: {error.strerror}") from error
        except TraceError:
            content.close()
            raise
        return content


def _list_names(names: list[str]) -> str:
    """The first of some names, in a sentence."""
    more = len(names) - _MOST_LISTED
    rest = f" and {more} more" if more > 0 else ""
    return ", ".join(names[:_MOST_LISTED]) + rest


def open_only_member(file: TraceFile, options: OpenOptions) -> Trace:
    """Return the trace of an archive of one; see `register_format`.

    Raises:
        UsageError: it has several, or none.
        TraceError: it is cut off or damaged.
    """
    with Archive(file, options) as archive:
        return archive.open(archive.only_member())


def open_member(file: TraceFile, member: str, options: OpenOptions) -> Trace:
    """Return a trace of an archive.

    Raises:
        UsageError: the file is no archive, or has no such trace.
        TraceError: it is cut off or damaged.
    """
    if not is_archive(file.beginning()):
        file.close()
        raise UsageError(f"{file.path!r} is no archive, so it has no member {member!r}")
    with Archive(file, options) as archive:
        return archive.open(member)


def open_all(file: TraceFile, options: OpenOptions) -> list[Trace]:
    """Return the traces of an archive.

    Raises:
        UsageError: it has none.
        TraceError: it is cut off or damaged, or a trace in it cannot be unpacked.
    """
    with Archive(file, options) as archive, ExitStack() as opened:
        archive.check_traces()
        traces = [opened.enter_context(archive.open(name)) for name in archive.members]
        opened.pop_all()
        return traces
