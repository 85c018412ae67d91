"""`record`: a Perfetto trace of events in any clock of this machine, tied together as they happen.

Here are the threads, and what happens when a clock, a device or the disk fails. When to sample is
schedule.py's, how sampling.py's, and what is written formats/perfetto/write/writer.py's.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import threading
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from importlib import import_module
from numbers import Real
from queue import Empty, SimpleQueue
from types import TracebackType
from typing import Any, Final, NamedTuple, overload

from tracetime._kernels.perfetto.writer import CLOSED, Track
from tracetime.capture.calls import Calls, insist
from tracetime.capture.floor_error import FloorError
from tracetime.capture.protocol import Sample, Sampler
from tracetime.capture.schedule import LONGEST_NS, SHORTEST_NS, Schedule
from tracetime.capture.steps import StepWatch
from tracetime.capture.stop import Ending
from tracetime.clocks.domain import ClockDomain
from tracetime.clocks.ids import ClockId, ClockLike
from tracetime.clocks.snapshot import INT64_MAX, ReadingsByClock, Snapshot
from tracetime.errors import SourceError, UsageError
from tracetime.formats.perfetto.write.writer import BUFFER_BYTES, FLUSH_BYTES, TraceWriter
from tracetime.sources.names import HOST

INTERVAL_S: Final = 1.0
FLUSH_S: Final = 1.0
BESIDES: Final = ("BOOTTIME",)
"""Recorded whatever is asked for, where it is to be had: Perfetto's trace processor counts an error
of a trace that does not tie it to trace time."""

_S: Final = 1_000_000_000
_MOST_PROBLEMS: Final = 100
_FULL: Final = "max_size is reached: events and snapshots are left out but for the last one"


class Problem(NamedTuple):
    """Something that went wrong while recording went on.

    Attributes:
        what: a clock, or the file.
        message: what it was.
        times: how often.
    """

    what: str
    message: str
    times: int


# long: a third of it says what its options are
def record(  # noqa: PLR0913  every option of a recording, by name
    path: str | os.PathLike[str],
    clocks: ClockLike | Iterable[ClockLike] | None = None,
    interval: float | None = INTERVAL_S,
    *,
    target_error_ns: int | None = None,
    shortest_interval: float = SHORTEST_NS / _S,
    longest_interval: float = LONGEST_NS / _S,
    reference: ClockLike | None = None,
    max_size: int | None = None,
    flush_interval: float = FLUSH_S,
    buffer_bytes: int = BUFFER_BYTES,
    flush_bytes: int = FLUSH_BYTES,
    overwrite: bool = True,
    sync: bool = False,
    sampler: Sampler | None = None,
    before_writing: Callable[[], None] | None = None,
) -> Recorder:
    """Begin to record a trace; use it in a `with`, or close it.

    Args:
        path: of the trace; a file that is there is replaced, unless another recording writes it.
        clocks: what to sample: names (`MONOTONIC`, `TSC`, `vulkan:0`), numbers, ClockIds, `host`
            and `vulkan` for all of a kind; None for `host`. A device's driver takes memory and
            time, so devices are opened when they are asked for. BOOTTIME is sampled besides.
        interval: seconds from the start of one snapshot to the next one's, 0.001 or more; None for
            no thread at all: then `Recorder.snapshot` samples, and flushes.
        target_error_ns: what bars between snapshots may be wide by to either side: the interval
            adapts to it, from `interval` on, within the two limits. Floor, which interpolates
            nothing, may be off by more: see `Recorder.floor_error_ns`.
        shortest_interval, longest_interval: seconds.
        reference: the clock that the others are bracketed by.
        max_size: bytes that the file may have; events beyond it are dropped, and tracks with them.
        flush_interval: seconds after which an event is in the file at the latest, unless the disk
            is slower: what is in the file outlives this process, whatever becomes of it; and a
            crash of the system or a power cut, once the system has written it to the disk, which
            by default takes it half a minute.
        buffer_bytes: bytes that may wait for the disk before events are dropped.
        flush_bytes: bytes waiting at which the file is written to at once.
        overwrite: False to keep a file that holds anything, with a UsageError.
        sync: wait for the disk with each flush, that what is in the file survives a power cut.
        sampler: what samples the clocks, instead of this machine's own; it stays open. Perfetto
            wants BOOTTIME among them.
        before_writing: called when the first snapshot is taken; where it raises, what was at `path`
            stays as it was.

    Raises:
        UsageError: the file cannot be made, is another recording's or to be kept; an argument is
            out of range, a name is no clock.
        SourceError: a clock that was asked for is not to be had here.
    """
    if interval is not None:
        _check_seconds("interval", interval)
    for what, seconds in (
        ("flush_interval", flush_interval),
        ("shortest_interval", shortest_interval),
        ("longest_interval", longest_interval),
    ):
        _check_seconds(what, seconds)
    if target_error_ns is not None and not (
        isinstance(target_error_ns, Real) and 1 <= target_error_ns <= INT64_MAX
    ):
        raise UsageError(f"target_error_ns is {target_error_ns!r}: use 1 or more, ns within int64")
    if interval is None and target_error_ns is not None:
        raise UsageError("a target for the error needs an interval to adapt: give one")
    owned = sampler is None
    if sampler is None:
        sampling: Any = import_module("tracetime.capture.sampling")
        wanted = (HOST,) if clocks is None else clocks
        made: Sampler = sampling.Sampler(wanted, reference=reference, besides=BESIDES)
        sampler = made
    elif clocks is not None or reference is not None:
        raise UsageError("a sampler has its clocks: give either it, or clocks and reference")
    try:
        schedule = None
        if interval is not None:
            schedule = Schedule(
                sampler.domains,
                interval_ns=round(interval * _S),
                target_error_ns=target_error_ns,
                shortest_ns=round(shortest_interval * _S),
                longest_ns=round(longest_interval * _S),
            )
        writer = TraceWriter(
            path,
            overwrite=overwrite,
            sync=sync,
            max_size=max_size,
            buffer_bytes=buffer_bytes,
            flush_bytes=flush_bytes,
        )
        try:
            return Recorder(
                writer, sampler, schedule, flush_interval, owned, before_writing=before_writing
            )
        except BaseException:
            writer.discard()
            raise
    except BaseException:
        if owned:
            sampler.close()
        raise


class Recorder:
    """A recording. Threads may share it; in a forked child it is none, and events go nowhere.

    A signal's handler may use it whatever it interrupts. What cannot be done in the midst of that
    (a snapshot in a snapshot, the end in anything) is done right after.

    An event is placed on a track; without one, on the calling thread's. Its timestamp is a reading
    of any clock that is recorded or tied in: ns, or the raw ticks of a device or of the time stamp
    counter. Events are in the file after `flush_interval`; where the disk cannot follow, some are
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
        self._writer = writer
        self._sampler = sampler
        self._schedule = schedule
        self._flush_interval_s = flush_interval_s
        self._owned = owned
        self._floor = FloorError(sampler.domains)
        self._problems: dict[tuple[str, str], int] = {}
        self._error: UsageError | None = None
        self._closing = threading.RLock()
        # Nothing is added any more; the last snapshot is there; all is given back.
        self._closed = self._last_taken = self._ended = False
        self._calls = Calls(self.close, partial(self._note, "snapshots"))
        self._local = threading.local()
        self._counters: dict[str | Track, Track] = {}
        self._stop = Ending()
        # A handler of a signal may ask, too: this one's put may interrupt itself.
        self._wake: SimpleQueue[None] = SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._steps: StepWatch | None = None
        self._end_watch: Callable[[], None] | None = None
        self._first_s = time.monotonic()
        for clock, domain in sampler.domains.items():
            name = sampler.names.get(clock)
            writer.declare(_named(domain, name), sampler.short_names.get(clock))
        self._take()
        if before_writing is not None:
            before_writing()
        self._writer.flush()
        if schedule is not None:
            self._steps, self._end_watch = StepWatch(), sampler.watch()
            for name, work in (("snapshots", self._keep_sampling), ("flush", self._keep_flushing)):
                thread = threading.Thread(target=work, name=f"tracetime {name}", daemon=True)
                self._threads.append(thread)
                thread.start()
        # Whoever forgets to close it loses nothing.
        atexit.register(self.close)

    def __enter__(self) -> Recorder:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if error is None:
            self.close()
            return
        try:
            self.close()
        except UsageError as failed:
            # What the caller's code raised matters more.
            error.add_note(f"The recording did not end well either: {failed}")

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
            name: of the event; each is kept once, so let there be few.
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
            self._asked_to_flush()

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
            self._asked_to_flush()

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
            self._asked_to_flush()

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
            track = name if isinstance(name, Track) else self._writer.counter_track(name)
            self._counters[name] = track
        if self._writer.counter(value, timestamp, clock, track):
            self._asked_to_flush()

    # Tracks

    def track(self, name: str, parent: Track | None = None) -> Track:
        """A track by its own name, within `parent` if given; the same one for the same name."""
        return self._writer.track(name, parent)

    def counter_track(
        self, name: str, unit: str | None = None, parent: Track | None = None
    ) -> Track:
        """The track of a counter; `unit` is what its values are called."""
        return self._writer.counter_track(name, unit, parent)

    def process_track(self, pid: int | None = None, name: str | None = None) -> Track:
        """The track of a process, of this one without pid; its first name stays."""
        return self._writer.process_track(pid, name)

    def thread_track(
        self, tid: int | None = None, name: str | None = None, *, pid: int | None = None
    ) -> Track:
        """The track of a thread, of the calling one without tid; its first name stays."""
        return self._writer.thread_track(tid, name, pid=pid)

    def _track_of(self, track: Any) -> Track:
        if track is None:
            try:
                found: Track = self._local.track
            except AttributeError:
                found = self._local.track = self._writer.thread_track()
            return found
        if isinstance(track, str):
            return self._writer.track(track)
        raise UsageError(f"a track is a name or what track() gave, not {track!r}")

    # Clocks

    @property
    def clocks(self) -> dict[str, ClockId]:
        """The clocks that are sampled, by name, with the ids that are written."""
        return {self._name(clock): self._writer.written(clock) for clock in self._sampler.domains}

    @property
    def short_names(self) -> dict[str, str]:
        """What events may call them by besides, by name: `vulkan:0`, `TSC`; else the name."""
        short = self._sampler.short_names
        names = {self._name(clock): clock for clock in self._sampler.domains}
        return {name: short.get(clock, name) for name, clock in names.items()}

    def _name(self, clock: ClockId) -> str:
        return self._sampler.names.get(clock, str(clock))

    def declare(self, domain: ClockDomain) -> ClockId:
        """Say what a clock of one's own is, before its first snapshot: its rate, its bits.

        Such a clock's timestamps and readings are given in its ticks, and written in ns.

        Returns:
            what it is written as: clock 64 to 127 in the packet sequence of this recording.

        Raises:
            UsageError: a clock without a rate, one of another machine or packet sequence, one that
                was declared otherwise; the recording is closed.
        """
        if self._closed:
            raise UsageError(CLOSED)
        return self._calls.run(partial(self._calls.alone, partial(self._writer.declare, domain)))

    @overload
    def snapshot(self, readings: None = None) -> Snapshot | None: ...

    @overload
    def snapshot(self, readings: ReadingsByClock | Snapshot) -> Snapshot: ...

    def snapshot(self, readings: ReadingsByClock | Snapshot | None = None) -> Snapshot | None:
        """Sample the clocks now; or tie in clocks of one's own.

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
        if readings is not None:
            snapshot, names = self._given(readings)
            if len(snapshot.clocks) < 2:
                raise UsageError(
                    "one clock alone ties nothing: add what a recorded clock read at that moment"
                )
        if self._calls.sampling:
            # A signal's handler: the frame that it interrupts sees to it.
            if readings is not None:
                self._calls.after_snapshot(partial(self._write, snapshot, names))
                return snapshot
            self._calls.after_snapshot(self._take)
            return None
        if self._closed:
            if self._calls.busy and readings is None:
                # The last snapshot is yet to come, or has just been taken.
                return None
            raise UsageError(CLOSED)
        if readings is None:
            snapshot = self._calls.run(self._take).snapshot
        else:
            self._calls.run(partial(self._write, snapshot, names))
        if not self._threads:
            self.flush()
        return snapshot

    def _write(self, snapshot: Snapshot, names: dict[ClockId, str]) -> None:
        """Write a snapshot of the caller's."""
        if not self._writer.full and self._calls.alone(
            partial(self._writer.snapshot, snapshot, names=names)
        ):
            self._asked_to_flush()
        if self._writer.full:
            self._note("the file", _FULL)

    def _given(self, readings: ReadingsByClock | Snapshot) -> tuple[Snapshot, dict[ClockId, str]]:
        if isinstance(readings, Snapshot):
            return readings, {}
        if not isinstance(readings, Mapping):
            raise UsageError(
                f"readings is a dict of clock to value, not a {type(readings).__name__}"
            )
        clocks = {key: self._writer.clock(key) for key in readings}
        for clock, times in Counter(clocks.values()).items():
            if times > 1:
                raise UsageError(f"clock {clock} stands twice in one snapshot: give one reading")
        # A clock's number does not tell its name: what the caller calls it by is kept.
        names = {
            clock: key
            for key, clock in clocks.items()
            if isinstance(key, str) and clock.scope == "global" and "." in key
        }
        return Snapshot({clocks[key]: value for key, value in readings.items()}), names

    # What became of it

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
        return self._error

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
        errors = self._floor.errors_ns
        return {
            self._name(clock): errors[clock] for clock in self._sampler.domains if clock in errors
        }

    @property
    def problems(self) -> list[Problem]:
        """What went wrong so far: clocks that could not be read, or did what they should not."""
        return [Problem(*what, times) for what, times in self._problems.items()]

    def flush(self) -> None:
        """Put all that was recorded into the file, now.

        Raises:
            UsageError: the file cannot be written. What is in it is a whole trace; the rest is
                kept, and tried again.
        """
        self._flush()
        if self._error is not None:
            raise self._error

    def close(self) -> None:
        """Take the last snapshot, and close the file; nothing in a forked child.

        A signal's handler that interrupts this thread's recording flushes, and what it interrupted
        closes the file when it is done.

        Raises:
            UsageError: not all could be written: says how much is in the file.
        """
        if self._writer.forked:
            # Locks may be held by threads that are not here, and drivers wait for theirs.
            return
        if self._calls.busy:
            self._calls.close_after()
            self._flush()
        else:
            self._calls.run(partial(insist, self._close))

    def _close(self) -> None:
        """Where something that a handler raises breaks it off, the next call goes on with it."""
        with self._closing:
            if self._ended:
                return
            self._closed = True
            self._end_threads()
            if not self._last_taken:
                try:
                    self._take()
                except (SourceError, UsageError) as error:
                    self._note("the last snapshot", str(error))
                self._last_taken = True
            try:
                self._writer.close()
                self._error = None
            except UsageError as error:
                self._error = error
                self._release()
                raise
            self._release()

    def _end_threads(self) -> None:
        self._stop.set()
        self._wake.put(None)
        if self._steps is not None:
            self._steps.wake()
        for thread in self._threads:
            thread.join()
        if self._steps is not None:
            self._steps.close()

    def _release(self) -> None:
        if self._end_watch is not None:
            self._end_watch()
        if self._owned:
            self._sampler.close()
        atexit.unregister(self.close)
        self._ended = True

    # Sampling and flushing

    def _take(self) -> Sample:
        """Sample the clocks, and write the snapshot."""
        sample, waiting = self._calls.alone(self._sample)
        if waiting:
            self._asked_to_flush()
        return sample

    def _sample(self) -> tuple[Sample, bool]:
        sample = self._sampler.sample()
        for clock, message in sample.failed.items():
            self._note(self._name(clock), message)
        for finding in sample.findings:
            self._note(finding.clock, finding.message)
        if self._schedule is not None:
            self._schedule.observe(sample.snapshot)
        if self._writer.full and not self._closed:
            self._note("the file", _FULL)
            return sample, False
        waiting = self._writer.snapshot(
            sample.snapshot,
            counts={clock: (count[0], count[1]) for clock, count in sample.counts.items()},
            kernel_clock=sample.adjtimex,
            main=True,
        )
        if self._writer.trace_clock is not None:
            self._floor.observe(sample.snapshot, self._writer.trace_clock)
        return sample, waiting

    def _keep_sampling(self) -> None:
        assert self._schedule is not None
        assert self._steps is not None
        due_s = self._first_s
        while True:
            now_s, interval_s = time.monotonic(), self._schedule.interval_ns / _S
            if due_s <= now_s:
                # One that comes late is made up for, as far as the next; several are not.
                due_s = max(due_s, now_s - interval_s) + interval_s
            else:
                # The last one came early, because a clock was set.
                due_s = min(due_s, now_s + interval_s)
            while not (stopped := self._stop.is_set()):
                left_s = due_s - time.monotonic()
                if left_s <= 0 or self._steps.wait(left_s):
                    break
            if stopped:
                return
            if self._writer.full:
                # What room there is is for the end.
                self._note("the file", _FULL)
                self._stop.wait()
                return
            try:
                self._take()
            except (SourceError, UsageError) as error:
                self._note("snapshots", str(error))

    def _keep_flushing(self) -> None:
        while not self._stop.is_set():
            with contextlib.suppress(Empty):
                self._wake.get(timeout=self._flush_interval_s)
            if not self._stop.is_set():
                self._flush()
                if self._error is not None:
                    # A disk that is full is not asked more often for being asked for more.
                    self._stop.wait(self._flush_interval_s)

    def _flush(self, *, wait: bool = True) -> None:
        try:
            self._calls.run(partial(self._writer.flush, wait=wait))
        except UsageError as error:
            self._error = error
            self._note("the file", str(error))
        else:
            self._error = None

    def _asked_to_flush(self) -> None:
        if self._threads:
            self._wake.put(None)
        else:
            self._flush(wait=False)

    def _note(self, what: str, message: str) -> None:
        """Keep a problem; the first of each kind is also a warning."""
        key = what, message
        if key not in self._problems:
            if len(self._problems) >= _MOST_PROBLEMS:
                return
            if all(known != what for known, _ in self._problems):
                # Where warnings are errors the recording, and its threads, go on all the same.
                with contextlib.suppress(Warning):
                    warnings.warn(f"recording {self.path}: {what}: {message}", stacklevel=3)
        self._problems[key] = self._problems.get(key, 0) + 1


def _check_seconds(what: str, value: float) -> None:
    if not isinstance(value, (int, float)) or not 0.001 <= value <= 86_400:
        raise UsageError(f"{what} is {value!r}: use 0.001 to 86400 seconds")


def _named(domain: ClockDomain, name: str | None) -> ClockDomain:
    """The domain with the name that its sampler gives it, where its id says none."""
    if domain.name is not None or name is None or domain.id.scope == "builtin":
        return domain
    return replace(domain, name=name)
