"""The verb `merge`, and the manifest that it writes for Perfetto."""

from __future__ import annotations

import json
import os
import shutil
import zipfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, Final

from tracetime.atomic_file import file_target, whole_file
from tracetime.clocks.domain import ClockDomain
from tracetime.clocks.ids import BUILTIN_CLOCKS, BUILTIN_IDS
from tracetime.errors import UsageError
from tracetime.merging.files import MergedFile
from tracetime.merging.manifest_reading import TIES
from tracetime.merging.merged_traces import MergedTraces
from tracetime.merging.perfetto_output import ENDING, names_of, write_trace
from tracetime.merging.report import FileReport, MergeReport, report_of
from tracetime.text import printable
from tracetime.trace.open_options import MAX_CLOCKS, MAX_EXPANSION, MAX_TUBES, OrderSource
from tracetime.trace.trace import Trace


# long: half of it is its docstring
def merge(  # noqa: PLR0913  the options of the command
    inputs: Iterable[str | os.PathLike[str]],
    out: str | os.PathLike[str] | None = None,
    *,
    sync: Iterable[str] = (),
    match: Iterable[str] = (),
    together: Iterable[str] = (),
    same: Iterable[str] = (),
    different: Iterable[str] = (),
    collective_ends: str | None = None,
    assume_wall_clock: str | None = None,
    explain: tuple[str, str] | None = None,
    at: str | None = None,
    strip: bool = False,
    error_tracks: bool = False,
    partial: bool = False,
    max_expansion: int = MAX_EXPANSION,
    max_clocks: int = MAX_CLOCKS,
    max_tubes: int = MAX_TUBES,
    domains: Iterable[ClockDomain] = (),
    orders: OrderSource | None = None,
    before_writing: Callable[[MergeReport], None] | None = None,
    opened: Callable[[Trace], object] | None = None,
    processes: int = 0,
) -> MergeReport:
    """Put traces of several files on one timeline, say how far off each may be, and write them.

    Args:
        inputs: paths of traces and archives, of any format: two traces or more, or an archive with
            a perfetto_manifest, whose offsets, names of machines and trace time are used.
        out: path of a Perfetto trace (.pftrace) of all events, on BOOTTIME of the first file, or on
            the trace time of a manifest; or of a zip archive (.zip) of the inputs, byte for byte,
            with a perfetto_manifest that has a constant offset for each; None: nothing is written.
        sync: offsets that are known, each `A:CLOCK=B:CLOCK+OFFSET+-HALF`: when CLOCK of file B
            reads t, that of file A reads t + OFFSET, give or take HALF. Both have a unit, such as
            `20ms`; OFFSET may be in `ticks` of A's clock.
        match: which events are messages between files, each `send=EVENT recv=EVENT key=ARG,ARG`.
        together: which slices no file leaves before all have entered them, each
            `name=SLICE key=ARG,ARG`. The collectives of PyTorch are found without it.
        same, different: pairs of files, `A,B`, that are of one boot of one machine, or are not.
        collective_ends: within which time a collective ends in all files that take part, such as
            `50us`; nothing checks it. None to assume nothing.
        assume_wall_clock: how far from UTC any wall clock is at most whose kernel does not say it
            itself, such as `20ms`; nothing checks it. None to assume nothing.
        at: an event that all files have: the first of this name happened in all of them at once.
        strip: leave out what a .pftrace would keep of its files, so that it has no error bars, the
            ids of boots, and the names of machines.
        error_tracks: add tracks to a .pftrace that show in the Perfetto UI how far off the events
            of each clock can be.
        explain: two files of which the report tells the evidence.
        partial, max_expansion, max_clocks, max_tubes, domains, orders: how each file is read, as
            of `open_trace`.
        before_writing: called with the report before anything is written, or found unfit for it.
        opened: called with each trace once it is open; its `on_read` tells how far it is read.
        processes: how many processes, forked from this one, bake Perfetto traces of 50 MB or more;
            0 for threads. Only for a program without threads of its own, on Linux.

    Raises:
        UsageError: fewer than two traces, without a manifest; an option that cannot be read; with
            `out`, a file that nothing ties to the timeline, or that Perfetto cannot place by a
            manifest.
        TraceError: a file is damaged. Whatever is raised, nothing is left of the output.
    """
    if out is not None and not os.fspath(out).endswith((ENDING, ".zip")):
        raise UsageError(
            f"{os.fspath(out)!r} ends in neither {ENDING}, a Perfetto trace of all events, nor "
            ".zip, an archive of the files with a perfetto_manifest"
        )
    if (strip or error_tracks) and not (out and os.fspath(out).endswith(ENDING)):
        raise UsageError(f"strip and error_tracks are for a trace: name the output {ENDING}")
    if strip and error_tracks:
        raise UsageError("error_tracks need what strip leaves out: give one of them")
    if processes < 0 or (processes and not hasattr(os, "fork")):
        raise UsageError(f"processes={processes}: 0, or more where processes can be forked (Linux)")
    ties: dict[str, Any] = {
        "sync": [*sync],
        "match": [*match],
        "together": [*together],
        "same": [*same],
        "different": [*different],
        "collective_ends": collective_ends,
        "assume_wall_clock": assume_wall_clock,
        "at": at,
    }
    with MergedTraces(
        inputs,
        **ties,
        opened=opened,
        reading={
            "partial": partial,
            "max_expansion": max_expansion,
            "max_clocks": max_clocks,
            "max_tubes": max_tubes,
            "domains": tuple(domains),
            "orders": orders,
        },
    ) as traces:
        report = report_of(traces, explain)
        if before_writing is not None:
            before_writing(report)
        if out is None:
            return report
        if os.fspath(out).endswith(ENDING):
            written = write_trace(
                traces, report, out, processes, strip=strip, error_tracks=error_tracks
            )
            return replace(report, written=written)
        write_archive(traces, report, out, ties | {"orders": orders})
        return report


