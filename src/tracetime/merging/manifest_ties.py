"""What the perfetto_manifest of an archive says of its members, as ties and machines of a merge."""

from __future__ import annotations

import os
from collections.abc import Sequence
from itertools import combinations

from tracetime.clocks.ids import ClockId
from tracetime.errors import TraceError
from tracetime.formats import open_archive
from tracetime.graph.graph import ClockGraph
from tracetime.merging.boots import Boots
from tracetime.merging.constant_offsets import add_offset
from tracetime.merging.files import MergedFile
from tracetime.merging.manifest_reading import (
    MOST_BYTES,
    Manifest,
    ManifestFile,
    read_manifest,
)
from tracetime.merging.ties import Tie
from tracetime.text import printable


def manifest_of(path: str | os.PathLike[str]) -> Manifest | None:
    """Return the manifest of an archive; None of an archive without, and of any other file.

    Raises:
        UsageError: the file cannot be read.
        TraceError: the archive is damaged; it has two manifests, or one that breaks a rule.
    """
    archive = open_archive(os.fspath(path))
    if archive is None:
        return None
    with archive:
        if len(archive.manifests) > 1:
            raise TraceError("multiple perfetto_manifest files in archive: keep one")
        if not archive.manifests:
            return None
        manifest = read_manifest(archive.read(archive.manifests[0], MOST_BYTES))
        for file in manifest.files:
            if file.clocks is not None and file.path not in archive.members:
                raise TraceError(
                    f"perfetto_manifest: clocks of {printable(file.path, 100)!r}: the archive has "
                    "no such trace"
                )
        return manifest


def machine_pairs(
    manifest: Manifest, files: Sequence[MergedFile], archive: str
) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """Return pairs of paths of traces whose machines have one name, and different names.

    Traces of two boots of one machine are in neither: their clocks are not the same.
    """
    said = {file.path: _first_machine(file) for file in manifest.files}
    named = [(file, said.get(_member(file, archive))) for file in files]
    same, different = [], []
    for (one, a), (other, b) in combinations(named, 2):
        paths = one.trace.path, other.trace.path
        if a is None or b is None:
            continue
        if a != b:
            different.append(paths)
        elif len({one.facts.boot_id, other.facts.boot_id} - {None, b""}) < 2:
            same.append(paths)
    return same, different


def add_manifest(
    graph: ClockGraph,
    files: Sequence[MergedFile],
    boots: Boots,
    manifest: Manifest,
    archive: str,
) -> list[Tie]:
    """Add the offsets of a manifest, which are taken as exact.

    Raises:
        TraceError: it pins a file that has clocks of its own.
        UsageError: a file has no such clock; an offset leaves int64.
    """
    ties = []
    by_path = {_member(file, archive): file for file in files}
    entries = {entry.path: entry for entry in manifest.files}
    for entry in manifest.files:
        override = entry.clocks
        if override is None:
            continue
        reference = entries[override.file]
        if reference.path not in by_path:
            raise TraceError(
                f"perfetto_manifest: {printable(reference.path, 100)!r} is no trace of the archive"
            )
        source, target = by_path[entry.path], by_path[reference.path]
        if override.clock is None and len(source.trace.clocks.clocks()) > 1:
            raise TraceError(
                "perfetto_manifest: clock overrides require the trace to use a single clock: a "
                "clocks override without a source clock pins a clockless file; name the clock of "
                f"{printable(entry.path, 100)!r}"
            )
        there = _clock(source, entry, override.clock, override.machine)
        here = _clock(target, reference, override.reference_clock, override.reference_machine)
        said = (
            f"the manifest's offset of {override.offset_ns} ns between {there} and {here}, "
            "which is taken as exact: the manifest gives no bar"
        )
        ties.append(
            add_offset(graph, boots, (target, here), (source, there), override.offset_ns, 0, said)
        )
    return ties


def _member(file: MergedFile, archive: str) -> str:
    return file.trace.path.removeprefix(f"{archive}:")


def _first_machine(file: ManifestFile) -> str | None:
    """The name of the machine that the file's own clocks are of."""
    return next((one.name for one in file.machines if one.id in (None, 0)), None)


def _clock(
    file: MergedFile, entry: ManifestFile, clock: int | None, machine: str | None
) -> ClockId:
    if clock is None:
        return file.home
    numbers = (one.id for one in entry.machines if one.name == machine)
    number = next(numbers, None)
    return ClockId(clock, machine=file.home.machine if number is None else number)
