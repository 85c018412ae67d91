"""What happens in a recording: events, and the tracks that they are on."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from tracetime._kernels.perfetto.writer import Track
from tracetime.clocks.ids import ClockLike
from tracetime.errors import UsageError
from tracetime.formats.perfetto.write.writer import TraceWriter


class Events:
    """Writes events; none of them is an object.

    Args:
        writer: of the trace.
        request_flush: called when so much waits that it is time to flush.
    """

    def __init__(self, writer: TraceWriter, request_flush: Callable[[], None]) -> None:
        self._writer = writer
        self._request_flush = request_flush
        self._local = threading.local()
        self._counters: dict[str | Track, Track] = {}

    # Events

    def instant(
        self,
        name: str,
        *,
        timestamp: int | None = None,
        clock: ClockLike | None = None,
        track: Track | str | None = None,
    ) -> None:
        """Record that something happened.

        Args:
            name: of the event. Each different name is kept once: use few.
            timestamp: when, as the clock read it; None for now, of a builtin clock.
            clock: which clock: a name (`MONOTONIC`, `vulkan:0`), a number, a ClockId; None for the
                clock of trace time.
            track: where; a name stands for `track(name)`, None for the calling thread's.

        Raises:
            UsageError: a timestamp that is no whole number, a clock that is not recorded, or the
                recording is closed.
        """
        if track.__class__ is not Track:
            track = self._track_of(track)
        if self._writer.instant(name, timestamp, clock, track):
            self._request_flush()

    def begin(
        self,
        name: str,
        *,
        timestamp: int | None = None,
        clock: ClockLike | None = None,
        track: Track | str | None = None,
    ) -> None:
        """Record that something began, which `end` on the same track ends; as `instant`."""
        if track.__class__ is not Track:
            track = self._track_of(track)
        if self._writer.begin(name, timestamp, clock, track):
            self._request_flush()

    def end(
        self,
        *,
        timestamp: int | None = None,
        clock: ClockLike | None = None,
        track: Track | str | None = None,
    ) -> None:
        """Record that what began last on a track has ended; as `instant`."""
        if track.__class__ is not Track:
            track = self._track_of(track)
        if self._writer.end(timestamp, clock, track):
            self._request_flush()

    def counter(
        self,
        name: str | Track,
        value: float,
        *,
        timestamp: int | None = None,
        clock: ClockLike | None = None,
    ) -> None:
        """Record a counter's value, an int within int64 or a float.

        Args:
            name: of the counter, or what `counter_track` made.
            timestamp, clock: as in `instant`.
        """
        if not isinstance(name, (str, Track)):
            raise UsageError(f"a counter is a name or what counter_track() gave, not {name!r}")
        track = self._counters.get(name)
        if track is None:
            track = name if isinstance(name, Track) else self._writer.tracks.counter(name)
            self._counters[name] = track
        if self._writer.counter(value, timestamp, clock, track):
            self._request_flush()

    # Tracks

    def track(self, name: str, parent: Track | None = None) -> Track:
        """A track by its own name, within `parent` if given; the same one for the same name."""
        return self._writer.tracks.custom(name, parent)

    def counter_track(
        self, name: str, unit: str | None = None, parent: Track | None = None
    ) -> Track:
        """The track of a counter; `unit` is what its values are called."""
        return self._writer.tracks.counter(name, unit, parent)

    def process_track(self, pid: int | None = None, name: str | None = None) -> Track:
        """The track of a process, of this one without pid; its first name stays."""
        return self._writer.tracks.process(pid, name)

    def thread_track(
        self, tid: int | None = None, name: str | None = None, *, pid: int | None = None
    ) -> Track:
        """The track of a thread, of the calling one without tid; its first name stays."""
        return self._writer.tracks.thread(tid, name, pid=pid)

    def _track_of(self, track: Any) -> Track:
        if track is None:
            try:
                found: Track = self._local.track
            except AttributeError:
                found = self._local.track = self._writer.tracks.thread()
            return found
        if isinstance(track, str):
            return self._writer.tracks.custom(track)
        raise UsageError(f"a track is a name or what track() gave, not {track!r}")
