"""`TraceWriter`: writes a Perfetto trace of snapshots, tracks, and events of any clock in them.

It reads no clock and starts no thread: capture/ does. `_kernels/perfetto/writer.pyx` (events) and
`_kernels/perfetto/packets.pyx` make the bytes, output.py puts them into the file.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable, Iterable, Mapping
from numbers import Integral
from typing import Final, NamedTuple

from tracetime._kernels.perfetto import packets
from tracetime._kernels.perfetto.writer import EventWriter, PacketBuffer, TimestampError
from tracetime.clocks.domain import ClockDomain
from tracetime.clocks.ids import ClockId, ClockLike
from tracetime.clocks.kernel_clock import KernelClock, WallBound
from tracetime.clocks.snapshot import INT64_MAX, Snapshot
from tracetime.errors import UsageError
from tracetime.formats.perfetto.write.clocks import RecordedClocks
from tracetime.formats.perfetto.write.details import plain_details
from tracetime.formats.perfetto.write.joining import Joining
from tracetime.formats.perfetto.write.output import TraceOutput
from tracetime.formats.perfetto.write.snapshots import (
    Circumstances,
    SnapshotPackets,
    dropped_packet,
)
from tracetime.formats.perfetto.write.tracks import Tracks

BUFFER_BYTES: Final = 64 << 20
FLUSH_BYTES: Final = 1 << 20
# Room beyond max_size's events for the last snapshot, and for the count of lost events.
_KEPT_FOR_END: Final = 4096
# Calls of one thread that wait for another's flush: one, and one of a handler that interrupts it.
_MOST_WAITING: Final = 2


class PartOf(NamedTuple):
    """The properties of a part of a recording.

    Attributes:
        owner: of the recording's tracks, which can be used in the part.
        first_track: the number before its first track's: no other track of the recording has them.
        label: ends the names of its clocks but the kernel's: each process has its own.
    """

    owner: object
    first_track: int
    label: str


class TraceWriter:
    """A trace file with its clocks, tracks and events.

    Threads may share it. Events wait in memory until `flush`. If more than `buffer_bytes` wait,
    events are dropped, and counted in the trace; snapshots and tracks never are. Once `max_size` is
    reached only main snapshots are written: take the last one at the end.

    Attributes:
        path: of the file.
        sync: whether flushes wait for the disk.
        owner: of the tracks.
        begin_part: called in a forked child; returns the writer of its part, or None.
        after_fork: called in a forked child.
        events: writes events; `Recorder` documents the arguments. Each method returns whether it is
            time to flush.

    Args:
        path: of the file; the first flush replaces an existing one.
        overwrite: whether an existing file that is not empty may be replaced.
        sync: whether flushes wait for the disk.
        max_size: bytes that the file may have; None for no limit.
        buffer_bytes: bytes that may wait for the disk before events are dropped.
        part: where it is a part of a recording.
        flush_bytes: waiting bytes at which an event's method returns that it is time to flush.

    Raises:
        UsageError: the file cannot be made, belongs to another recording or is to be kept; or a
            size is no number, too small or too large.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        overwrite: bool = True,
        sync: bool = False,
        max_size: int | None = None,
        buffer_bytes: int = BUFFER_BYTES,
        flush_bytes: int = FLUSH_BYTES,
        part: PartOf | None = None,
    ) -> None:
        sizes = {"max_size": max_size, "buffer_bytes": buffer_bytes, "flush_bytes": flush_bytes}
        for what, size in sizes.items():
            if size is not None and not (isinstance(size, Integral) and size <= INT64_MAX):
                raise UsageError(f"{what} is {size!r}: use a whole number within int64")
        if max_size is not None and max_size < 4 * _KEPT_FOR_END:
            raise UsageError(f"max_size is {max_size}: use {4 * _KEPT_FOR_END} bytes or more")
        if buffer_bytes < 4096 or flush_bytes < 1:
            raise UsageError("buffer_bytes is 4096 or more, flush_bytes 1 or more")
        self._buffer = PacketBuffer(
            buffer_bytes, 0 if max_size is None else max_size - _KEPT_FOR_END, flush_bytes
        )
        self._output = TraceOutput(
            path, self._buffer.take, self._buffer.written, overwrite=overwrite, sync=sync
        )
        self.path = self._output.path
        self.sync = sync
        part = PartOf(object(), 0, "") if part is None else part
        self._clocks = RecordedClocks(self._buffer, part.label)
        self._snapshots = SnapshotPackets(self._clocks)
        self.owner = part.owner
        self.events = EventWriter(
            self._buffer, self._clocks.event_clock, plain_details, _usage, self.owner
        )
        self._tracks = Tracks(
            self._buffer, self.owner, part.first_track, of_process=bool(part.label)
        )
        self.begin_part: Callable[[], TraceWriter | None] = _nothing
        self.after_fork: Callable[[], None] = _nothing
        # A signal's handler may record and flush while it interrupts the same.
        self._lock = threading.RLock()
        self._flushing = threading.RLock()
        self._waiting: dict[int, int] = {}
        self._writing = self._again = False
        self._closed = False
        self._process = os.getpid()
        self._part_sequences = 0
        self._clocks.snapshot_sequence.begin()
        _WRITERS.add(self)

    def _abandon(self) -> None:
        """Give up the parent's file in a forked child: threads that hold locks are missing."""
        self._lock = threading.RLock()
        self._tracks.abandon()
        self._flushing = threading.RLock()
        self._waiting = {}
        self._buffer.abandon()
        # The kernel's lock is the parent's: this process must not keep it.
        self._output.abandon()
        self.events.abandon(self._part_events)
        self.after_fork()

    def _part_events(self) -> EventWriter | None:
        part = self.begin_part()
        return None if part is None else part.events

    @property
    def tracks(self) -> Tracks:
        """The tracks for events; in a forked child those of its part."""
        part = self.begin_part() if self.forked else None
        return self._tracks if part is None else part.tracks

    @property
    def sequences(self) -> int:
        """The number of its packet sequences."""
        return self._clocks.sequences + self._part_sequences

    # Clocks

    def declare(self, domain: ClockDomain, short_name: str | None = None) -> ClockId:
        """Make a clock known, before its first reading; returns the id that is written.

        As `RecordedClocks.declare`, which documents the errors.
        """
        with self._lock:
            return self._clocks.declare(domain, short_name).written

    def clock(self, clock: ClockLike) -> ClockId:
        """The clock that a caller named; see `RecordedClocks.clock`."""
        return self._clocks.clock(clock)

    def written(self, clock: ClockLike | None) -> ClockId:
        """The id of a clock in the trace; see `RecordedClocks.written`."""
        return self._clocks.written(clock)

    @property
    def trace_clock(self) -> ClockId | None:
        """The clock of trace time; None before the first snapshot."""
        return self._clocks.trace_clock

    def note_boot(self, boot_id: bytes) -> None:
        """Say which boot of its machine the kernel's clocks are of; nothing where that is empty."""
        if boot_id:
            self._buffer.put(packets.boot_packet(boot_id), False)

    def put(self, made: bytes) -> bool:
        """Write packets that another room has made; returns whether `max_size` leaves room."""
        with self._lock:
            if not self._buffer.has_room(len(made)):
                return False
            self._buffer.put(made, False)
            return True

    # Snapshots

    def snapshot(
        self,
        snapshot: Snapshot,
        *,
        counts: Mapping[ClockId, tuple[int, int]] | None = None,
        kernel_clock: KernelClock | None = None,
        wall_bound: WallBound | None = None,
        main: bool = False,
        names: Mapping[ClockId, str] | None = None,
    ) -> bool:
        """Write readings of clocks that belong together; whether it is time to flush.

        Args:
            snapshot: single readings, in each clock's ticks. A clock that was not declared gets the
                properties of its kind.
            counts: for clocks whose reading is in ns already: the ticks as read, and unwrapped.
            kernel_clock: how the kernel steered its clocks then.
            wall_bound: what bounded REALTIME then.
            main: whether it is one of the regular ones, by which events are converted.
            names: what the caller called the clocks.

        Raises:
            UsageError: several snapshots at once, an incremental clock, one that cannot be
                declared, a reading out of range.
        """
        if any(reading.length is not None for reading in snapshot.readings.values()):
            raise UsageError("one snapshot at a time: readings are single values, not arrays")
        if any(reading.incremental for reading in snapshot.readings.values()):
            raise UsageError("incremental clocks are not recorded: give absolute readings")
        with self._lock:
            try:
                packet = self._snapshots.packet(
                    snapshot,
                    counts or {},
                    main,
                    names or {},
                    Circumstances(kernel_clock, wall_bound, self._buffer.dropped),
                )
                if not main and not self._buffer.has_room(len(packet)):
                    return False
                full = self._buffer.put(packet)
                self._clocks.tie(snapshot.clocks)
            except (TimestampError, TypeError, OverflowError) as error:
                raise UsageError(str(error)) from error
            self._snapshots.count += 1
            return full

    def join(self, paths: Iterable[str], sampled: set[int]) -> Joining:
        """Add the parts of other processes, by the `run` of what is returned.

        Args:
            paths: of the parts.
            sampled: snapshots of these clocks alone are left out.

        Raises:
            OSError: a part cannot be read.
        """
        limit = self._buffer.size_limit
        room = limit - self._buffer.total if limit else None
        joining = Joining(self._buffer, paths, self.sequences, sampled, room)
        self._part_sequences += joining.sequences
        return joining

    def go_back(self, size: int) -> None:
        """Give up all that came after the first `size` bytes of the file.

        Raises:
            UsageError: the file cannot be cut.
        """
        with self._flushing:
            self._output.go_back(size)
            self._buffer.go_back(size)

    # The file

    @property
    def events_dropped(self) -> int:
        """Events that were not written, because the disk was slow or the file was full."""
        return self._buffer.dropped

    @property
    def snapshots(self) -> int:
        """Snapshots written so far."""
        return self._snapshots.count

    @property
    def size(self) -> int:
        """Bytes in the file."""
        return self._output.size

    @property
    def full(self) -> bool:
        """Whether `max_size` leaves only the room for the end."""
        limit = self._buffer.size_limit
        return 0 < limit <= self._buffer.total

    @property
    def forked(self) -> bool:
        """Whether this is a forked child, with a copy of the parent's buffer and file."""
        return os.getpid() != self._process

    def flush(self, *, wait: bool = True) -> None:
        """Put all that waits into the file: from then on it survives the end of this process.

        Args:
            wait: for a flush that is in progress; else nothing is done then, and the next event
                requests a flush again.

        Raises:
            UsageError: the file cannot be written. What is in it is a whole trace; the rest waits,
                and is tried again at the next flush.
        """
        thread = threading.get_ident()
        waiting = self._waiting.get(thread, 0)
        # While a handler waits for another thread's flush, further signals may come: their handlers
        # would wait within each other without end. The calls that wait flush their events, too.
        if (self._writing and not wait) or waiting >= _MOST_WAITING:
            return
        try:
            self._waiting[thread] = waiting + 1
            with self._flushing:
                self._waiting[thread] = waiting
                if self._writing:
                    # A signal's handler: the flush that it interrupted may never go on.
                    self._again = True
                    self._output.write_ahead()
                elif not self._closed and not self.forked:
                    self._write()
        finally:
            if waiting:
                self._waiting[thread] = waiting
            else:
                self._waiting.pop(thread, None)

    def _write(self) -> None:
        self._again = True
        while self._again:
            self._again, self._writing = False, True
            try:
                self._output.write()
            finally:
                self._writing = False

    def close(self) -> None:
        """Flush, and close the file; not for a signal's handler that interrupts a flush.

        If an exception of a handler breaks it off, the next call continues.

        Raises:
            UsageError: the file cannot be written; it is closed all the same.
        """
        with self._flushing:
            self._closed = True
            self._buffer.close()
            if self._output.closed:
                return
            try:
                self._write()
            except UsageError as error:
                raise self._end_short(error) from error
            self._output.close()

    def _end_short(self, error: UsageError) -> UsageError:
        """Close the file with a count of the lost events; returns the error to raise."""
        events = 0

        def last(lost: Iterable[memoryview]) -> bytes:
            nonlocal events
            events = sum(map(packets.events_in, lost))
            dropped = self._buffer.dropped + events
            return dropped_packet(dropped) if dropped else b""

        self._output.end_short(last)
        self._buffer.lose(events)
        cause = error.__cause__
        reason = self._output.too_large(cause) if isinstance(cause, OSError) else error
        self._output.close()
        if not self._buffer.in_flight:
            return reason
        among = "1 event" if events == 1 else f"{events:,} events"
        return UsageError(
            f"{reason}; {self._buffer.in_flight} bytes of the recording are lost, "
            f"{among} among them"
        )

    def discard(self) -> None:
        """Close the file without what waits; if nothing was flushed, it is as it was before."""
        with self._flushing:
            self._closed = True
            self._buffer.close()
            self._output.close()


_WRITERS: Final[weakref.WeakSet[TraceWriter]] = weakref.WeakSet()


def _nothing() -> None:
    pass


def _abandon_all() -> None:
    for writer in list(_WRITERS):
        writer._abandon()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_abandon_all)


def _usage(error: Exception, timestamp: object) -> UsageError:
    """The error to raise for an error of the kernel."""
    if isinstance(error, TimestampError):
        return UsageError(str(error))
    if isinstance(error, UnicodeEncodeError):
        return UsageError(f"an event's name is text that UTF-8 can hold: {error}")
    return UsageError(
        f"an event takes a timestamp that is a whole number within int64, and its track ({error}; "
        f"the timestamp is {timestamp!r})"
    )
