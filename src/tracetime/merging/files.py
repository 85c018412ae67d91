"""The files that are merged: their names, their boots, and the times of their events."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tracetime.clocks.families import ONE_OSCILLATOR
from tracetime.clocks.ids import BUILTIN_IDS, ClockId
from tracetime.clocks.int_arrays import is_any_of
from tracetime.errors import PLACED, ConversionError, TraceError, UsageError
from tracetime.formats import open_archive
from tracetime.formats.archive.archive import Archive
from tracetime.merging.manifest_reading import MOST_BYTES, Manifest, read_manifest
from tracetime.merging.threads import each
from tracetime.text import did_you_mean, of_file, printable
from tracetime.trace.abilities import MachineFacts
from tracetime.trace.open_options import OrderSource
from tracetime.trace.trace import Trace

BOOTTIME = ClockId(BUILTIN_IDS["BOOTTIME"])


@dataclass(frozen=True, slots=True)
class MergedFile:
    """One of the traces that are merged.

    Attributes:
        number: from 0, in the order in which they are given.
        name: what options and the report call it: the end of its path, unique among the files.
        trace: open.
        span: trace time of its first and last event, by floor; None without events.
        facts: what it says of its first machine.
        member: its name in its archive; empty of a file.
        manifest: the perfetto_manifest of its archive.
        machine_names: what the manifest calls its machines, by their index in the trace.
    """

    number: int
    name: str
    trace: Trace
    span: tuple[int, int] | None
    facts: MachineFacts
    member: str = ""
    manifest: Manifest | None = None
    machine_names: dict[int, str] = field(default_factory=dict)

    @property
    def home(self) -> ClockId:
        """The trace clock of the file, as the file itself calls it."""
        return self.trace.trace_clock

    @property
    def machines(self) -> set[int]:
        """The machines of the file, those without clocks too."""
        clocks = (info.clock for info in self.trace.clocks.clocks())
        return {*range(len(self.trace.machines)), *(clock.machine for clock in clocks)}

    @property
    def has_kernel_clock(self) -> bool:
        """Whether the trace clock is one of the kernel's, or converts to one of its machine."""
        graph, home = self.trace.clocks, self.home
        if home.clock in ONE_OSCILLATOR:
            return True
        for info in graph.clocks():
            if info.clock.clock in ONE_OSCILLATOR and info.clock.machine == home.machine:
                with suppress(ConversionError):
                    graph.path(info.clock, home, policy="tube")
                    return True
        return False


class OpenedFiles(NamedTuple):
    """The traces of some paths, and a line for each member of an archive that is left out."""

    files: list[MergedFile]
    left_out: list[str]


class _OpenTrace(NamedTuple):
    """A trace, and the archive that it is in."""

    trace: Trace
    archive: str | None = None
    member: str = ""
    manifest: Manifest | None = None


def open_files(
    inputs: Iterable[str | os.PathLike[str]],
    stack: ExitStack,
    opened: Callable[[Trace], object] | None = None,
    reading: Mapping[str, Any] | None = None,
) -> OpenedFiles:
    """Open the traces of some paths; archives have several. The stack closes them.

    opened: called with each. reading: how, as `open_traces` takes it.

    Raises:
        UsageError: fewer than two traces, without a manifest; a file is given twice, or cannot be
            read.
        TraceError: a file is damaged, or a manifest breaks a rule.
    """
    found: list[_OpenTrace] = []
    left_out: list[str] = []
    for path in _check_different(inputs):
        with of_file(os.fspath(path)):
            for one in _traces(os.fspath(path), reading or {}, left_out):
                stack.enter_context(one.trace)
                # A file is merged with its own times.
                found.append(one._replace(trace=one.trace.as_written()))
                if opened is not None:
                    opened(found[-1].trace)
    if len(found) < 2 and not any(one.manifest is not None for one in found):
        raise UsageError("merging takes two traces or more: give the path of each")
    names = short_names([(one.archive or one.trace.path, one.member) for one in found])
    read = each(_read, zip(names, (one.trace for one in found), strict=True))
    files = [
        MergedFile(number, name, one.trace, *facts, one.member, one.manifest)
        for number, (name, one, facts) in enumerate(zip(names, found, read, strict=True))
    ]
    return OpenedFiles([_with_machine_names(file) for file in files], left_out)


def _traces(path: str, reading: Mapping[str, Any], left_out: list[str]) -> Iterator[_OpenTrace]:
    """Open the traces of a path one by one; what an archive has else goes to `left_out`."""
    archive, opens = open_archive(path, **reading)
    if archive is None:
        yield _OpenTrace(opens())
        return
    with archive:
        manifest = manifest_of(archive)
        ties = (None if manifest is None else manifest.ties) or {}
        orders: OrderSource | None = ties.get("orders")
        archive.check_traces()
        for name, why in archive.left_out.items():
            if name not in archive.manifests:
                left_out.append(f"{printable(path)}: {printable(name)}: {why}")
        if archive.damage is not None:
            left_out.append(f"{printable(path)}: {archive.damage}")
        for name in archive.members:
            yield _OpenTrace(archive.open(name, orders), path, name, manifest)


