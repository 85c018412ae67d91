"""An archive of the inputs with a perfetto_manifest: Perfetto then shows them on one timeline.

The manifest has a constant offset for each file, so it drops the drift.
"""

from __future__ import annotations

import json
import os
import shutil
import zipfile
from typing import Any, Final

from tracetime.atomic_file import file_target, whole_file
from tracetime.clocks.ids import BUILTIN_CLOCKS, BUILTIN_IDS
from tracetime.errors import UsageError
from tracetime.merging.files import MergedFile
from tracetime.merging.merged_traces import MergedTraces
from tracetime.merging.report import FileReport, MergeReport
from tracetime.text import printable

VERSION: Final = 1
MANIFEST: Final = "perfetto_manifest.json"
_BOOTTIME: Final = BUILTIN_IDS["BOOTTIME"]


def write_archive(traces: MergedTraces, report: MergeReport, out: str | os.PathLike[str]) -> None:
    """Write the inputs, byte for byte, and a manifest with their offsets to the first of them.

    Raises:
        UsageError: nothing ties a file to the first; Perfetto's manifest cannot name its clock; it
            is of a format that Perfetto does not read, or a part of an archive; `out` cannot be
            written.
    """
    report.check_tied()
    pairs = zip(traces.files, report.files, strict=True)
    kept = [(file, of) for file, of in pairs if not (file.number and of.empty)]
    files = [_entry(traces, file, of) for file, of in kept]
    manifest = {"perfetto_manifest": {"version": VERSION, "files": files}}
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
    machine = traces.boots.machine(file.number, file.home.machine)
    entry: dict[str, Any] = {"path": _path(file), "machine": {"name": f"machine {machine}"}}
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
