"""Tracks that are added to a trace that exists: packets to be read with the trace's own.

They tie no clocks together, so that what the trace has stays where it is.
"""

from __future__ import annotations

import itertools
import secrets
from typing import Final

from tracetime._kernels.perfetto import packets
from tracetime._kernels.perfetto.writer import (
    EventClock,
    EventWriter,
    PacketBuffer,
    Sequence,
    Track,
)
from tracetime.formats.perfetto.write.details import plain_details

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
