"""The snapshots of a recording: of the sampled clocks, and those that the caller gives."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from functools import partial

from tracetime._kernels.perfetto.writer import CLOSED
from tracetime.capture.callers_clock import CallersClock
from tracetime.capture.calls import Calls
from tracetime.capture.clock_names import clock_name
from tracetime.capture.floor_error import FloorError
from tracetime.capture.flushing import Flushing
from tracetime.capture.problems import FULL, THE_FILE, Problems
from tracetime.capture.protocol import Sample, Sampler
from tracetime.capture.schedule import Schedule
from tracetime.clocks.domain import ClockDomain
from tracetime.clocks.ids import ClockId
from tracetime.clocks.snapshot import ReadingsByClock, Snapshot
from tracetime.errors import SourceError, UsageError
from tracetime.formats.perfetto.write.writer import TraceWriter


class Snapshots:
    """Takes snapshots and writes them, one at a time.

    Args:
        writer: of the trace.
        sampler: of the clocks.
        schedule: learns from each sample; None if snapshots come only by calls.
        calls, problems, flushing: the recording's.

    Attributes:
        closed: nothing is added any more but the last snapshot.
        floor_errors_ns: by clock, what floor was off by at most so far.
    """

    def __init__(
        self,
        writer: TraceWriter,
        sampler: Sampler,
        schedule: Schedule | None,
        calls: Calls,
        problems: Problems,
        flushing: Flushing,
    ) -> None:
        self._writer = writer
        self._sampler = sampler
        self._schedule = schedule
        self._calls = calls
        self._problems = problems
        self._flushing = flushing
        self._floor = FloorError(sampler.domains)
        self.floor_errors_ns: Mapping[ClockId, int] = self._floor.errors_ns
        self._reads: dict[ClockId, CallersClock] = {}
        self.closed = False

    def snapshot(self, readings: ReadingsByClock | Snapshot | None) -> Snapshot | None:
        """What `Recorder.snapshot` does, and says."""
        if readings is not None:
            snapshot, names = self._parse(readings)
        if self._calls.sampling:
            # A signal's handler: the frame that it interrupts does it later.
            if readings is not None:
                self._calls.after_snapshot(partial(self._write, snapshot, names))
                return snapshot
            self._calls.after_snapshot(self.take)
            return None
        if self.closed:
            if self._calls.busy and readings is None:
                # The last snapshot is yet to come, or has just been taken.
                return None
            raise UsageError(CLOSED)
        if readings is None:
            snapshot = self._calls.run(self.take).snapshot
        else:
            self._calls.run(partial(self._write, snapshot, names))
        if not self._flushing.in_background:
            self._flushing.flush()
        return snapshot

    def take(self) -> Sample:
        """Sample the clocks, and write the snapshot; then one of each clock of the caller's."""
        sample, flush = self._calls.alone(self._sample)
        if flush:
            self._flushing.request()
        for clock in list(self._reads.values()):
            try:
                self._write(clock.snapshot(), {})
            except Exception as error:
                self._problems.note(clock.name, f"cannot be read: {error}")
        return sample

    def add_read(self, domain: ClockDomain, read: Callable[[], int]) -> None:
        """Read a clock of the caller's now, and after each sample from now on."""
        clock = CallersClock(domain, read, self._writer.trace_clock)
        self._calls.run(partial(self._write, clock.snapshot(), {}))
        self._reads[domain.id] = clock

    def try_to_take(self, what: str) -> None:
        """Sample the clocks; a failure is a problem of `what`."""
        try:
            self.take()
        except (SourceError, UsageError) as error:
            self._problems.note(what, str(error))

    def note_full(self) -> bool:
        """Whether the file has reached its `max_size`, which is a problem."""
        if self._writer.full:
            self._problems.note(THE_FILE, FULL)
            return True
        return False

    def _sample(self) -> tuple[Sample, bool]:
        """A sample, written; and whether it is time to flush."""
        sample = self._sampler.sample()
        for clock, message in sample.failed.items():
            self._problems.note(clock_name(self._sampler, clock), message)
        for finding in sample.findings:
            self._problems.note(finding.clock, finding.message)
        if self._schedule is not None:
            self._schedule.observe(sample.snapshot)
        if not self.closed and self.note_full():
            return sample, False
        flush = self._writer.snapshot(
            sample.snapshot,
            counts={clock: (count[0], count[1]) for clock, count in sample.counts.items()},
            kernel_clock=sample.adjtimex,
            wall_bound=sample.wall_bound,
            main=True,
        )
        if self._writer.trace_clock is not None:
            self._floor.observe(sample.snapshot, self._writer.trace_clock)
        return sample, flush

    def _write(self, snapshot: Snapshot, names: dict[ClockId, str]) -> None:
        """Write a snapshot that the caller gave."""
        if not self._writer.full and self._calls.alone(
            partial(self._writer.snapshot, snapshot, names=names)
        ):
            self._flushing.request()
        self.note_full()

    def _parse(self, readings: ReadingsByClock | Snapshot) -> tuple[Snapshot, dict[ClockId, str]]:
        """The snapshot that the caller gave, and what clocks were called there."""
        names: dict[ClockId, str] = {}
        if isinstance(readings, Snapshot):
            snapshot = readings
        else:
            snapshot, names = self._parse_mapping(readings)
        if len(snapshot.clocks) < 2:
            raise UsageError(
                "one clock alone ties nothing: add what a recorded clock read at that moment"
            )
        return snapshot, names

    def _parse_mapping(self, readings: ReadingsByClock) -> tuple[Snapshot, dict[ClockId, str]]:
        if not isinstance(readings, Mapping):
            raise UsageError(
                f"readings is a dict of clock to value, not a {type(readings).__name__}"
            )
        clocks = {key: self._writer.clock(key) for key in readings}
        for clock, times in Counter(clocks.values()).items():
            if times > 1:
                raise UsageError(f"clock {clock} appears twice in one snapshot: give one reading")
        # A clock's number does not reveal its name: keep what the caller calls it.
        names = {
            clock: key
            for key, clock in clocks.items()
            if isinstance(key, str) and clock.scope == "global" and "." in key
        }
        return Snapshot({clocks[key]: value for key, value in readings.items()}), names
