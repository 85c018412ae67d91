"""Ties by the perfetto_manifests of archives: offsets, and the clock of the timeline."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import NamedTuple

from tracetime.clocks.ids import ClockId
from tracetime.errors import TraceError
from tracetime.graph.graph import Graph
from tracetime.merging.boots import Boots
from tracetime.merging.constant_offsets import GivenOffset, add_offset
from tracetime.merging.files import MergedFile
from tracetime.merging.manifest_reading import Manifest, TraceTime
from tracetime.merging.ties import Tie
from tracetime.text import printable


class Reference(NamedTuple):
    """The clock that offsets are to.

    Attributes:
        file: number of the file that it is of.
        clock: as that file calls it.
        is_given: whether a manifest chooses it; else it is the trace clock of the first file.
    """

    file: int
    clock: ClockId
    is_given: bool


def manifests(files: Sequence[MergedFile]) -> list[tuple[Manifest, dict[str, MergedFile]]]:
    """The manifests of the archives, each with its members among the files, by their names."""
    found: dict[int, tuple[Manifest, dict[str, MergedFile]]] = {}
    for file in files:
        if file.manifest is not None:
            found.setdefault(id(file.manifest), (file.manifest, {}))[1][file.member] = file
    return list(found.values())


def add_manifests(graph: Graph, files: Sequence[MergedFile], boots: Boots) -> list[Tie]:
    """Add the offsets of manifests, which are taken as exact.

    Raises:
        TraceError: one pins a file that has clocks of its own.
        UsageError: a file has no such clock; an offset leaves int64.
    """
    return [
        tie
        for manifest, members in manifests(files)
        for tie in _offsets(graph, boots, manifest, members)
    ]


def _offsets(
    graph: Graph, boots: Boots, manifest: Manifest, members: dict[str, MergedFile]
) -> Iterator[Tie]:
    if manifest.ties is not None:
        # The evidence itself is in the files.
        return
    for entry in manifest.files:
        override = entry.clocks
        if override is None:
            continue
        if override.file not in members:
            raise TraceError(
                f"perfetto_manifest: {printable(override.file, 100)!r} is no trace of the archive"
            )
        source, target = members[entry.path], members[override.file]
        # Perfetto's reader of JSON knows one clock alone.
        has_one = source.trace.packets is None or len(source.trace.clocks.clocks()) < 2
        if override.clock is None and not has_one:
            raise TraceError(
                "perfetto_manifest: clock overrides require the trace to use a single clock: a "
                "clocks override without a source clock pins a clockless file; name the clock of "
                f"{printable(entry.path, 100)!r}"
            )
        there = _clock(source, override.clock, override.machine)
        here = _clock(target, override.reference_clock, override.reference_machine)
        names = source.trace.clocks.name(there), target.trace.clocks.name(here)
        words = (
            f"the manifest's offset of {override.offset_ns} ns between {names[0]} and {names[1]}, "
            "which is taken as exact: the manifest gives no bar"
        )
        offset = GivenOffset(Fraction(override.offset_ns), 1)
        yield add_offset(graph, boots, (target, here), (source, there), offset, 0, words)


def reference_of(files: Sequence[MergedFile]) -> Reference:
    """The clock that a manifest chooses; without one, the trace clock of the first file.

    Where several manifests choose, the first does.

    Raises:
        TraceError: no file of the machine that it names has that clock.
    """
    for manifest, members in manifests(files):
        if manifest.trace_time is not None:
            return _choose(manifest.trace_time, members)
    return Reference(0, files[0].home, False)


def _choose(time: TraceTime, members: dict[str, MergedFile]) -> Reference:
    if time.file is None:
        # Perfetto's host is the machine of the files that the manifest gives none.
        unnamed = [file for file in members.values() if not file.machine_names]
        able = unnamed or list(members.values())
    elif time.file in members:
        able = [members[time.file]]
    else:
        raise TraceError(
            f"perfetto_manifest: trace_time: {printable(time.file, 100)!r} is no trace of the "
            "archive"
        )
    for file in able:
        clock = _clock(file, time.clock, time.machine)
        if clock == file.home or clock in (info.clock for info in file.trace.clocks.clocks()):
            return Reference(file.number, clock, True)
    names = ", ".join(printable(file.name) for file in able)
    raise TraceError(
        f"perfetto_manifest: trace_time: no snapshot of {names} has the clock "
        f"{ClockId(time.clock)}: name a file that has it"
    )


def _clock(file: MergedFile, clock: int | None, machine: str | None) -> ClockId:
    """The clock of a machine as its file calls it; without a number, the file's trace clock.

    Raises:
        TraceError: the file has nothing of that machine.
    """
    if clock is None:
        return file.home
    if machine is None:
        return ClockId(clock, machine=file.home.machine)
    for number, name in file.machine_names.items():
        if name == machine:
            return ClockId(clock, machine=number)
    raise TraceError(
        f"perfetto_manifest: {printable(file.name)} has no packet of machine "
        f"{printable(machine, 100)!r}"
    )
