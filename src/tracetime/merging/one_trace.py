"""Several files as one trace on one timeline, without a file of it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from functools import partial as applied
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypedDict, Unpack, cast, overload

from tracetime import formats
from tracetime.atomic_file import protect_all
from tracetime.clocks.domain import ClockDomain
from tracetime.formats.trace_file import TraceFile
from tracetime.merging.files import short_names
from tracetime.merging.merge import merge
from tracetime.trace.open_options import (
    MAX_CLOCKS,
    MAX_EXPANSION,
    MAX_TUBES,
    OpenOptions,
    OrderSource,
)
from tracetime.trace.trace import Trace


class ReadingOptions(TypedDict, total=False):
    """Options of `open_trace`."""

    partial: bool
    max_expansion: int
    max_clocks: int
    max_tubes: int
    domains: Iterable[ClockDomain]
    orders: OrderSource | None


class MergingOptions(ReadingOptions, total=False):
    """Options of `merge`."""

    sync: Iterable[str]
    match: Iterable[str]
    together: Iterable[str]
    same: Iterable[str]
    different: Iterable[str]
    collective_ends: str | None
    assume_wall_clock: str | None
    at: str | None


# A text is one path, though it is an iterable of texts.
@overload
def open_traces(  # type: ignore[overload-overlap]
    path: str | os.PathLike[str], **options: Unpack[ReadingOptions]
) -> list[Trace]: ...


@overload
def open_traces(
    path: Iterable[str | os.PathLike[str]], **options: Unpack[MergingOptions]
) -> Trace: ...


# long: half of it is its docstring
def open_traces(  # noqa: PLR0913  the options of both
    path: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    *,
    partial: bool = False,
    max_expansion: int = MAX_EXPANSION,
    max_clocks: int = MAX_CLOCKS,
    max_tubes: int = MAX_TUBES,
    domains: Iterable[ClockDomain] = (),
    orders: OrderSource | None = None,
    sync: Iterable[str] = (),
    match: Iterable[str] = (),
    together: Iterable[str] = (),
    same: Iterable[str] = (),
    different: Iterable[str] = (),
    collective_ends: str | None = None,
    assume_wall_clock: str | None = None,
    at: str | None = None,
) -> list[Trace] | Trace:
    """Open several files as one trace on one timeline; or all traces of one archive, each alone.

    Given paths, the trace is what `merge` writes of them: its clocks are those of all files, named
    by file, and its events have the bars of their files. It takes room in the directory of
    temporary files until it is closed.

    Given one path, of an archive, zip or tar, it is the list of its traces; of any other file, that
    of the one that it is. Members of no format are left out, as are links and a perfetto_manifest;
    with `partial`, also what comes after a place where the archive itself is cut off. The path of
    each trace is `ARCHIVE:MEMBER`, which `open_trace` takes, too. Close each of them.

    Args:
        path: of an archive; or the paths of traces and of archives with a perfetto_manifest, such
            as `[path]` for one archive with a manifest.
        partial, max_clocks, max_tubes, domains, orders: as of `open_trace`.
        max_expansion: how many bytes unpacking may yield, of an archive in all, and of each trace.
        sync, match, together, same, different, collective_ends, assume_wall_clock, at: as of
            `merge`; only for one trace.

    Raises:
        UsageError: as `open_trace`; no member is a trace; nothing ties a file to the others.
        TraceError: an archive is cut off or damaged, or a member is encrypted.
    """
    options = OpenOptions(partial, max_expansion, max_clocks, max_tubes, tuple(domains), orders)
    reading = _reading(options)
    if isinstance(path, str | os.PathLike):
        return formats.open_traces(path, **reading)
    inputs = list(path)
    with TemporaryDirectory(prefix="tracetime-") as folder:
        merged = Path(folder) / "merged.pftrace"
        merge(
            inputs,
            merged,
            sync=sync,
            match=match,
            together=together,
            same=same,
            different=different,
            collective_ends=collective_ends,
            assume_wall_clock=assume_wall_clock,
            at=at,
            **reading,
        )
        return open_merged(merged, inputs, options)


def open_merged(
    merged: Path, inputs: Sequence[str | os.PathLike[str]], options: OpenOptions
) -> Trace:
    """Open what `merge` wrote of some files as the trace of these, whose file may go."""
    content = merged.open("rb", buffering=0)
    # Its sources are closed by now.
    protect_all(content, [Path(one).stat() for one in inputs if Path(one).is_file()])
    name = ", ".join(os.fspath(one) for one in inputs)
    trace = formats.open_file(TraceFile(name, content), options)
    trace.inputs = applied(each_input, inputs, **_reading(options))
    return trace


def _reading(options: OpenOptions) -> ReadingOptions:
    """The options as `open_traces` takes them."""
    given = {name: getattr(options, name) for name in ReadingOptions.__annotations__}
    return cast("ReadingOptions", given)


def each_input(
    inputs: Iterable[str | os.PathLike[str]], **reading: Unpack[ReadingOptions]
) -> Iterator[tuple[str, Trace]]:
    """Yield each trace of some paths alone, and its short name; standard input is read once."""
    with ExitStack() as stack:
        traces = [
            stack.enter_context(trace)
            for path in inputs
            if os.fspath(path) != "-"
            for trace in formats.open_traces(path, **reading)
        ]
        places = [formats.split_member(trace.path) or (trace.path, "") for trace in traces]
        yield from zip(short_names(places), traces, strict=True)