def _with_machine_names(file: MergedFile) -> MergedFile:
    if file.manifest is None:
        return file
    with of_file(file.name):
        return replace(file, machine_names=machine_names(file.manifest, file.member, file.trace))


def _read(
    named: tuple[str, Trace], check: Callable[[], None]
) -> tuple[tuple[int, int] | None, MachineFacts]:
    """The span of a trace, and the facts of its first machine; check: called now and then."""
    name, trace = named
    with of_file(name):
        span = _span(trace, check)
        check()
        return span, trace.machine_facts()


def _check_different(inputs: Iterable[str | os.PathLike[str]]) -> list[str | os.PathLike[str]]:
    """The paths, after a check; raise UsageError where two of them are one file."""
    paths = list(inputs)
    seen: dict[object, str] = {}
    for path in paths:
        text = os.fspath(path)
        for one in _identities(text):
            if one in seen:
                raise UsageError(
                    f"{printable(seen[one])} and {printable(text)} are one file: give each file "
                    "once"
                )
        seen |= dict.fromkeys(_identities(text), text)
    return paths


def _identities(path: str) -> list[object]:
    """The identities of a path, by which another path of the same file is known."""
    found: list[object] = [os.path.realpath(path) if path != "-" else path]
    with suppress(OSError, ValueError):
        status = os.stat(path)  # noqa: PTH116  as text it may also be -
        found.append((status.st_dev, status.st_ino))
    return found


def file_named(files: Sequence[MergedFile], text: str) -> MergedFile:
    """Return the file that an option names: by its name or path.

    Raises:
        UsageError: no file, or several, have it.
    """
    for keys in ((f.name for f in files), (f.trace.path for f in files)):
        found = [file for file, key in zip(files, keys, strict=True) if key == text]
        if len(found) == 1:
            return found[0]
    known = [file.name for file in files]
    near = did_you_mean(text, known) or ": there are " + ", ".join(map(printable, known))
    raise UsageError(f"{printable(text)!r} is none of the files{near}")


def short_names(places: Sequence[tuple[str, str]]) -> list[str]:
    """The shortest ends of paths that tell them apart; with a number where nothing does.

    places: of each the path of the file, and the member of it, or "".
    """
    paths = [f"{path}:{member}" if member else path for path, member in places]
    if len(set(paths)) < len(paths):
        return [f"{path}#{number}" for number, path in enumerate(paths)]
    parts = [_parts(*place) for place in places]
    for n in range(1, max(map(len, parts)) + 1):
        names = ["".join(one[-n:]) for one in parts]
        if len(set(names)) == len(names):
            return names
    return paths


def _parts(path: str, member: str) -> list[str]:
    """The parts of a place, each but the last with what ends it."""
    folders = [part if part.endswith("/") else f"{part}/" for part in Path(path).parts]
    file = folders.pop().removesuffix("/") if folders else path
    if not member:
        return [*folders, file]
    *inside, name = member.split("/")
    return [*folders, f"{file}:", *(f"{part}/" for part in inside), name]


def _span(trace: Trace, check: Callable[[], None]) -> tuple[int, int] | None:
    least: int | None = None
    most: int | None = None
    for columns in trace.columns():
        check()
        times = columns["trace_time"][is_any_of(columns["status"], PLACED)]
        if len(times):
            low, high = int(np.min(times)), int(np.max(times))
            least = low if least is None else min(least, low)
            most = high if most is None else max(most, high)
    return None if least is None or most is None else (least, most)


# The perfetto_manifest of an open archive, and the names that it gives machines of its traces.


def manifest_of(archive: Archive) -> Manifest | None:
    """Return the manifest of an archive; None without one.

    Raises:
        TraceError: there are two, or it breaks a rule, or has an offset for what is no trace.
    """
    if len(archive.manifests) > 1:
        raise TraceError("multiple perfetto_manifest files in archive: keep one")
    if not archive.manifests:
        return None
    manifest = read_manifest(archive.read(archive.manifests[0], MOST_BYTES))
    for file in manifest.files:
        if file.clocks is not None and file.path not in archive.members:
            raise TraceError(
                f"perfetto_manifest: clocks of {printable(file.path, 100)!r}: the archive has no "
                "such trace"
            )
    return manifest


def machine_names(manifest: Manifest, member: str, trace: Trace) -> dict[int, str]:
    """Return the names that a manifest gives the machines of a trace, by their index there.

    Raises:
        TraceError: it has packets of a machine that the manifest does not declare.
    """
    entry = manifest.entry(member)
    if entry is None or not entry.machines:
        return {}
    numbers = trace.machines
    shown = printable(member, 100)
    if not entry.is_multi_machine:
        if len(numbers) > 1:
            raise TraceError(
                f"perfetto_manifest: machine: {shown!r} has packets of {len(numbers)} machines: "
                "declare each in machines"
            )
        return {0: entry.machines[0].name}
    names = {machine.id: machine.name for machine in entry.machines}
    for number in numbers:
        if number and number not in names:
            raise TraceError(
                f"perfetto_manifest: undeclared machine id {number} in {shown!r}: declare it in "
                "machines"
            )
    return {n: names[number] for n, number in enumerate(numbers) if number in names}
