"""`Recorder`: a trace of events in any clock of this machine, tied together as they happen.

The class is the door to the parts of a recording: events.py, traced.py, snapshots.py (when:
schedule.py; how: sampling.py), flushing.py, background.py, and problems.py for clocks, devices and
disks that fail.
The bytes are made in formats/perfetto/write/.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import threading
import time
import weakref
from collections.abc import Callable
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, Final, NamedTuple, overload

from tracetime._kernels.perfetto.writer import CLOSED
from tracetime.capture.background import Background
from tracetime.capture.calls import Calls, repeat_if_interrupted
from tracetime.capture.children import close_at_end
from tracetime.capture.flushing import Flushing
from tracetime.capture.parts import Parts
from tracetime.capture.peers import Peers
from tracetime.capture.problems import Problem, Problems
from tracetime.capture.protocol import Sampler, clock_name, declare_clocks, short_names
from tracetime.capture.schedule import Schedule
from tracetime.capture.snapshots import Snapshots
from tracetime.capture.traced import Traced
from tracetime.clocks.domain import ClockDomain
from tracetime.clocks.ids import BUILTIN_IDS, ClockId
from tracetime.clocks.snapshot import ReadingsByClock, Snapshot
from tracetime.errors import SourceError, UsageError
from tracetime.formats.perfetto.write.joining import Joining
from tracetime.formats.perfetto.write.writer import TraceWriter

_S: Final = 1_000_000_000


class Recorder(Traced):
    """A recording. Threads and processes may share it.

    A forked child records into a part of its own, PATH.PID.part, and so does a process that gets
    the recording as an argument; `close` joins the parts of processes that have ended. Clocks of
    the caller's are declared in each process that uses them.

    A signal's handler may use it, whatever it interrupts. What cannot be done within the
    interrupted call (a snapshot in a snapshot, the end in anything) is done right after it.

    An event is placed on a track; without one, on the calling thread's. Its timestamp is a reading
    of any clock that is recorded or tied in: ns, or the raw ticks of a device or of the time stamp
    counter. Events are in the file after `flush_interval`; if the disk is too slow, some are
    dropped and counted in the trace, with `events_dropped`.

    Made by `record`.
    """

    def __init__(  # noqa: PLR0913  the parts of a recording
        self,
        writer: TraceWriter,
        sampler: Sampler,
        schedule: Schedule | None,
        flush_interval_s: float,
        owned: bool,
        before_writing: Callable[[], None] | None = None,
        parts: Parts | None = None,
        peers: Peers | None = None,
    ) -> None:
        first_s = time.monotonic()
        self._problems = Problems(writer.path)
        self._calls = Calls(self.close, partial(self._problems.note, "snapshots"))
        self._flushing = Flushing(writer, self._calls, self._problems)
        super().__init__(writer, self._request_flush)
        self._sampler = sampler
        self._owned = owned
        self._flush_interval_s = flush_interval_s
        self._schedule = schedule
        self._snapshots = Snapshots(
            writer, sampler, schedule, self._calls, self._problems, self._flushing
        )
        self._closing = threading.RLock()
        # The last snapshot is there; all resources are given back.
        self._last_taken = self._ended = False
        self._background: Background | None = None
        self._end_watch: Callable[[], None] | None = None
        self._is_part = parts is not None
        self._files = parts or Parts(writer.path)
        self._peers = peers or Peers()
        self._part: Recorder | None = None
        self._part_error: str | None = None
        # The file's before that.
        self._own_size = 0
        self._joining: Joining | None = None
        self._part_lock = threading.RLock()
        writer.begin_part, writer.after_fork = self._begin_part, self._after_fork
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
            self._peers.start(writer, self._problems)
        if not self._is_part:
            self._files.remove()
        # A recording that nobody closes loses nothing.
        atexit.register(self.close)
        _RECORDINGS[self._files.path] = self

    def __enter__(self) -> Recorder:
        return self

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        if error is None:
            self.close()
            return
        try:
            self.close()
        except UsageError as failed:
            # The error of the caller's code matters more.
            error.add_note(f"The recording did not end well either: {failed}")

    # Clocks

    @property
    def clocks(self) -> dict[str, ClockId]:
        """The clocks that are sampled, by name, with the ids that are written."""
        return {self._name(clock): self._writer.written(clock) for clock in self._sampler.domains}

    @property
    def short_names(self) -> dict[str, str]:
        """The short names, `vulkan:0` or `TSC`, of clocks by their names; else the name itself."""
        return short_names(self._sampler)

    def declare(self, domain: ClockDomain, read: Callable[[], int] | None = None) -> ClockId:
        """Declare a clock of the caller's before its first snapshot: its rate, its bits.

        Such a clock's timestamps and readings are given in its ticks, and written in ns. An event
        can use it once a snapshot ties it to trace time: with `read` there is one at once.

        Args:
            domain: its properties.
            read: reads the clock, in its ticks. It is called now and after each regular snapshot,
                between two readings of the clock of trace time, by the thread that takes snapshots.
                None where the caller ties the clock in with `snapshot`.

        Returns:
            what it is written as: clock 64 to 127 in the packet sequence of this recording.

        Raises:
            UsageError: a clock without a rate, one of another machine or packet sequence, one that
                was declared otherwise; the recording is closed.
            Exception: what `read` raises; later that is a problem of the recording.
        """
        if self._writer.forked:
            return self._own_part().declare(domain, read)
        if self._snapshots.closed:
            raise UsageError(CLOSED)
        declare = partial(self._writer.declare, domain)
        written = self._calls.run(partial(self._calls.alone, declare))
        if read is not None:
            self._snapshots.add_read(domain, read)
        return written

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
            UsageError: what `Snapshot` refuses, or one clock alone; the recording is closed;
                without threads, also that the file cannot be written.
            SourceError: the clocks cannot be sampled.
        """
        if self._writer.forked:
            return self._own_part().snapshot(readings)
        return self._snapshots.snapshot(readings)

    # Results

    @property
    def path(self) -> str:
        """The path of the trace."""
        return self._writer.path

    @property
    def closed(self) -> bool:
        """Whether the recording is closed: nothing can be added to it."""
        return self._snapshots.closed

    @property
    def size(self) -> int:
        """The size of the file, bytes."""
        return self._writer.size

    @property
    def snapshots(self) -> int:
        """The number of snapshots taken so far."""
        return self._writer.snapshots

    @property
    def events_dropped(self) -> int:
        """The number of events left out: the disk was too slow, or the file reached `max_size`."""
        return self._writer.events_dropped

    @property
    def interval(self) -> float | None:
        """The present interval from one snapshot to the next, seconds."""
        return None if self._schedule is None else self._schedule.interval_ns / _S

    @property
    def error(self) -> UsageError | None:
        """The error for which nothing gets into the file at the moment; None while all is well."""
        return self._flushing.error

    @property
    def out_of_reach(self) -> list[str]:
        """Clocks whose half-width alone is never below `target_error_ns`: no interval helps."""
        missed = set() if self._schedule is None else self._schedule.out_of_reach
        return [self._name(clock) for clock in sorted(missed)]

    @property
    def floor_error_ns(self) -> dict[str, int]:
        """The error of floor, Perfetto's rule, at most between two snapshots so far, by clock.

        `target_error_ns` does not bound it: that is for bars, by the tube, which interpolates.
        """
        errors = self._snapshots.floor_errors_ns
        return {
            self._name(clock): errors[clock] for clock in self._sampler.domains if clock in errors
        }

    @property
    def problems(self) -> list[Problem]:
        """The problems so far: clocks that could not be read, or did what they should not."""
        return self._problems.all()

    def _name(self, clock: ClockId) -> str:
        return clock_name(self._sampler, clock)

    # Flushing and closing

    def _request_flush(self) -> None:
        (self._part or self)._flushing.request()

    def flush(self) -> None:
        """Put all that was recorded into the file, now; in a forked child into its part.

        Raises:
            UsageError: the file cannot be written. What is in it is a whole trace; the rest is
                kept, and tried again.
        """
        if self._writer.forked:
            if self._part is not None:
                self._part.flush()
            return
        self._flushing.flush()

    def close(self) -> None:
        """Take the last snapshot, join the parts of processes that have ended, and close the file.

        A forked child closes its part alone.

        A signal's handler that interrupts this thread's recording flushes, and the interrupted call
        closes the file when it is done.

        Raises:
            UsageError: not all could be written: says how much is in the file.
        """
        if self._writer.forked:
            # Threads that hold the locks may be missing here, and drivers wait for theirs.
            if self._part is not None:
                self._part.close()
            return
        if self._calls.busy:
            self._calls.close_after()
            self._flushing.try_flush()
        else:
            self._calls.run(partial(repeat_if_interrupted, self._close))

    def close_then(self, then: Callable[[], object]) -> None:
        """Close, and do something, both after the call that a signal's handler interrupts."""
        if self._calls.busy:
            self._calls.close_after(then)
            return
        try:
            with contextlib.suppress(UsageError):
                self.close()
        finally:
            then()

    def _close(self) -> None:
        """Close all; where a handler's exception breaks it off, the next call goes on with it."""
        with self._closing:
            if self._ended:
                return
            self._snapshots.closed = True
            self._peers.end()
            if self._background is not None:
                self._background.end()
            if not self._is_part:
                self._join()
            if not self._last_taken:
                self._snapshots.try_to_take("the last snapshot")
                self._last_taken = True
            try:
                self._writer.close()
                self._flushing.error = None
            except UsageError as error:
                self._flushing.fail(error)
                self._release()
                raise
            for path in () if self._joining is None else self._joining.joined:
                Path(path).unlink(missing_ok=True)
            self._release()

    def _join(self) -> None:
        """Add the parts of other processes, before the snapshot that says how much was dropped.

        All of them or none: those that stay can be joined later, and are not twice in the trace.
        """
        try:
            if self._joining is None:
                for path in self._files.running():
                    self._note_left(path, "it is still written")
                self._writer.flush()
                self._own_size = self.size
                sampled = {self._writer.written(clock).clock for clock in self._sampler.domains}
                self._joining = self._writer.join(self._files.ended(), sampled)
                for path in self._joining.left_out:
                    self._note_left(path, "the file would exceed max_size")
            self._joining.run(self._writer.flush)
        except (OSError, UsageError) as error:
            if self._joining is not None:
                self._writer.go_back(self._own_size)
                self._joining = None
            for path in self._files.ended():
                self._note_left(path, str(error))

    def _note_left(self, path: str, why: str) -> None:
        self._problems.note(path, f"this part stays beside the file: {why}")

    # Other processes

    def __reduce__(self) -> tuple[Callable[[str, _PartOptions], Recorder], tuple[Any, ...]]:
        """Return what gives another process its part of the recording."""
        return _recording_of, (self._files.path, self._part_options())

    def _part_options(self) -> _PartOptions:
        return _PartOptions(
            _kernel_clocks(self._sampler), self._flush_interval_s, self._writer.sync
        )

    def _after_fork(self) -> None:
        self._part_lock = threading.RLock()
        self._local = threading.local()
        self.forget_places(self._local)

    def _own_part(self) -> Recorder:
        self._begin_part()
        if self._part is None:
            raise UsageError(f"this process has no part of the recording: {self._part_error}")
        return self._part

    def _begin_part(self) -> TraceWriter | None:
        """Return the writer of a forked child's part, begun with its first event."""
        with self._part_lock:
            if self._snapshots.closed:
                raise UsageError(CLOSED)
            if self._part is None and self._part_error is None:
                try:
                    self._part = _begin_part(self._files, self._writer.owner, self._part_options())
                except (SourceError, UsageError) as error:
                    # The program goes on: what this process records is lost.
                    self._part_error = str(error)
                    self._problems.note("this process's part", self._part_error)
            return None if self._part is None else self._part._writer

    def _release(self) -> None:
        if self._end_watch is not None:
            self._end_watch()
        if self._owned:
            self._sampler.close()
        atexit.unregister(self.close)
        self._ended = True


