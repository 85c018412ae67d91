"""The writer of one Perfetto trace of files of any format, on BOOTTIME of the first machine.

Each file is baked by the graph of all (`placing.py`), some ahead of their turn (`threads.py`), and
its packets get numbers that no other file has (`_kernels/perfetto/bake/renumber.pxi`). Files follow
one another: Perfetto sorts a trace.
"""

from __future__ import annotations

import os
import re
import secrets
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Final

import numpy as np

from tracetime._kernels.perfetto import packets as packet_kernels
from tracetime._kernels.perfetto.bake import BakedClocks, Baker, Renumberer
from tracetime._kernels.perfetto.importer import Rows
from tracetime.atomic_file import file_target, whole_file
from tracetime.clocks.families import ONE_OSCILLATOR
from tracetime.clocks.ids import BUILTIN_IDS, ClockId
from tracetime.clocks.int_arrays import is_any_of
from tracetime.columns.arrays import known_of
from tracetime.errors import OVERFLOW, PLACED
from tracetime.formats import open_trace
from tracetime.formats.perfetto.extension import BAKED_BY
from tracetime.formats.perfetto.payload_names import PAYLOAD_NAMES
from tracetime.merging.files import MergedFile
from tracetime.merging.merged_traces import MergedTraces
from tracetime.merging.output_report import WrittenFile, WrittenTrace
from tracetime.merging.placing import FilePlacing, target_of
from tracetime.merging.processes import Processes
from tracetime.merging.report import MergeReport
from tracetime.merging.threads import ThreadJob, Threads
from tracetime.text import of_file, printable
from tracetime.trace.events_table import Columns
from tracetime.verbs.error_tracks import with_error_tracks
from tracetime.verbs.event_baking.carrying import Carrier, SealedFile, StrippedFile
from tracetime.verbs.event_baking.tracks import OutputNumbers
from tracetime.verbs.event_baking.tube_times import KeptOrder
from tracetime.verbs.event_baking.writing import Output, write_events

ENDING: Final = ".pftrace"

_BOOTTIME: Final = BUILTIN_IDS["BOOTTIME"]
_REALTIME: Final = BUILTIN_IDS["REALTIME"]
_TRACK_EVENT, _SERVICE_EVENT = (
    next(n for n, name in PAYLOAD_NAMES.items() if name == wanted)
    for wanted in ("track_event", "service_event")
)
_MARK: Final = 1 + BAKED_BY.index("tube")
_HEAD: Final = 1
"""The packet sequence of what is said of all files."""

_AT_ONCE: Final = 3
"""Files in work: two that are baked, and one that is written or waits."""

_LEAST_FORKED: Final = 50_000_000
"""Bytes of files that are worth processes of their own."""

_PLACE: Final = re.compile(r"@(machine|file)\d+")
"""What says in the name of a clock where it is."""

_MOST_NAMES: Final = 4
_MOST_RANK: Final = 10**9


def write_trace(
    traces: MergedTraces,
    report: MergeReport,
    out: str | os.PathLike[str],
    processes: int = 0,
    *,
    strip: bool = False,
    error_tracks: bool = False,
) -> WrittenTrace:
    """Write all files as one Perfetto trace.

    processes, strip, error_tracks: as of `merge`.

    Raises:
        UsageError: nothing ties a file to the first; `out` cannot be written.
        TraceError: a file is damaged. Whatever is raised, nothing is left of the output.
    """
    report.check_tied()
    with whole_file(file_target(out)) as part, part.open("wb") as file:
        sealed = SealedFile(file, _MARK)
        writer = _Writer(traces, StrippedFile(file) if strip else sealed)
        written = tuple(writer.write_all(processes))
        if error_tracks:
            file.flush()
            sealed.append(_error_tracks(part))
        return WrittenTrace(os.fspath(out), file.tell(), writer.target, written, writer.names)


def _error_tracks(path: Path) -> bytes:
    """The packets of the tracks of errors of a trace that is written."""
    with open_trace(path) as merged:
        content, tracks = with_error_tracks(merged)
        content.close()
    return b"".join(data for _, data in tracks.inserted)


