"""The snapshots of a recording: of the sampled clocks, and of clocks of the caller's."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Mapping
from functools import partial
from typing import Final, NamedTuple

from tracetime._kernels.perfetto.writer import CLOSED
from tracetime.capture.calls import Calls
from tracetime.capture.flushing import Flushing
from tracetime.capture.problems import FULL, THE_FILE, Problems
from tracetime.capture.protocol import Sample, Sampler, clock_name
from tracetime.capture.schedule import Schedule
from tracetime.clocks.domain import ClockDomain
from tracetime.clocks.ids import BUILTIN_IDS, ClockId
from tracetime.clocks.snapshot import INT64_MAX, ReadingsByClock, Snapshot
from tracetime.errors import SourceError, UsageError
from tracetime.formats.perfetto.write.clocks import scoped
from tracetime.formats.perfetto.write.writer import TraceWriter
from tracetime.graph.tube.limits import Limits

# The error of floor, Perfetto's rule, between the snapshots of a recording.
#
# Floor uses the offset of the snapshot before, and interpolates nothing: just before the next one
# it is off by the change of the offset in the meantime, whatever the bars of the tube are.


class _TraceTimeOffset(NamedTuple):
    """An offset of a clock from trace time: when, ns of the reference, and its half-width."""

    at_ns: int
    ahead_ns: int
    half_ns: int


class FloorError:
    """The error of floor over the snapshots of a recording.

    Args:
        domains: the clocks that are sampled.

    Attributes:
        errors_ns: by clock, how far floor was off at most, half-widths included.
    """

    def __init__(self, domains: Mapping[ClockId, ClockDomain]) -> None:
        self._domains = domains
        self._last: dict[ClockId, _TraceTimeOffset] = {}
        self.errors_ns: dict[ClockId, int] = {}

    def observe(self, snapshot: Snapshot, trace_clock: ClockId) -> None:
        """Add a snapshot of single readings in ns; its clocks convert to `trace_clock`."""
        if snapshot.reference is None or trace_clock not in snapshot.readings:
            return
        at_ns, _ = _at_the_reference(snapshot, snapshot.reference)
        trace_ns, trace_half_ns = _at_the_reference(snapshot, trace_clock)
        for clock in snapshot.clocks:
            if clock != trace_clock:
                ns, half_ns = _at_the_reference(snapshot, clock)
                now = _TraceTimeOffset(at_ns, ns - trace_ns, half_ns + trace_half_ns)
                before, self._last[clock] = self._last.get(clock), now
                if before is not None:
                    self._compare(clock, trace_clock, before, now)

    def _compare(
        self, clock: ClockId, trace_clock: ClockId, before: _TraceTimeOffset, now: _TraceTimeOffset
    ) -> None:
        changed_ns = abs(now.ahead_ns - before.ahead_ns)
        one, other = (
            (self._domains.get(each) or ClockDomain.of_kind(each)).drift_ppm
            for each in (clock, trace_clock)
        )
        drifted_ns = Limits.of(one, other).spread(max(0, now.at_ns - before.at_ns))
        if changed_ns <= drifted_ns + before.half_ns + now.half_ns:
            # More is a step: around it the bars of the tube are wide, too.
            error_ns = changed_ns + now.half_ns
            self.errors_ns[clock] = max(self.errors_ns.get(clock, 0), error_ns)


def _at_the_reference(snapshot: Snapshot, clock: ClockId) -> tuple[int, int]:
    """The reading of a clock when the reference was read, and its half-width."""
    value_ns = snapshot.readings[clock].value
    assert isinstance(value_ns, int)
    centre, half = snapshot.centre_ns.get(clock), snapshot.half_width_ns.get(clock)
    return value_ns - (0 if centre is None else int(centre[0])), 0 if half is None else int(half[0])


_TRIES: Final = 5
"""Readings of which the quickest counts: an interrupt lengthens one of them."""

_READABLE: Final = {
    ClockId(BUILTIN_IDS[name]): getattr(time, f"CLOCK_{name}")
    for name in ("BOOTTIME", "MONOTONIC", "MONOTONIC_RAW", "REALTIME")
    if hasattr(time, f"CLOCK_{name}")
}


class CallersClock:
    """A reader of a clock between two readings of the clock of trace time.

    Attributes:
        name: of the clock.

    Raises:
        UsageError: Python cannot read the clock of trace time.
    """

    def __init__(
        self, domain: ClockDomain, read: Callable[[], int], trace_clock: ClockId | None
    ) -> None:
        if trace_clock not in _READABLE:
            raise UsageError(
                f"the clock of trace time is {trace_clock}, which cannot be read here: leave "
                "`read` out, and tie the clock in with snapshot()"
            )
        self.name = domain.name or str(domain.id)
        self._domain = domain
        self._clock = scoped(domain.id)
        self._read = read
        self._reference = trace_clock

    def snapshot(self) -> Snapshot:
        """The snapshot of the quickest of some readings."""
        quickest_ns, between_ns, ticks = min(self._read_bracket() for _ in range(_TRIES))
        # Both clocks may have just ticked, or be about to.
        steps_ns = math.ceil(max(self._domain.tick_ns or 0, self._domain.ns_per_tick or 0)) + 1
        return Snapshot(
            {self._reference: between_ns, self._clock: ticks},
            reference=self._reference,
            half_width_ns={self._clock: (quickest_ns + 1) // 2 + steps_ns},
        )

    def _read_bracket(self) -> tuple[int, int, int]:
        """The duration of a reading, trace time in its middle, and the reading."""
        posix = _READABLE[self._reference]
        before_ns = time.clock_gettime_ns(posix)
        ticks = self._read()
        after_ns = time.clock_gettime_ns(posix)
        if (
            not hasattr(ticks, "__index__")
            or isinstance(ticks, bool)
            or not 0 <= ticks <= INT64_MAX
        ):
            raise UsageError(
                f"{self.name} was read as {ticks!r}: a reading is a whole number of ticks, from 0 "
                "to 2^63 - 1"
            )
        return after_ns - before_ns, (before_ns + after_ns) // 2, ticks


class Snapshots:
    """A taker and writer of snapshots, one at a time.

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
        """Take or write a snapshot; see `Recorder.snapshot`."""
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
        """Return whether the file has reached its `max_size`, and note that as a problem."""
        if self._writer.full:
            self._problems.note(THE_FILE, FULL)
            return True
        return False

    def _sample(self) -> tuple[Sample, bool]:
        """Return a sample, written, and whether it is time to flush."""
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
        """The caller's snapshot, and the names of its clocks."""
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
