"""The facts of a trace beside its events: most formats lack most of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from tracetime.clocks.domain import ClockDomain
from tracetime.clocks.ids import ClockId
from tracetime.clocks.kernel_clock import STA_UNSYNC
from tracetime.graph.arguments import PolicyName
from tracetime.graph.info import FlowCounts
from tracetime.trace.abilities import TraceAbilities
from tracetime.trace.notes import Note

if TYPE_CHECKING:
    from tracetime.clocks.json_types import Count


class TraceWarning(NamedTuple):
    """Something wrong in a trace that does not end its import.

    Attributes:
        message: what is wrong.
        offset: the byte of the uncompressed trace where it is.
        packet: the index of its packet, counted as in the events table.
    """

    message: str
    offset: Count
    packet: Count


class OddEvents(NamedTuple):
    """Events that cannot be right as the file has them, or that say less than they should.

    Attributes:
        kind: a part of the text of the doctor's finding `odd-spans`, or `odd-times`.
        what: they are, with their number.
        events: their number.
        packet, offset: of the first.
        worst_ns: by how much at most; 0 where there is no such.
    """

    kind: str
    what: str
    events: int
    packet: int
    offset: int
    worst_ns: int


class OffsetShift(NamedTuple):
    """A shift of the offsets measured of a clock, at once or slowly, as no clock drifts.

    Attributes:
        clock: which.
        by_ns: by how much at most; its assumed half-width holds that.
        packet: of the first measurement after the shift.
    """

    clock: ClockId
    by_ns: int
    packet: int


class WallClockContradiction(NamedTuple):
    """Bounds of a wall clock that no course of it fits.

    Attributes:
        clock: which.
        apart_ns: by how much the first of them is off.
        snapshot: the number of its snapshot.
    """

    clock: ClockId
    apart_ns: int
    snapshot: int


class EarlyKernels(NamedTuple):
    """Kernels of a GPU that begin before the call that launched them.

    Attributes:
        launched: how many kernels have a call in the file.
        kernels, calls: int64[2, n], of each such kernel, and of its call: packet and timestamp, ns.
    """

    launched: int
    kernels: npt.NDArray[np.int64]
    calls: npt.NDArray[np.int64]


class SnapshotFault(NamedTuple):
    """The fault of a snapshot that could not be taken whole.

    Attributes:
        fault: indexes `graph.arguments.SNAPSHOT_FAULTS`.
        packet, offset: of the snapshot.
        clock: which of its clocks it is about.
        fell_by_ns: how far the trace clock fell; 0 of other faults.
    """

    fault: int
    packet: int
    offset: int
    clock: ClockId
    fell_by_ns: int


class TraceClockMove(NamedTuple):
    """A move of trace time to the clock of another machine.

    Attributes:
        packet: the snapshot that did it.
        before: the clock that it was.
        is_late: whether conversions had begun.
    """

    packet: int
    before: ClockId
    is_late: bool


class LateSnapshots(NamedTuple):
    """Snapshots that the file has after events which were read later.

    Attributes:
        snapshots: how many.
        late_ns: by how much at most: what a clock read in an event before the snapshot, less what
            it reads in the snapshot.
        packet: of the snapshot that is so late.
    """

    snapshots: int
    late_ns: int
    packet: int


class WallClockBounds(NamedTuple):
    """The bounds of a wall clock by a time service while it was recorded.

    Attributes:
        clock: the wall clock.
        source: the service: `clockbound`, `chrony`, `ptp4l`, `adjtimex`, or `another service`.
        snapshots: at how many snapshots it bounded the clock.
        within_ns: how far from UTC the clock was at most at these, ns.
    """

    clock: ClockId
    source: str
    snapshots: Count
    within_ns: Count


class UnusedBounds(NamedTuple):
    """Readings of messages between machines that bound nothing.

    Attributes:
        clock: on the client's machine.
        unused: how many bounds make no sense: a clock fell from one round to the next, or did
            not advance.
        used: how many others there are.
        packet: of the first message with such.
    """

    clock: ClockId
    unused: int
    used: int
    packet: int


class WrittenTimes(NamedTuple):
    """The reading of a file that writes times as decimal numbers.

    Attributes:
        moved: events that floor, as Perfetto does, places elsewhere than their text says.
        moved_ns: by how much at most.
        unreadable: events that have no time that can be read, and so no row.
    """

    moved: int
    moved_ns: int
    unreadable: int


_WARNED: Final = ("parts-passed-over", "odd-spans", "events-without-time", "ends-before-begins")
"""Of these, what notes say of events is a warning of the import, too."""


class TraceFacts(TraceAbilities):
    """The facts of a trace, with defaults where its format lacks them.

    A format gives `notes`; what else is here and not overridden is a view of these.
    """

    def notes(self, code: str) -> Iterator[Note]:
        """Yield the facts of the file from which the doctor makes findings, or parts of them.

        Args:
            code: of the finding.
        """
        return iter(())

    def read_notes(self, code: str) -> Iterator[Note]:
        """Yield further notes, which take another reading of the file."""
        return iter(())

    @property
    def recorded_domains(self) -> dict[ClockId, ClockDomain]:
        """The properties of clocks that the trace itself gives, by clock.

        `ns_per_tick` and `valid_bits` are those of the clock's own ticks; timestamps of the trace,
        and so of `clocks`, are in ns and unwrapped all the same.
        """
        return {}

    @property
    def late_trace_clock(self) -> tuple[int, ClockId] | None:
        """The first packet that names another trace clock after conversions began, and it."""
        found = next(self.notes("trace-clock-changed-late"), None)
        return None if found is None else (found.packets[0], found.clocks[0])

    @property
    def trace_clock_moves(self) -> list[TraceClockMove]:
        """The snapshots of other machines that moved trace time to their own clock; 100 at most.

        Of more than 100, the first and the last.
        """
        return [
            TraceClockMove(note.packets[0], note.clocks[0], note.values["is_late"])
            for note in _of(self.notes("trace-clock-moved"), "move")
        ]

    @property
    def n_stray_syncs(self) -> int:
        """The number of clocks of a machine that were tied to a third machine, not to the host."""
        return _events(_of(self.notes("trace-clock-moved"), "stray"))

    @property
    def n_own_syncs(self) -> int:
        """The number of warnings on messages that tied a clock to itself."""
        return _events(_of(self.notes("trace-clock-moved"), "own"))

    @property
    def late_snapshots(self) -> LateSnapshots | None:
        """Snapshots that follow events which they would have placed; None without any.

        Where events are converted by what has been read, such events take an older offset.
        """
        found = next(self.notes("snapshots-late"), None)
        if found is None:
            return None
        return LateSnapshots(found.values["snapshots"], found.size_ns or 0, found.packets[0])

    @property
    def unused_bounds(self) -> list[UnusedBounds]:
        """Messages between machines that bound nothing: a clock fell or stopped between them."""
        return [
            UnusedBounds(
                note.clocks[0], note.values["unused"], note.values["used"], note.packets[0]
            )
            for note in self.notes("machine-sync-unusable")
        ]

    @property
    def round_orders(self) -> int:
        """The number of the first orders of `clocks` that are rounds between machines."""
        return 0

    @property
    def has_remote_syncs(self) -> bool:
        """Whether machines may exchange readings in files of this format (RemoteClockSync)."""
        return self.packets is not None

    @property
    def flows(self) -> FlowCounts | None:
        """The flows between machines that are orders; None where `open_trace` is not asked for."""
        return None

    @property
    def metadata(self) -> Mapping[str, object]:
        """The metadata of the file beside its events and clocks, in the types of JSON."""
        return {}

    @property
    def format(self) -> str:
        """The format of the file, as its users call it."""
        return self.FORMAT

    @property
    def about(self) -> str:
        """The subject of the trace, in a few words; empty where the file does not say."""
        return ""

    @property
    def written_times(self) -> WrittenTimes | None:
        """The reading of times that are decimal numbers; None where the format has none.

        Reads the file.
        """
        if self.perfetto_reads != "json":
            return None
        moved = next(_of(self.read_notes("times-rounded"), "floor", "apart"), None)
        by = (0, 0) if moved is None else (moved.events or 0, moved.size_ns or 0)
        return WrittenTimes(*by, _events(self.notes("events-without-time")))

    @property
    def coarse_step_ns(self) -> int:
        """The longest resolution, ns, of times whose bars hold it: longer than the file's unit.

        0 where none is known.
        """
        found = next(self.notes("times-rounded"), None)
        return 0 if found is None else found.size_ns or 0

    def halves_of_slices(self) -> tuple[int, int]:
        """The number of events that end a slice that has not begun, and of slices that do not end.

        Reads the file; 0 and 0 in formats in which that is no fault, and of very many events.
        """
        found = next(self.read_notes("parts-passed-over"), None)
        return (0, 0) if found is None else (found.values["ends"], found.values["begins"])

    def overlaps_by_rounding(self) -> int:
        """The number of complete events that cross others only by Perfetto's rounding.

        By their exact times they lie within the others, or beside them. Reads the file.
        """
        return 0

    def early_kernels(self) -> EarlyKernels | None:
        """Kernels of a GPU that begin before their call. Reads the file, if it may have some."""
        notes = self.read_notes("effect-before-cause")
        found = next((note for note in notes if note.kind == "launched"), None)
        if found is None:
            return None
        return EarlyKernels(found.values["launched"], *found.values["early"])

    @property
    def passed_over(self) -> list[TraceWarning]:
        """The parts of the file that are not read, or not as they may be meant."""
        return _warnings(self.notes("parts-passed-over"))

    @property
    def shifted_offsets(self) -> list[OffsetShift]:
        """The clocks whose offsets shift, where a recorder measures them by messages."""
        return [
            OffsetShift(note.clocks[0], note.size_ns or 0, note.packets[0])
            for note in self.notes("offsets-shifted")
        ]

    @property
    def events_dropped(self) -> int:
        """The number of events that the recorder says it dropped; 0 where it does not say."""
        return _events(self.notes("events-dropped"))

    @property
    def dropped_packet(self) -> int | None:
        """The packet of the first snapshot that says that events were dropped."""
        found = next(self.notes("events-dropped"), None)
        return None if found is None else found.packet

    @property
    def events_backwards(self) -> int:
        """The number of events earlier than one before them, where the format forbids it."""
        return _events(self.notes("stream-backwards"))

    @property
    def backwards_packet(self) -> int | None:
        """The packet of the first event that is earlier than one before it."""
        found = next(self.notes("stream-backwards"), None)
        return None if found is None else found.packet

    @property
    def streams_backwards(self) -> list[str]:
        """The names of the streams with events that are earlier than one before them."""
        found = next(self.notes("stream-backwards"), None)
        return [] if found is None else list(found.values["streams"])

    @property
    def odd_events(self) -> list[OddEvents]:
        """Events that cannot be right as the file has them, by the kind of fault."""
        return [
            OddEvents(
                note.kind,
                note.values["what"],
                note.events or 0,
                note.packets[0],
                note.offset,
                note.size_ns or 0,
            )
            for code in ("odd-spans", "odd-times")
            for note in self.notes(code)
        ]

    @property
    def placed_by(self) -> PolicyName | None:
        """The policy by which events came to trace time before the file was written, if they did.

        They have no snapshots any more, and stay where they are by any policy.
        """
        found = next(self.notes("placed-before"), None)
        return None if found is None else found.values["policy"]

    @property
    def events_without_time(self) -> int:
        """The number of events without a time, which have no row, where the format allows it."""
        return _events(_of(self.notes("events-without-time"), "null"))

    @property
    def ends_before_begins(self) -> int:
        """The number of events that end before they begin, where the format has both in one."""
        return _events(self.notes("ends-before-begins"))

    @property
    def wall_clock_bounds(self) -> list[WallClockBounds]:
        """The bounds of wall clocks against UTC by time services; empty without any."""
        return []

    @property
    def wall_clock_contradictions(self) -> list[WallClockContradiction]:
        """Machines whose time service contradicts itself, once each."""
        return [
            WallClockContradiction(note.clocks[0], note.size_ns or 0, note.values["snapshot"])
            for note in self.notes("time-service-contradicts")
        ]

    @property
    def is_unsynchronised(self) -> bool:
        """Whether the kernel said, in a recorded snapshot, that nothing keeps its time (NTP, PTP).

        adjtimex(2), STA_UNSYNC. False where the trace does not say, and where a time service
        bounded that snapshot: not all that bound a clock steer it.
        """
        snapshots, _, status, *_ = self.kernel_reads()
        return not set(snapshots[status & STA_UNSYNC != 0]) <= set(self.wall_bounds()[0])

    @property
    def faults(self) -> list[SnapshotFault]:
        """The fault of each of `warnings`."""
        return []

    @property
    def warnings(self) -> list[TraceWarning]:
        """Snapshots that could not be taken whole, in file order; the first hundred.

        Of formats without any: what is passed over, or odd.
        """
        return _warnings(chain.from_iterable(map(self.notes, _WARNED)))

    @property
    def n_warnings(self) -> int:
        """The number of all warnings."""
        return len(self.warnings)


class FactsOf:
    """A view of a trace that has its facts, and lists them."""

    def __init__(self, trace: TraceFacts) -> None:
        self._trace = trace

    def __dir__(self) -> list[str]:
        facts = {*vars(TraceFacts), *vars(TraceAbilities)}
        return sorted(name for name in facts if not name.startswith("_"))

    def __getattr__(self, name: str) -> object:
        if name not in dir(self):
            raise AttributeError(f"a trace has no fact {name!r}")
        return getattr(self._trace, name)

    def __repr__(self) -> str:
        return f"<Facts of {self._trace!r}>"


def _warnings(notes: Iterable[Note]) -> list[TraceWarning]:
    """Return a warning for each of some notes, with the first event that it is about."""
    return [
        TraceWarning(note.values["what"], note.offset, note.values.get("first", note.packet or 0))
        for note in notes
        if "what" in note.values
    ]


def _of(notes: Iterator[Note], *kinds: str) -> Iterator[Note]:
    """Yield the notes of some kinds."""
    return (note for note in notes if note.kind in kinds)


def _events(notes: Iterator[Note]) -> int:
    """Return the number of events that notes are about."""
    return sum(note.events or 0 for note in notes)