class _RenumberingFile:
    """A file that renumbers packets before it writes them."""

    def __init__(self, file: Output, renumberer: Renumberer) -> None:
        self._file = file
        self._renumberer = renumberer

    def write(self, data: bytes) -> int:
        return self._file.write(self._renumberer.write(data))


class _Writer:
    """Writes one file after the other.

    Attributes:
        target: the clock of the output.
        names: what each machine of the output is called, by its machine_id.
    """

    def __init__(self, traces: MergedTraces, file: Output) -> None:
        self._traces = traces
        self._file = file
        self.target = target_of(traces)
        self._machines = [self._machines_of(one) for one in traces.files]
        files_of = Counter(m for own in self._machines for m in set(own))
        self.names = {machine: self._name_of(machine) for machine in files_of}
        self._shared = {machine for machine, n in files_of.items() if n > 1}
        self._renumberer = Renumberer(
            secrets.randbits(64),
            _HEAD,
            {machine: name.encode() for machine, name in self.names.items()},
            self._shared,
        )
        self._clocks = {machine: BakedClocks(_BOOTTIME, 0, _MARK, False) for machine in files_of}
        for clocks in self._clocks.values():
            # Every packet names the clock that its time is on.
            clocks.named_trace_clock = True
        homes = map(traces.home, range(len(traces.files)))
        cut = [(file.name, file.trace.truncated) for file in traces.files]
        truncated = "; ".join(f"{printable(name)}: {why}" for name, why in cut if why is not None)
        self._carrier = Carrier(traces.graph, self.target, homes, _MARK, truncated=truncated)
        self._free_pid = OutputNumbers().free_pid
        self._described: set[int] = set()
        self._processes: Processes[WrittenFile] | None = None
        self._begin()

    def _machines_of(self, file: MergedFile) -> list[int]:
        """The machine_id in the output of each machine of a file, by its index there."""
        boots = self._traces.boots
        own = [file.home.machine]
        if file.trace.packets is not None:
            own = list(range(len(file.trace.machines)))
        numbers = (boots.clock(file.number, ClockId(_BOOTTIME, machine=m)).machine for m in own)
        return [self._swapped(number) for number in numbers]

    def _name_of(self, machine: int) -> str:
        """The name of a machine of the output: the manifest's, or the files that it is in."""
        of = [
            (file, file.machine_names.get(n))
            for file, own in zip(self._traces.files, self._machines, strict=True)
            for n, number in enumerate(own)
            if number == machine
        ]
        named = (name for _, name in of if name is not None)
        return next(named, None) or names_of([file for file, _ in of])

    def _begin(self) -> None:
        """Write the packets about all files: that they are baked, and the trace clock."""
        first = self._traces.files[0]
        readings = [(_BOOTTIME, 0, 1)]
        self._clocks[0].converted = True
        keeps_snapshots = first.trace.packets is not None and self._is_boottime(first)
        if not keeps_snapshots and first.span is not None:
            at, wall = self._wall_time(first)
            if wall is not None and at >= 0 and wall >= 0:
                readings = [(_BOOTTIME, at, 1), (_REALTIME, wall, 1)]
                self._clocks[0].know(at, wall)
        self._file.write(packet_kernels.baked_packet(_MARK, b""))
        self._file.write(packet_kernels.snapshot_packet(_HEAD, _BOOTTIME, readings, b""))
        self._file.write(self._carrier.head(self._swapped, self._name_of_clock))

    def _swapped(self, machine: int) -> int:
        """The machine_id of a machine of the graph: the timeline's is 0."""
        here = self._traces.timeline.machine
        return {here: 0, 0: here}.get(machine, machine)

    def _name_of_clock(self, clock: ClockId) -> str:
        """The name of a clock, with the file or machine that it is of."""
        name, machine = self._traces.clocks.name(clock), self._swapped(clock.machine)
        own = clock.clock not in ONE_OSCILLATOR
        if machine not in self.names or clock.file >= len(self._traces.files):
            # What stands for UTC is of no file.
            return name
        of = self._traces.files[clock.file].name if own else self.names[machine]
        return f"{_PLACE.sub('', name)} of {of}"

    def _is_boottime(self, first: MergedFile) -> bool:
        """Whether the clock of the output is BOOTTIME of the first file, as its snapshots say."""
        clock = ClockId(_BOOTTIME, machine=first.home.machine)
        return self.target == self._traces.boots.clock(0, clock)

    def _wall_time(self, first: MergedFile) -> tuple[int, int | None]:
        """A time of the output, and the reading of REALTIME of its host then."""
        assert first.span is not None
        clocks, home = self._traces.clocks, self._traces.home(0)
        wall = ClockId(_REALTIME, machine=self._traces.timeline.machine)
        at = np.array([first.span[0]])
        if home != self.target:
            at = clocks.convert(at, home, self.target, policy="tube")
        there, known = known_of(clocks.convert(at, self.target, wall, policy="tube", errors="mask"))
        return int(at[0]), int(there[0]) if known[0] else None

    def write_all(self, processes: int) -> Iterator[WrittenFile]:
        """Write the packets of all files, in their order."""
        begun: dict[int, ThreadJob[WrittenFile]] = {}
        with ExitStack() as stack:
            threads = stack.enter_context(Threads())
            if processes and self._independent_bytes() >= _LEAST_FORKED:
                self._processes = stack.enter_context(Processes(self._bake_number, processes))
            for file in self._traces.files:
                for one in self._at_once(file):
                    if one.number not in begun:
                        begun[one.number] = threads.start(partial(self._bake_in_thread, one))
                yield self._write(file, begun.pop(file.number, None))

    def _at_once(self, file: MergedFile) -> list[MergedFile]:
        """The files to bake when one is next: it, and later ones that do not depend on it.

        What the output has of a machine's clocks matters to the next file of that machine.
        """
        some = self._traces.files[file.number : file.number + _AT_ONCE]
        seen: set[int] = set()
        for n, one in enumerate(some):
            if not seen.isdisjoint(self._machines[one.number]):
                some = some[:n]
                break
            seen.update(self._machines[one.number])
        return [one for one in some if one.trace.packets is not None and _has_events(one)]

    def _independent_bytes(self) -> int:
        """The size of the files that may be baked in other processes, bytes."""
        return sum(file.trace.size for file in self._traces.files if self._is_independent(file))

    def _is_independent(self, file: MergedFile) -> bool:
        """Whether baking a Perfetto trace changes nothing that other files need."""
        alone = self._shared.isdisjoint(self._machines[file.number])
        return alone and file.trace.packets is not None and _has_events(file)

    def _write(self, file: MergedFile, baked: ThreadJob[WrittenFile] | None) -> WrittenFile:
        """Write the packets of a file; files come in order."""
        trace, machines = file.trace, self._machines[file.number]
        if not _has_events(file):
            return WrittenFile(file.name, machines[0])
        own = trace.machines if trace.packets is not None else [0]
        # Packets without a machine are of the first one, if no other is the host.
        self._renumberer.begin({0: machines[0]} | dict(zip(own, machines, strict=True)))
        out = _RenumberingFile(self._file, self._renumberer)
        if baked is None:
            written = self._place(file, partial(self._write_events, file, machines[0], out))
        else:
            for packets in baked.pieces():
                out.write(packets)
            written = baked.result()
        self._renumberer.end()
        for machine in set(machines) - self._described:
            if machine not in self._renumberer.named:
                self._file.write(packet_kernels.machine_packet(machine, self.names[machine]))
        self._described |= set(machines)
        return written

    def _bake_in_thread(self, file: MergedFile, put: Callable[[bytes], None]) -> WrittenFile:
        """Make the packets of a Perfetto trace, in a thread: by another process if there is one."""
        if self._processes is None or not self._is_independent(file):
            return self._bake(file, put)

        def tell(at: int) -> None:
            for watch in file.trace.on_read:
                watch(at)

        with of_file(file.name):
            return self._processes.make(file.number, put, tell)

    def _bake_number(
        self, number: int, put: Callable[[bytes], None], tell: Callable[[int], None]
    ) -> WrittenFile:
        """Make the packets of a Perfetto trace in a forked process, by the number of its file."""
        file = self._traces.files[number]
        file.trace.on_read[:] = [tell]
        return self._bake(file, put)

    def _bake(self, file: MergedFile, put: Callable[[bytes], None]) -> WrittenFile:
        """Make the packets of a Perfetto trace."""
        return self._place(file, partial(self._bake_packets, file, put))

    def _place(self, file: MergedFile, write: Callable[[WrittenFile], None]) -> WrittenFile:
        """The outcome of a file that `write` writes, placed by the graph of all files."""
        written = WrittenFile(file.name, self._machines[file.number][0])
        placing = FilePlacing(self._traces, file.number, self.target)
        file.trace.placing = placing
        try:
            with of_file(file.name):
                write(written)
        finally:
            file.trace.placing = None
        written.carried = placing.carried
        placing.release()
        return written

    def _bake_packets(
        self, file: MergedFile, put: Callable[[bytes], None], written: WrittenFile
    ) -> None:
        trace, machines = file.trace, self._machines[file.number]
        assert trace.packets is not None
        clocks = [self._clocks[machine] for machine in machines]
        for one, machine_id in zip(clocks, trace.machines, strict=True):
            one.machine_id = machine_id
        if file.number == 0:
            self._clocks[0].is_home = self._is_boottime(file)
        baker = Baker(_BOOTTIME, trace.machines[0], _MARK, False, False, False, clocks)
        order = KeptOrder(_TRACK_EVENT)
        bars = trace._error_bars("estimated", {})
        read = trace.packets.in_source()
        for columns in trace.packets.observed(baker):
            placed = order.keep(columns, bars.place(read(columns)))
            placed = _from_zero(placed, written)
            there = {name: placed[name] for name in ("trace_time", "status")}
            put(baker.write(columns | there))
            put(self._carrier.of_packets(columns, placed, bars, _SERVICE_EVENT))
        # The packets after the last row.
        put(baker.write(Rows(1).take()))
        if file.number == 0:
            self._clocks[0].is_home = False
        rows = baker.rows
        written.unresolved, written.set_aside = rows.unresolved, rows.set_aside
        written.moved, written.stamped = rows.moved, rows.stamped
        written.rounded, written.kept, written.reversed = rows.rounded, order.kept, order.reversed

    def _write_events(
        self, file: MergedFile, machine: int, out: _RenumberingFile, written: WrittenFile
    ) -> None:
        place = OutputNumbers(clock=_BOOTTIME, snapshot=False, free_pid=self._free_pid)
        summary = write_events(file.trace, out, "tube", place=place, carrier=self._carrier)
        self._free_pid = summary.free_pid
        written.unresolved, written.left_out_by = summary.unresolved, summary.left_out
        written.left_out = sum(summary.left_out.values())
        written.early = summary.early
        written.kept, written.forced = summary.kept, summary.forced


def _has_events(file: MergedFile) -> bool:
    """Whether a file is written: the first always, which says what the trace clock is."""
    return file.span is not None or not file.number


def _from_zero(columns: Columns, written: WrittenFile) -> Columns:
    """The rows, without a time where that is before 0: Perfetto does not take it."""
    early = is_any_of(columns["status"], PLACED) & (columns["trace_time"] < 0)
    if not early.any():
        return columns
    written.early += int(np.count_nonzero(early))
    status = columns["status"].copy()
    status[early] = OVERFLOW
    return columns | {"status": status}


def names_of(files: Sequence[MergedFile]) -> str:
    """The name of a machine that some files are of: theirs, with their ranks."""
    names = [printable(file.name) + _rank(file) for file in files[:_MOST_NAMES]]
    if len(files) > _MOST_NAMES:
        names.append(f"{len(files) - _MOST_NAMES} more")
    return ", ".join(names)


def _rank(file: MergedFile) -> str:
    """The rank in the metadata of Kineto, as a suffix of the file's name."""
    job = file.trace.metadata.get("distributedInfo")
    rank = job.get("rank") if isinstance(job, dict) else None
    return f" (rank {rank})" if type(rank) is int and 0 <= rank < _MOST_RANK else ""