# An archive of the inputs with a perfetto_manifest: Perfetto then shows them on one timeline.
#
# The manifest has a constant offset for each file, so it drops the drift.

VERSION: Final = 1
MANIFEST: Final = "perfetto_manifest.json"
_BOOTTIME: Final = BUILTIN_IDS["BOOTTIME"]


def write_archive(
    traces: MergedTraces,
    report: MergeReport,
    out: str | os.PathLike[str],
    ties: Mapping[str, Any],
) -> None:
    """Write the inputs, byte for byte, and a manifest with their offsets to the first of them.

    ties: the options that offsets rest on; this library reads the archive by them.

    Raises:
        UsageError: nothing ties a file to the first; Perfetto's manifest cannot name its clock; it
            is of a format that Perfetto does not read, or a part of an archive; `out` cannot be
            written.
    """
    report.check_tied()
    pairs = zip(traces.files, report.files, strict=True)
    kept = [(file, of) for file, of in pairs if not (file.number and of.empty)]
    files = [_entry(traces, file, of) for file, of in kept]
    given = json.dumps({name: value for name, value in ties.items() if value})
    root = {"version": VERSION, "attributes": {TIES: given}, "files": files}
    manifest = {"perfetto_manifest": root}
    target = file_target(out)
    with whole_file(target) as part, zipfile.ZipFile(part, "w") as archive:
        archive.writestr(zipfile.ZipInfo(MANIFEST), json.dumps(manifest, indent=2) + "\n")
        for file, _ in kept:
            member = zipfile.ZipInfo(_path(file))
            with (
                open(file.trace.path, "rb") as source,  # noqa: PTH123
                archive.open(member, "w", force_zip64=True) as sink,
            ):
                shutil.copyfileobj(source, sink)


def _path(file: MergedFile) -> str:
    return file.name.lstrip("/")


def _entry(traces: MergedTraces, file: MergedFile, found: FileReport) -> dict[str, Any]:
    name = printable(file.name)
    if file.trace.perfetto_reads is None:
        raise UsageError(f"{name} is of a format that Perfetto does not read in an archive")
    if not os.path.isfile(file.trace.path):  # noqa: PTH113
        raise UsageError(f"{name} is in an archive: unpack it first")
    if any("\ud800" <= letter <= "\udfff" for letter in _path(file)):
        raise UsageError(
            f"the name of {name} is not UTF-8, as an archive needs it: rename the file"
        )
    if len(file.machines) > 1:
        raise UsageError(f"{name} has several machines: the manifest written here names one a file")
    machine = traces.home(file.number).machine
    name = names_of([one for one in traces.files if traces.home(one.number).machine == machine])
    entry: dict[str, Any] = {"path": _path(file), "machine": {"name": name}}
    if file.number == 0:
        return entry
    if traces.home(file.number) == traces.home(0) and file.home.clock == _BOOTTIME:
        # Perfetto takes BOOTTIME of one machine for one clock.
        return entry
    entry["clocks"] = {
        **_clock(file),
        "offset_ns": found.offset_ns,
        "sync_to": {"file": _path(traces.files[0]), **_clock(traces.files[0])},
    }
    return entry


def _clock(file: MergedFile) -> dict[str, str]:
    """The trace clock of a file as the manifest names it; JSON has none."""
    if file.trace.perfetto_reads == "json":
        return {}
    if file.home.clock not in BUILTIN_CLOCKS:
        raise UsageError(
            f"the trace clock of {printable(file.name)} is {file.home}: a manifest cannot name it"
        )
    return {"clock": BUILTIN_CLOCKS[file.home.clock]}