_RECORDINGS: Final[weakref.WeakValueDictionary[str, Recorder]] = weakref.WeakValueDictionary()
"""The recordings of this process and those that it has a part of, by their paths."""


class _PartOptions(NamedTuple):
    """The options of parts: the clocks that they sample, and their flushing."""

    clocks: tuple[str, ...]
    flush_interval_s: float
    sync: bool


def _kernel_clocks(sampler: Sampler) -> tuple[str, ...]:
    """The names of the clocks that parts sample.

    A device may not answer a forked child; each process would measure another rate of TSC.
    """
    kernels = {*BUILTIN_IDS, "TAI"} - {"TSC"}
    return tuple(name for name in short_names(sampler).values() if name in kernels)


def join_recording(
    path: str | os.PathLike[str], sampler: Sampler, flush_interval_s: float, *, sync: bool
) -> Recorder:
    """Return this process's part of another process's recording, of these clocks."""
    options = _PartOptions(_kernel_clocks(sampler), flush_interval_s, sync)
    return _recording_of(str(Path(os.fsdecode(path)).absolute()), options)


def _recording_of(path: str, options: _PartOptions) -> Recorder:
    """The recording with a path in this process: its own, else its part of another's."""
    found = _RECORDINGS.get(path)
    if found is None:
        found = _begin_part(Parts(path), object(), options)
        _KEPT.append(found)
    return found


_KEPT: Final[list[Recorder]] = []


def _begin_part(parts: Parts, owner: object, options: _PartOptions) -> Recorder:
    """Begin this process's part."""
    sampling: Any = import_module("tracetime.capture.sampling")
    sampler: Sampler = sampling.Sampler(("BOOTTIME",), besides=options.clocks)
    schedule = Schedule(sampler.domains, interval_ns=_S)
    writer = parts.begin(owner, sync=options.sync)
    made = Recorder(writer, sampler, schedule, options.flush_interval_s, True, parts=parts)
    close_at_end(made)
    return made
