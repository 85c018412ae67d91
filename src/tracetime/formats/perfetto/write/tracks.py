"""The tracks of a trace that is written: each is made once, and its packet with it."""

from __future__ import annotations

import itertools
import os
import secrets
import threading
from typing import Any, Final

from tracetime._kernels.perfetto import packets
from tracetime._kernels.perfetto.writer import (
    EventClock,
    EventWriter,
    PacketBuffer,
    Sequence,
    TimestampError,
    Track,
)
from tracetime.errors import UsageError
from tracetime.formats.perfetto.write.clocks import SNAPSHOT_SEQUENCE
from tracetime.formats.perfetto.write.details import plain_details

# Tracks that are added to a trace that exists: packets to be read with the trace's own.
#
# They tie no clocks together, so that what the trace has stays where it is.

_ROOM: Final = 1 << 40
_NOT_READ: Final = -1
"""The number of a clock that this machine cannot read."""


class AddedTracks:
    """Packets of tracks and their values, on a packet sequence of their own.

    Args:
        sequence: a number that no packet of the trace has.
        clock: the number of the trace clock, which timestamps are read in.
        machine: the machine_id of the trace clock; 0 for the host.
    """

    def __init__(self, sequence: int, clock: int, machine: int) -> None:
        self._buffer = PacketBuffer(_ROOM, 0, _ROOM)
        self._sequence = Sequence(self._buffer, sequence, clock, machine)
        self._sequence.begin()
        event_clock = EventClock(self._sequence, clock, "trace time", False, _NOT_READ, (1, 1), 64)
        self._events = EventWriter(
            self._buffer, lambda clock: event_clock, plain_details, lambda error, ns: error, self
        )
        # Tracks of the trace are numbered from 1, or by hashes and random numbers of 64 bits.
        self._uuids = itertools.count(1 << 62 | secrets.randbits(61))

    def group(self, name: str) -> Track:
        """A track that holds others."""
        return self._track(packets.CUSTOM, name, None, None)

    def spans(self, name: str, parent: Track) -> Track:
        """A track of spans."""
        return self._track(packets.CUSTOM, name, parent, None)

    def counter(self, name: str, unit: str, parent: Track) -> Track:
        """A track of values."""
        return self._track(packets.COUNTER, name, parent, unit)

    def _track(self, kind: int, name: str, parent: Track | None, unit: str | None) -> Track:
        made = Track(self, next(self._uuids), name, kind == packets.COUNTER)
        above = 0 if parent is None else parent.uuid
        own = self._sequence
        self._buffer.put(
            packets.track_packet(own.id, made.uuid, above, kind, name, 0, 0, unit, own.machine)
        )
        return made

    def value(self, track: Track, time_ns: int, value: int) -> None:
        """A counter's value from a time on, ns of trace time, 0 or more."""
        self._events.counter(value, time_ns, None, track)

    def begin(self, track: Track, time_ns: int, name: str) -> None:
        """The beginning of a span."""
        self._events.begin(name, time_ns, None, track)

    def end(self, track: Track, time_ns: int) -> None:
        """The end of the span."""
        self._events.end(time_ns, None, track)

    def take(self) -> bytes:
        """The packets since the last time."""
        return self._buffer.take()


class Tracks:
    """The tracks; threads may share them.

    Args:
        buffer: takes their packets.
        owner: of these tracks: a parent has the same.
        first: the number before the first track's.
        of_process: whether tracks without a parent are in the process's: another one may have
            tracks of their names.
    """

    def __init__(
        self, buffer: PacketBuffer, owner: object, first: int = 0, of_process: bool = False
    ) -> None:
        self._buffer = buffer
        self._of_process = of_process
        self._owner = owner
        self._tracks: dict[tuple[Any, ...], Track] = {}
        self._numbers = itertools.count(first + 1)
        self._lock = threading.RLock()

    def abandon(self) -> None:
        """Make a new lock in a forked child: the thread that holds the old one may be missing."""
        self._lock = threading.RLock()

    def process(self, pid: int | None = None, name: str | None = None) -> Track:
        """The track of a process: this one's without pid."""
        pid = os.getpid() if pid is None else _checked_id(pid, "pid")
        return self._track((packets.PROCESS, pid), packets.PROCESS, name, pid=pid)

    def thread(
        self, tid: int | None = None, name: str | None = None, *, pid: int | None = None
    ) -> Track:
        """The track of a thread: the calling one's without tid."""
        if tid is None:
            tid, name = threading.get_native_id(), name or threading.current_thread().name
        pid = os.getpid() if pid is None else _checked_id(pid, "pid")
        tid = _checked_id(tid, "tid")
        return self._track((packets.THREAD, pid, tid), packets.THREAD, name, pid=pid, tid=tid)

    def custom(self, name: str, parent: Track | None = None) -> Track:
        """A track by its own name, within `parent` if given."""
        self._check_place(name, parent)
        return self._track((packets.CUSTOM, name, parent), packets.CUSTOM, name, parent)

    def separate(self, name: str) -> Track:
        """A new track of this process, whatever others have its name."""
        made = Track(self._owner, next(self._numbers), name, False)
        self._write(made, packets.CUSTOM, self.process(), None, 0, 0)
        return made

    def counter(self, name: str, unit: str | None = None, parent: Track | None = None) -> Track:
        """A track for the values of a counter; `unit` is their unit."""
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
        """The track of that key, made and written if it is new, or has its first name now."""
        found = self._find(key, name)
        if found is None:
            with self._lock:
                found = self._find(key, name)
                if found is None:
                    found = self._make(key, kind, name, parent, unit, pid, tid)
        return found

    def _find(self, key: tuple[Any, ...], name: str | None) -> Track | None:
        """The track of that key, unless something about it is to be written."""
        found = self._tracks.get(key)
        return None if found is None or (found.name is None and name is not None) else found

    def _make(
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
        number = next(self._numbers) if found is None else found.uuid
        made = Track(self._owner, number, name, kind == packets.COUNTER)
        if parent is None and self._of_process and kind in {packets.CUSTOM, packets.COUNTER}:
            parent = self.process()
        self._write(made, kind, parent, unit, pid, tid)
        if found is None:
            # A signal's handler may have made it meanwhile.
            return self._tracks.setdefault(key, made)
        self._tracks[key] = made
        return made

    def _write(
        self, made: Track, kind: int, parent: Track | None, unit: str | None, pid: int, tid: int
    ) -> None:
        packet = packets.track_packet(
            SNAPSHOT_SEQUENCE,
            made.uuid,
            0 if parent is None else parent.uuid,
            kind,
            made.name,
            pid,
            tid,
            unit,
        )
        try:
            # Where a track no longer fits, its events do not either.
            if self._buffer.has_room(len(packet)):
                self._buffer.put(packet, empties=False)
        except TimestampError as error:
            raise UsageError(str(error)) from error

    def _check_place(self, name: Any, parent: Any) -> None:
        _check_name(name)
        if parent is not None and not isinstance(parent, Track):
            raise UsageError(f"a parent is a track that track() gave, not {parent!r}")
        if parent is not None and parent.writer is not self._owner:
            raise UsageError(f"{parent!r} is another recording's: make it with this one")


def _check_name(name: Any) -> None:
    if not (isinstance(name, str) and name):
        raise UsageError(f"a track's name is a string that is not empty, not {name!r}")


def _checked_id(value: int, what: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 1 << 31:
        raise UsageError(f"{what} is a whole number of a process or thread, not {value!r}")
    return value
