"""`Recorder`: a trace of events in any clock of this machine, tied together as they happen.

The class is the door to the parts of a recording: events.py, snapshots.py (when: schedule.py; how:
sampling.py), flushing.py, background.py, and problems.py for clocks, devices and disks that fail.
The bytes are made in formats/perfetto/write/.
"""

from __future__ import annotations

import atexit
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Final, overload

from tracetime._kernels.perfetto.writer import CLOSED
from tracetime.capture.background import Background
from tracetime.capture.calls import Calls, repeat_if_interrupted
from tracetime.capture.clock_names import clock_name, declare_clocks, short_names
from tracetime.capture.events import Events
from tracetime.capture.flushing import Flushing
from tracetime.capture.problems import Problem, Problems
from tracetime.capture.protocol import Sampler
from tracetime.capture.schedule import Schedule
from tracetime.capture.snapshots import Snapshots
from tracetime.clocks.domain import ClockDomain
from tracetime.clocks.ids import ClockId
from tracetime.clocks.snapshot import ReadingsByClock, Snapshot
from tracetime.errors import UsageError
from tracetime.formats.perfetto.write.writer import TraceWriter

_S: Final = 1_000_000_000


class Recorder(Events):
    """A recording. Threads may share it; in a forked child it records nothing.

    A signal's handler may use it, whatever it interrupts. What cannot be done within the
    interrupted call (a snapshot in a snapshot, the end in anything) is done right after it.

    An event is placed on a track; without one, on the calling thread's. Its timestamp is a reading
    of any clock that is recorded or tied in: ns, or the raw ticks of a device or of the time stamp
    counter. Events are in the file after `flush_interval`; if the disk is too slow, some are
    dropped and counted in the trace, with `events_dropped`.

    Made by `record`.
    """

    def __init__(
        self,
        writer: TraceWriter,
        sampler: Sampler,
        schedule: Schedule | None,
        flush_interval_s: float,
        owned: bool,
        before_writing: Callable[[], None] | None = None,
    ) -> None:
        first_s = time.monotonic()
        self._problems = Problems(writer.path)
        self._calls = Calls(self.close, partial(self._problems.note, "snapshots"))
        self._flushing = Flushing(writer, self._calls, self._problems)
        super().__init__(writer, self._flushing.request)
        self._sampler = sampler
        self._owned = owned
        self._schedule = schedule
        self._snapshots = Snapshots(
            writer, sampler, schedule, self._calls, self._problems, self._flushing
        )
        self._closing = threading.RLock()
        # The last snapshot is there; all resources are given back.
        self._last_taken = self._ended = False
        self._background: Background | None = None
        self._end_watch: Callable[[], None] | None = None
        declare_clocks(writer, sampler)
        self._snapshots.take()
        if before_writing is not None:
            before_writing()
        writer.flush()
        if schedule is not None:
            self._background = Background(
                self._snapshots, self._flushing, schedule, flush_interval_s, first_s
            )
            self._end_watch = sampler.watch()
            self._background.start()
        # A recording that nobody closes loses nothing.
        atexit.register(self.close)

    def __enter__(self) -> Recorder:
        return self

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        if error is None:
            self.close()
            return
        try:
            self.close()
        except UsageError as failed:
            # What the caller's code raised matters more.
            error.add_note(f"The recording did not end well either: {failed}")

    # Clocks

    @property
    def clocks(self) -> dict[str, ClockId]:
        """The clocks that are sampled, by name, with the ids that are written."""
        return {self._name(clock): self._writer.written(clock) for clock in self._sampler.domains}

    @property
    def short_names(self) -> dict[str, str]:
        """By name, what events may call each clock too: `vulkan:0`, `TSC`; else the name."""
        return short_names(self._sampler)

    def declare(self, domain: ClockDomain) -> ClockId:
        """Say what a clock of the caller's is, before its first snapshot: its rate, its bits.

        Such a clock's timestamps and readings are given in its ticks, and written in ns.

        Returns:
            what it is written as: clock 64 to 127 in the packet sequence of this recording.

        Raises:
            UsageError: a clock without a rate, one of another machine or packet sequence, one that
                was declared otherwise; the recording is closed.
        """
        if self._snapshots.closed:
            raise UsageError(CLOSED)
        return self._calls.run(partial(self._calls.alone, partial(self._writer.declare, domain)))

    @overload
    def snapshot(self, readings: None = None) -> Snapshot | None: ...

    @overload
    def snapshot(self, readings: ReadingsByClock | Snapshot) -> Snapshot: ...

    def snapshot(self, readings: ReadingsByClock | Snapshot | None = None) -> Snapshot | None:
        """Sample the clocks now; or tie in clocks of the caller's.

        Args:
            readings: what clocks read at one instant, in their own ticks, at least two of them:
                ``{"com.example.gpu": 123, "MONOTONIC": ns}``, or a Snapshot with half-widths.
                Clocks 64 to 127 need no sequence. None to sample.

        Returns:
            what was written; only read, once the file has reached `max_size`. None for a signal's
            handler that has interrupted a snapshot: the clocks are sampled right after that one.

        Raises:
            UsageError: what `Snapshot` refuses, or one clock alone; the recording is closed, or
                another process's; without threads, also that the file cannot be written.
            SourceError: the clocks cannot be sampled.
        """
        if self._writer.forked:
            raise UsageError("the recording is another process's: begin one here, in another file")
        return self._snapshots.snapshot(readings)

    # Results

    @property
    def path(self) -> str:
        """Of the trace."""
        return self._writer.path

    @property
    def size(self) -> int:
        """Bytes in the file."""
        return self._writer.size

    @property
    def snapshots(self) -> int:
        """Snapshots taken so far."""
        return self._writer.snapshots

    @property
    def events_dropped(self) -> int:
        """Events that were not written: the disk was too slow, or the file reached `max_size`."""
        return self._writer.events_dropped

    @property
    def interval(self) -> float | None:
        """Seconds from one snapshot to the next, as it is now."""
        return None if self._schedule is None else self._schedule.interval_ns / _S

    @property
    def error(self) -> UsageError | None:
        """Why nothing gets into the file at the moment; None while all is well."""
        return self._flushing.error

    @property
    def out_of_reach(self) -> list[str]:
        """Clocks whose half-width alone is never below `target_error_ns`: no interval helps."""
        missed = set() if self._schedule is None else self._schedule.out_of_reach
        return [self._name(clock) for clock in sorted(missed)]

    @property
    def floor_error_ns(self) -> dict[str, int]:
        """What floor, Perfetto's rule, was off by at most between two snapshots so far, by clock.

        `target_error_ns` does not bound it: that is for bars, by the tube, which interpolates.
        """
        errors = self._snapshots.floor_errors_ns
        return {
            self._name(clock): errors[clock] for clock in self._sampler.domains if clock in errors
        }

    @property
    def problems(self) -> list[Problem]:
        """What went wrong so far: clocks that could not be read, or did what they should not."""
        return self._problems.all()

    def _name(self, clock: ClockId) -> str:
        return clock_name(self._sampler, clock)

    # Flushing and closing

    def flush(self) -> None:
        """Put all that was recorded into the file, now.

        Raises:
            UsageError: the file cannot be written. What is in it is a whole trace; the rest is
                kept, and tried again.
        """
        self._flushing.flush()

    def close(self) -> None:
        """Take the last snapshot, and close the file; nothing in a forked child.

        A signal's handler that interrupts this thread's recording flushes, and the interrupted call
        closes the file when it is done.

        Raises:
            UsageError: not all could be written: says how much is in the file.
        """
        if self._writer.forked:
            # Threads that hold the locks may be missing here, and drivers wait for theirs.
            return
        if self._calls.busy:
            self._calls.close_after()
            self._flushing.try_flush()
        else:
            self._calls.run(partial(repeat_if_interrupted, self._close))

    def _close(self) -> None:
        """Where something that a handler raises breaks it off, the next call goes on with it."""
        with self._closing:
            if self._ended:
                return
            self._snapshots.closed = True
            if self._background is not None:
                self._background.end()
            if not self._last_taken:
                self._snapshots.try_to_take("the last snapshot")
                self._last_taken = True
            try:
                self._writer.close()
                self._flushing.error = None
            except UsageError as error:
                self._flushing.error = error
                self._release()
                raise
            self._release()

    def _release(self) -> None:
        if self._end_watch is not None:
            self._end_watch()
        if self._owned:
            self._sampler.close()
        atexit.unregister(self.close)
        self._ended = True
