"""A Perfetto trace being written: snapshots, tracks, and events of any clock that snapshots tie in.

Nothing here reads a clock or starts a thread: that is capture/recorder.py's. Bytes are made in
`_kernels/perfetto/writer.pyx` (events) and `_kernels/perfetto/packets.pyx`, and put into the file
by output.py.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import threading
import warnings
import weakref
from collections.abc import Iterable, Mapping
from numbers import Integral
from typing import Any, Final

from tracetime._kernels.perfetto import packets
from tracetime._kernels.perfetto.writer import (
    EventWriter,
    PacketBuffer,
    TimestampError,
    Track,
)
from tracetime.clocks.domain import ClockDomain
from tracetime.clocks.ids import ClockId, ClockLike
from tracetime.clocks.kernel_clock import KernelClock
from tracetime.clocks.snapshot import INT64_MAX, Snapshot
from tracetime.errors import UsageError
from tracetime.formats.perfetto.write.clocks import SNAPSHOT_SEQUENCE, RecordedClocks
from tracetime.formats.perfetto.write.output import TraceOutput
from tracetime.formats.perfetto.write.snapshots import SnapshotPackets, dropped_packet

BUFFER_BYTES: Final = 64 << 20
FLUSH_BYTES: Final = 1 << 20
# How the kernels refuse what a caller gave; a name may have halves of surrogate pairs in it.
_REFUSED: Final = (TimestampError, TypeError, OverflowError, UnicodeEncodeError)
# What the last snapshot and what is lost at the end may take beyond max_size's events.
_KEPT_FOR_END: Final = 4096
# Calls of one thread that wait for another's flush: one, and that of a handler which interrupts it.
_MOST_WAITING: Final = 2


class TraceWriter:
    """A trace file with its clocks, tracks and events.

    Threads may share one. Events wait in memory until `flush`; where more than `buffer_bytes` wait
    they are dropped, and counted in the trace, snapshots and tracks never. Once `max_size` is
    reached only main snapshots get in: leave them to the end.

    Attributes:
        path: of the file.

    Args:
        path: of the file; one that is there is replaced by the first flush.
        overwrite: whether it may be, where it holds anything.
        sync: whether flushes wait for the disk.
        max_size: bytes that the file may have; None for as many as it takes.
        buffer_bytes: bytes that may wait for the disk, before events are dropped.
        flush_bytes: bytes waiting at which an event's method says that it is time to flush.

    Raises:
        UsageError: the file cannot be made, is another recording's or to be kept; or a size is no
            number, too small or too large.
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
        self._clocks = RecordedClocks(self._buffer)
        self._snapshots = SnapshotPackets(self._clocks)
        self._own = object()
        self._events: EventWriter | _ForkedEvents = EventWriter(
            self._buffer, self._clocks.event_clock, self._own
        )
        self._tracks: dict[tuple[Any, ...], Track] = {}
        self._track_numbers = itertools.count(1)
        # A signal's handler may record, too, and flush, while what it interrupts does the same.
        self._lock = threading.RLock()
        self._tracking = threading.RLock()
        self._flushing = threading.RLock()
        self._waiting: dict[int, int] = {}
        self._at_it = self._again = False
        self._closed = False
        self._process = os.getpid()
        self._clocks.snapshot_sequence.begin()
        _WRITERS.add(self)

    def _abandon(self) -> None:
        """In a forked child: the file is the parent's, and what holds a lock there is not here."""
        self._lock = threading.RLock()
        self._tracking = threading.RLock()
        self._flushing = threading.RLock()
        self._waiting = {}
        self._buffer.abandon()
        # The kernel's lock is the parent's alone: it must not live on in here.
        self._output.abandon()
        self._events = _ForkedEvents(self.path)

    # Clocks

    def declare(self, domain: ClockDomain, short_name: str | None = None) -> ClockId:
        """Make a clock known, before its first reading; returns what it is written as.

        As `RecordedClocks.declare`, which says what it raises.
        """
        with self._lock:
            return self._clocks.declare(domain, short_name).written

    def clock(self, clock: ClockLike) -> ClockId:
        """The clock that a caller named; see `RecordedClocks.clock`."""
        return self._clocks.clock(clock)

    def written(self, clock: ClockLike | None) -> ClockId:
        """The id under which a clock stands in the trace; see `RecordedClocks.written`."""
        return self._clocks.written(clock)

    @property
    def trace_clock(self) -> ClockId | None:
        """What trace time is; None before the first snapshot."""
        return self._clocks.trace_clock

    # Snapshots

    def snapshot(
        self,
        snapshot: Snapshot,
        *,
        counts: Mapping[ClockId, tuple[int, int]] | None = None,
        kernel_clock: KernelClock | None = None,
        main: bool = False,
        names: Mapping[ClockId, str] | None = None,
    ) -> bool:
        """Write readings of clocks that belong together; whether it is time to flush.

        Args:
            snapshot: single readings, in each clock's ticks. A clock that nobody has declared is
                taken for what its kind is.
            counts: clocks whose reading is in ns already, with the ticks that they said and the
                same unwrapped.
            kernel_clock: how the kernel steered its clocks then.
            main: whether it is one of the regular ones, by which everything is converted.
            names: what the caller called clocks by.

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
                    snapshot, counts or {}, kernel_clock, main, names or {}, self._buffer.dropped
                )
                if not main and not self._buffer.has_room(len(packet)):
                    return False
                full = self._buffer.put(packet)
            except (TimestampError, TypeError, OverflowError) as error:
                raise UsageError(str(error)) from error
            self._snapshots.count += 1
            return full

    # Tracks

    def process_track(self, pid: int | None = None, name: str | None = None) -> Track:
        """The track of a process: this one's, if no pid is given."""
        pid = os.getpid() if pid is None else _number(pid, "pid")
        return self._track((packets.PROCESS, pid), packets.PROCESS, name, pid=pid)

    def thread_track(
        self, tid: int | None = None, name: str | None = None, *, pid: int | None = None
    ) -> Track:
        """The track of a thread: the calling one's, if no tid is given."""
        if tid is None:
            tid, name = threading.get_native_id(), name or threading.current_thread().name
        pid = os.getpid() if pid is None else _number(pid, "pid")
        tid = _number(tid, "tid")
        return self._track((packets.THREAD, pid, tid), packets.THREAD, name, pid=pid, tid=tid)

    def track(self, name: str, parent: Track | None = None) -> Track:
        """A track by its own name, in another one if `parent` is given."""
        self._check_place(name, parent)
        return self._track((packets.CUSTOM, name, parent), packets.CUSTOM, name, parent)

    def counter_track(
        self, name: str, unit: str | None = None, parent: Track | None = None
    ) -> Track:
        """A track that holds the values of a counter; unit is what they are called."""
        self._check_place(name, parent)
        return self._track((packets.COUNTER, name, parent), packets.COUNTER, name, parent, unit)

    def _track(
        self,
        key: tuple[Any, ...],
        kind: int,
        name: str | None,
        parent: Track | None = None,
        unit: str | None = None,
        *,
        pid: int = 0,
        tid: int = 0,
    ) -> Track:
        """The track of that key, made and written where it is new, or has its first name now."""
        settled = self._settled(key, name)
        if settled is None:
            with self._tracking:
                settled = self._settled(key, name)
                if settled is None:
                    settled = self._make_track(key, kind, name, parent, unit, pid, tid)
        return settled

    def _settled(self, key: tuple[Any, ...], name: str | None) -> Track | None:
        """The track of that key, if there is nothing to write of it."""
        found = self._tracks.get(key)
        return None if found is None or (found.name is None and name is not None) else found

    def _make_track(
        self,
        key: tuple[Any, ...],
        kind: int,
        name: str | None,
        parent: Track | None,
        unit: str | None,
        pid: int,
        tid: int,
    ) -> Track:
        if name is not None:
            _check_name(name)
        if unit is not None and not isinstance(unit, str):
            raise UsageError(f"a counter's unit is a string, not {unit!r}")
        found = self._tracks.get(key)
        number = next(self._track_numbers) if found is None else found.uuid
        made = Track(self._own, number, name, kind == packets.COUNTER)
        packet = packets.track_packet(
            SNAPSHOT_SEQUENCE,
            made.uuid,
            0 if parent is None else parent.uuid,
            kind,
            name,
            pid,
            tid,
            unit,
        )
        try:
            # Where a track no longer fits, its events do not either.
            if self._buffer.has_room(len(packet)):
                self._buffer.put(packet, asks=False)
        except TimestampError as error:
            raise UsageError(str(error)) from error
        if found is None:
            # A signal's handler may have made it meanwhile.
            return self._tracks.setdefault(key, made)
        self._tracks[key] = made
        return made

    def _check_place(self, name: Any, parent: Any) -> None:
        _check_name(name)
        if parent is not None and not isinstance(parent, Track):
            raise UsageError(f"a parent is a track that track() gave, not {parent!r}")
        if parent is not None and parent.writer is not self._own:
            raise UsageError(f"{parent!r} is another recording's: make it with this one")

    # Events: see `Recorder` for what the arguments are. Each says whether it is time to flush.

    def instant(
        self, name: str, timestamp: int | None, clock: ClockLike | None, track: Track
    ) -> bool:
        try:
            return self._events.instant(name, timestamp, clock, track)
        except _REFUSED as error:
            raise _usage(error, timestamp) from error

    def begin(
        self, name: str, timestamp: int | None, clock: ClockLike | None, track: Track
    ) -> bool:
        try:
            return self._events.begin(name, timestamp, clock, track)
        except _REFUSED as error:
            raise _usage(error, timestamp) from error

    def end(self, timestamp: int | None, clock: ClockLike | None, track: Track) -> bool:
        try:
            return self._events.end(timestamp, clock, track)
        except _REFUSED as error:
            raise _usage(error, timestamp) from error

    def counter(
        self, value: float, timestamp: int | None, clock: ClockLike | None, track: Track
    ) -> bool:
        try:
            return self._events.counter(value, timestamp, clock, track)
        except _REFUSED as error:
            raise _usage(error, timestamp) from error

    # The file

    @property
    def events_dropped(self) -> int:
        """Events that were not written, because the disk was slow or the file full."""
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
    def waiting(self) -> int:
        """Bytes that are not in the file yet."""
        return len(self._buffer) + self._buffer.in_flight

    @property
    def full(self) -> bool:
        """Whether `max_size` leaves no room but for the end."""
        limit = self._buffer.size_limit
        return 0 < limit <= self._buffer.total

    @property
    def forked(self) -> bool:
        """Whether this is a forked child: with a copy of what waits, and the parent's place in the
        file."""
        return os.getpid() != self._process

    def flush(self, *, wait: bool = True) -> None:
        """Put all that waits into the file: it survives the end of this process from then on.

        Args:
            wait: for a flush that is under way; else nothing is done, and who records next is asked
                to flush again.

        Raises:
            UsageError: the file cannot be written; what is in it is a whole trace, the rest
                waits, and is tried again at the next flush.
        """
        thread = threading.get_ident()
        waiting = self._waiting.get(thread, 0)
        # Handlers of signals that come while a handler waits for another thread's flush would wait
        # within each other without end: what they recorded, those before them flush.
        if (self._at_it and not wait) or waiting >= _MOST_WAITING:
            return
        try:
            self._waiting[thread] = waiting + 1
            with self._flushing:
                self._waiting[thread] = waiting
                if self._at_it:
                    # A signal's handler: what it interrupted goes on with what there is now.
                    self._again = True
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
            self._again, self._at_it = False, True
            try:
                self._output.write()
            finally:
                self._at_it = False

    def close(self) -> None:
        """Flush, and give the file back; not for a signal's handler that interrupts a flush.

        Where something that a handler raises breaks it off, the next call goes on with it.

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
        """Close the file with a count of what is not in it; returns what to say."""
        events = 0

        def last(lost: Iterable[memoryview]) -> bytes:
            nonlocal events
            events = sum(map(packets.events_in, lost))
            dropped = self._buffer.dropped + events
            return dropped_packet(dropped) if dropped else b""

        self._output.end_short(last)
        self._buffer.lose(events)
        cause = error.__cause__
        said = self._output.too_large(cause) if isinstance(cause, OSError) else error
        self._output.close()
        among = "1 event" if events == 1 else f"{events:,} events"
        return UsageError(
            f"{said}; {self._buffer.in_flight} bytes of the recording are lost, {among} among them"
        )

    def discard(self) -> None:
        """Give the file back as it was found, if nothing was flushed; without what waits."""
        with self._flushing:
            self._closed = True
            self._buffer.close()
            self._output.close()


class _ForkedEvents:
    """In a forked child: events go nowhere, which is said once."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._said = False

    def _nowhere(self, *_: object) -> bool:
        if not self._said:
            self._said = True
            # Where warnings are errors the child goes on all the same.
            with contextlib.suppress(Warning):
                warnings.warn(
                    f"recording {self._path}: it is another process's, and what this one records "
                    "goes nowhere: begin a recording here, in another file",
                    stacklevel=4,
                )
        return False

    instant = begin = end = counter = _nowhere


_WRITERS: Final[weakref.WeakSet[TraceWriter]] = weakref.WeakSet()


def _abandon_all() -> None:
    for writer in list(_WRITERS):
        writer._abandon()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_abandon_all)


def _check_name(name: Any) -> None:
    if not (isinstance(name, str) and name):
        raise UsageError(f"a track's name is a string that is not empty, not {name!r}")


def _number(value: int, what: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 1 << 31:
        raise UsageError(f"{what} is a whole number of a process or thread, not {value!r}")
    return value


def _usage(error: Exception, timestamp: object) -> UsageError:
    if isinstance(error, TimestampError):
        return UsageError(str(error))
    if isinstance(error, UnicodeEncodeError):
        return UsageError(f"an event's name is text that UTF-8 can hold: {error}")
    return UsageError(
        f"an event takes a timestamp that is a whole number within int64, and its track ({error}; "
        f"the timestamp is {timestamp!r})"
    )
