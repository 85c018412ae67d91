"""Trace formats, a package for each: bytes to events, clocks and snapshots, and back.

A format is a probe of how its files begin and what opens them: those of this package are listed in
`beginnings.py`, others are registered.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, get_args

from tracetime.errors import UsageError
from tracetime.formats.beginnings import FOLDER_FORMATS, FORMATS, Format, is_archive, open_perfetto
from tracetime.trace.open_options import (
    MAX_CLOCKS,
    MAX_EXPANSION,
    MAX_TUBES,
    OpenOptions,
    OrderSource,
)

if TYPE_CHECKING:
    from tracetime.clocks.domain import ClockDomain
    from tracetime.formats.archive.archive import Archive
    from tracetime.formats.trace_file import TraceFile
    from tracetime.trace.trace import Trace


GROUP: Final = "tracetime.formats"
"""The entry points of packages with formats: functions without arguments that register them."""


def register_format(
    probe: Callable[[bytes], bool], open: Callable[[TraceFile, OpenOptions], Trace]
) -> None:
    """Let `open_trace`, and so every command, read another format.

    Args:
        probe: whether a file is of it, by its first 4096 bytes (uncompressed), or fewer. Formats
            are probed in the order in which they were registered, the built-in ones first.
        open: gives the trace, of a subclass of `Trace`; it reads nothing yet.
    """
    FORMATS.append(Format(probe, open))


def is_of_a_format(path: str | os.PathLike[str]) -> bool:
    """Whether a file begins as those of a format do; of pipes, which are read once, it is unknown.

    Raises:
        UsageError: the file cannot be read.
    """
    from tracetime.formats.trace_file import TraceFile

    if not Path(path).is_file():
        return False
    with contextlib.closing(TraceFile(path)) as file:
        return is_of_format(file.beginning())


def is_of_format(beginning: bytes) -> bool:
    """Whether a file that begins so is of a format."""
    return _format_of(beginning) is not None


def _format_of(beginning: bytes) -> Format | None:
    """Return the format of a file by how it begins; None of what no format reads."""
    found = next((one for one in FORMATS if one.probe(beginning)), None)
    if found is None:
        known = len(FORMATS)
        _register_installed()
        found = next((one for one in FORMATS[known:] if one.probe(beginning)), None)
    if found is not None and found.is_shared:
        from tracetime.formats.other_programs import other_program

        return found if other_program(beginning) is None else None
    return found


@cache
def _register_installed() -> None:
    """Have other packages register their formats: each function of the entry points `GROUP`."""
    from importlib.metadata import entry_points

    for point in entry_points(group=GROUP):
        try:
            point.load()()
        except Exception as error:
            raise UsageError(
                f"the package of the format {point.name!r} ({point.value}) fails: {error}; mend "
                "it, or uninstall it"
            ) from error


def open_file(file: TraceFile, options: OpenOptions) -> Trace:
    """Return the trace of an open file, which is closed with it.

    Raises:
        TraceError: it is of no format.
    """
    beginning = file.beginning()
    found = _format_of(beginning)
    if found is None and not file.is_unreadable(beginning):
        from tracetime.formats.other_programs import refuse

        file.close()
        raise refuse(beginning, file.path)
    opens = open_perfetto if found is None else found.open
    trace = opens(file, options)
    file.on_read = trace.on_read
    return trace


def open_trace(
    path: str | os.PathLike[str],
    *,
    partial: bool = False,
    max_expansion: int = MAX_EXPANSION,
    max_clocks: int = MAX_CLOCKS,
    max_tubes: int = MAX_TUBES,
    domains: Iterable[ClockDomain] = (),
    orders: OrderSource | None = None,
) -> Trace:
    """Open a trace: of Perfetto, CTF, or another registered format.

    Files may be compressed by gzip, zstd, xz or bzip2. The path of a trace in an archive, zip or
    tar, is `ARCHIVE:MEMBER`; of one with a single trace, its own is enough.

    Args:
        path: of the file, or of a directory (a CTF trace is one), or `-` for standard input (copied
            to a temporary file: reading a trace can take two passes).
        partial: keep what comes before the place where a trace is cut off or corrupt, and say so
            in `Trace.truncated`, instead of raising.
        max_expansion: how many bytes decompression may yield in all.
        max_clocks: how many clocks its snapshots, or the rows of a table, may name.
        max_tubes: for how many pairs of clocks error bars may be worked out.
        domains: what clocks are and may do, for the tube's error bars, where the trace does not
            say. Clock 64 to 127 without a sequence means that of every sequence.
        orders: "flows": track events of one flow on different machines happened one after the
            other, and the tube takes that as evidence (`ClockGraph.add_order`); the file is read
            once more for it. None: snapshots and messages of machines alone.

    Raises:
        UsageError: the file cannot be read; no such orders; an archive of several traces, or none.
        TraceError: the file is of no format, and what it is; an archive is cut off or damaged.
    """
    return _open(
        path,
        _check_options(
            OpenOptions(partial, max_expansion, max_clocks, max_tubes, tuple(domains), orders)
        ),
    )


def open_traces(
    path: str | os.PathLike[str],
    *,
    partial: bool = False,
    max_expansion: int = MAX_EXPANSION,
    max_clocks: int = MAX_CLOCKS,
    max_tubes: int = MAX_TUBES,
    domains: Iterable[ClockDomain] = (),
    orders: OrderSource | None = None,
) -> list[Trace]:
    """Open all traces of an archive, zip or tar; of any other file, the one that it is.

    Members of no format are left out, as are links and a perfetto_manifest; with `partial`, also
    what comes after a place where the archive itself is cut off. The path of each trace is
    `ARCHIVE:MEMBER`, which `open_trace` takes, too. Close each of them.

    Args:
        path, partial, max_clocks, max_tubes, domains, orders: as of `open_trace`.
        max_expansion: how many bytes unpacking may yield, of the archive in all, and of each trace.

    Raises:
        UsageError: as `open_trace`; no member is a trace.
        TraceError: the archive is cut off or damaged, or a member is encrypted.
    """
    from tracetime.formats.trace_file import TraceFile

    options = _check_options(
        OpenOptions(partial, max_expansion, max_clocks, max_tubes, tuple(domains), orders)
    )
    if split_member(path) is not None or (path != "-" and Path(path).is_dir()):
        return [_open(path, options)]
    file = TraceFile(path)
    if not is_archive(file.beginning()):
        return [open_file(file, options)]
    from tracetime.formats.archive.archive import open_all

    return open_all(file, options)


def open_archive(path: str, **options: Any) -> tuple[Archive | None, Callable[[], Trace]]:
    """Open a file with several traces in it, or `-` for standard input with them.

    options: of `open_trace`.

    Returns:
        The archive, None where it is none; and what opens the only trace of the path.

    Raises:
        UsageError: the file cannot be read.
        TraceError: the archive is cut off or damaged.
    """
    from tracetime.formats.trace_file import TraceFile

    opens = partial(open_trace, path, **options)
    if path != "-" and not Path(path).is_file():
        return None, opens
    file = TraceFile(path)
    if is_archive(file.beginning()):
        from tracetime.formats.archive.archive import Archive

        return Archive(file, _check_options(OpenOptions(**options))), opens
    if path == "-":
        # It is read once.
        return None, partial(open_file, file, _check_options(OpenOptions(**options)))
    file.close()
    return None, opens


def split_member(path: str | os.PathLike[str]) -> tuple[str, str] | None:
    """Return archive and member of a path `ARCHIVE:MEMBER`; None for any other."""
    text = os.fspath(path)
    try:
        if ":" not in text or Path(text).exists():
            return None
        at = text.find(":")
        while at >= 0:
            if Path(text[:at]).is_file():
                return text[:at], text[at + 1 :]
            at = text.find(":", at + 1)
    except (OSError, ValueError):
        return None
    return None


def _open(path: str | os.PathLike[str], options: OpenOptions) -> Trace:
    from tracetime.formats.trace_file import TraceFile

    named = split_member(path)
    if named is None and path != "-" and Path(path).is_dir():
        return _open_folder(path, options)
    if named is None:
        return open_file(TraceFile(path), options)
    from tracetime.formats.archive.archive import open_member

    return open_member(TraceFile(named[0]), named[1], options)


def _check_options(options: OpenOptions) -> OpenOptions:
    """Raise UsageError for what is no option."""
    for name, limit, least in (
        ("max_expansion is a number of bytes", options.max_expansion, 0),
        ("max_clocks is a number of clocks", options.max_clocks, 1),
        ("max_tubes is a number of pairs of clocks", options.max_tubes, 1),
    ):
        if limit < least:
            raise UsageError(f"{name}, {least} or more")
    if options.orders is not None and options.orders not in get_args(OrderSource):
        known = ", ".join(get_args(OrderSource))
        raise UsageError(f"orders is {options.orders!r}: give one of {known}")
    return options


def _open_folder(path: str | os.PathLike[str], options: OpenOptions) -> Trace:
    from tracetime.formats.trace_folder import TraceFolder

    folder = TraceFolder(path)
    found = next((one for one in FOLDER_FORMATS if one.probe(folder)), None)
    if found is None:
        raise UsageError(
            f"{folder.path!r} is a directory without a trace: give a trace file, or the directory "
            "of a CTF trace (it, or one below it, has a file named metadata)"
        )
    trace = found.open(folder, options)
    folder.on_read = trace.on_read
    return trace
