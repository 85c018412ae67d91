"""A Perfetto trace being written: snapshots, tracks, and events of any clock that snapshots tie in.

Nothing here reads a clock or starts a thread: that is capture/recorder.py's. Bytes are made in
`_kernels/writer.pyx` (events) and `_kernels/packets.pyx`, and put into the file by output.py.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Mapping
from fractions import Fraction
from typing import Any, Final, NamedTuple

from tracetime._kernels import packets
from tracetime._kernels.writer import (
    EventClock,
    EventWriter,
    PacketBuffer,
    Sequence,
    TimestampError,
    Track,
)
from tracetime.clocks import BUILTIN_IDS, ClockId, clock_id
from tracetime.domain import ClockDomain
from tracetime.errors import UsageError
from tracetime.perfetto.extension import Extension, KernelClock, encode, encode_domain
from tracetime.perfetto.ordering import Order, Orders
from tracetime.perfetto.output import TraceOutput
from tracetime.snapshot import Snapshot

SNAPSHOT_SEQUENCE: Final = 1
"""The packet sequence of snapshots and tracks; clocks 64 to 127 are scoped to it."""

BUFFER_BYTES: Final = 64 << 20
FLUSH_BYTES: Final = 1 << 20
DOMAINS_EVERY: Final = 60
"""How many snapshots have the clocks' properties once."""

OWN_PREFIX: Final = "dev.tracetime."
"""Of the names of clocks that Perfetto has no number for."""

TSC_NAME: Final = OWN_PREFIX + "tsc"
"""What the time stamp counter is written as: Perfetto's TSC (9) has no rate."""

# What the last snapshot and what is lost at the end may take beyond max_size's events.
_KEPT_FOR_END: Final = 4096
_NO_POSIX_CLOCK: Final = -1
_POSIX: Final = {
    BUILTIN_IDS[name]: getattr(time, f"CLOCK_{name}", _NO_POSIX_CLOCK)
    for name in ("REALTIME", "MONOTONIC", "MONOTONIC_RAW", "BOOTTIME")
}
# What trace time is, if recorded: the first of these never goes back, and counts sleep.
_TRACE_CLOCKS: Final = ("BOOTTIME", "MONOTONIC", "MONOTONIC_RAW", "REALTIME")


class _Clock(NamedTuple):
    """A clock of the recording: what it is, what it is written as, and its events' side."""

    domain: ClockDomain
    written: ClockId
    events: EventClock


class TraceWriter:
    """A trace file with its clocks, tracks and events.

    Threads may share one. Events wait in memory until `flush`; snapshots and tracks are never
    dropped, events are where more than `buffer_bytes` wait or `max_size` is reached, and counted
    in the trace.

    Attributes:
        path: of the file.
        trace_clock: what trace time is; None before the first snapshot.

    Args:
        path: of the file; one that is there is replaced.
        max_size: bytes that the file may have; None for as many as it takes.
        buffer_bytes: bytes that may wait for the disk, before events are dropped.
        flush_bytes: bytes waiting at which an event's method says that it is time to flush.

    Raises:
        UsageError: the file cannot be made, or a size is too small.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        max_size: int | None = None,
        buffer_bytes: int = BUFFER_BYTES,
        flush_bytes: int = FLUSH_BYTES,
    ) -> None:
        if max_size is not None and max_size < 4 * _KEPT_FOR_END:
            raise UsageError(f"max_size is {max_size}: use {4 * _KEPT_FOR_END} bytes or more")
        if buffer_bytes < 4096 or flush_bytes < 1:
            raise UsageError("buffer_bytes is 4096 or more, flush_bytes 1 or more")
        self._buffer = PacketBuffer(
            buffer_bytes, 0 if max_size is None else max_size - _KEPT_FOR_END, flush_bytes
        )
        self._output = TraceOutput(path, self._buffer.written)
        self.path = self._output.path
        self.trace_clock: ClockId | None = None
        self._own = object()
        self._events = EventWriter(self._buffer, self._event_clock, self._own)
        self._sequences = {
            0: Sequence(self._buffer, SNAPSHOT_SEQUENCE, 0),
        }
        self._clocks: dict[ClockId, _Clock] = {}
        self._names: dict[str, ClockId] = {}
        self._undeclared: set[ClockId] = set()
        self._tracks: dict[tuple[Any, ...], Track] = {}
        self._orders = Orders()
        self._last_reference_ns = 0
        self._snapshots = 0
        self._lock = threading.Lock()
        self._flushing = threading.Lock()
        self._closed = False
        self._process = os.getpid()
        self._sequences[0].begin()

    # Clocks

    def declare(self, domain: ClockDomain) -> ClockId:
        """Make a clock known, before its first reading; returns what it is written as.

        A clock that ticks otherwise than in ns of 64 bits is written in ns, unwrapped; its
        readings and timestamps are given in its own ticks all the same.

        Raises:
            UsageError: clock 64 to 127 of another sequence than this writer's, a clock of another
                machine, one with no rate, one that has been declared otherwise.
        """
        with self._lock:
            return self._declare(domain).written

    def _declare(self, domain: ClockDomain) -> _Clock:
        clock = _scoped(domain.id)
        known = self._clocks.get(clock)
        if known is not None:
            if _nature(known.domain) != _nature(domain):
                raise UsageError(
                    f"{clock} is already recorded with {known.domain.ns_per_tick} ns a tick and "
                    f"{known.domain.valid_bits} bits: declare it before the first snapshot"
                )
            self._clocks[clock] = known._replace(domain=_as(domain, known.written))
            self._undeclared.add(clock)
            return self._clocks[clock]
        if domain.ns_per_tick is None:
            raise UsageError(f"{clock} has no ns_per_tick: measure it, and declare it so")
        if clock.machine or clock.file:
            raise UsageError(f"{clock} is not of this machine: only its own clocks are recorded")
        if max(domain.ns_per_tick.as_integer_ratio()) >= 1 << 63:
            raise UsageError(
                f"{clock} has {domain.ns_per_tick} ns a tick: use a fraction of smaller numbers "
                "(Fraction.limit_denominator)"
            )
        written = clock
        if clock.clock == BUILTIN_IDS["TSC"]:
            written = ClockId(clock_id(TSC_NAME))
        name = domain.name or (TSC_NAME if written != clock else None)
        made = _Clock(
            _as(domain, written),
            written,
            EventClock(
                self._sequence_of(written),
                written.clock,
                name or str(clock),
                written.is_sequence_scoped,
                _POSIX.get(written.clock, _NO_POSIX_CLOCK),
                (domain.ns_per_tick.numerator, domain.ns_per_tick.denominator),
                domain.valid_bits,
            ),
        )
        self._clocks[clock] = self._clocks[written] = made
        for alias in (name, TSC_NAME if written != clock else None):
            if alias:
                self._names[alias] = clock
        self._undeclared.add(clock)
        return made

    def _sequence_of(self, clock: ClockId) -> Sequence:
        """Each clock has a packet sequence with it as default, which leaves it out of packets."""
        number = 0 if clock.is_sequence_scoped else clock.clock
        if number not in self._sequences:
            self._sequences[number] = Sequence(
                self._buffer, SNAPSHOT_SEQUENCE + len(self._sequences), number
            )
        return self._sequences[number]

    def clock(self, clock: Any) -> ClockId:
        """The clock that a caller named: a name that was declared, or all that ClockId takes.

        `TSC` and `TAI` are those that tracetime has names for.
        """
        if isinstance(clock, str):
            for name in (clock, OWN_PREFIX + clock.lower()):
                if name in self._names:
                    return self._names[name]
        return _scoped(ClockId.parse(clock))

    def written(self, clock: Any) -> ClockId:
        """The id under which a clock stands in the trace.

        Raises:
            UsageError: it is not recorded.
        """
        return _scoped(ClockId(self._event_clock(clock).clock))

    def _event_clock(self, clock: Any) -> EventClock:
        """The clock of an event as the caller named it; None is trace time's."""
        if clock is None:
            if self.trace_clock is None:
                raise UsageError("no clock has been read yet: say which the event is in")
            return self._clocks[self.trace_clock].events
        known = self._clocks.get(self.clock(clock))
        if known is None:
            names = ", ".join(sorted({known.events.name for known in self._clocks.values()}))
            raise UsageError(
                f"no snapshot has {clock}: record it, or tie it in with a snapshot; there are "
                f"{names or 'none yet'}"
            )
        return known.events

    def to_ns(self, raw: int, clock: Any) -> int:
        """What a reading of a clock would be written as now: its ticks unwrapped, in ns."""
        events = self._event_clock(clock)
        if not events.scaled:
            return raw
        try:
            return events.convert(raw)
        except (TimestampError, TypeError, OverflowError) as error:
            raise UsageError(str(error)) from error

    # Snapshots

    def snapshot(
        self,
        snapshot: Snapshot,
        *,
        counts: Mapping[ClockId, tuple[int, int]] | None = None,
        kernel_clock: tuple[int, ...] | None = None,
        main: bool = False,
        names: Mapping[ClockId, str] | None = None,
    ) -> bool:
        """Write readings of clocks that belong together; whether it is time to flush.

        Args:
            snapshot: single readings, in each clock's ticks. A clock that nobody has declared is
                taken for what its kind is.
            counts: clocks whose reading is in ns already, with the ticks that they said and the
                same unwrapped.
            kernel_clock: how the kernel steered its clocks then, in the order of `KernelClock`.
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
            kernel = None if kernel_clock is None else KernelClock(*kernel_clock)
            try:
                return self._snapshot(snapshot, counts or {}, kernel, main, names or {})
            except (TimestampError, TypeError, OverflowError) as error:
                raise UsageError(str(error)) from error

    def _snapshot(
        self,
        snapshot: Snapshot,
        counts: Mapping[ClockId, tuple[int, int]],
        kernel_clock: KernelClock | None,
        main: bool,
        names: Mapping[ClockId, str],
    ) -> bool:
        clocks = {}
        for clock in snapshot.clocks:
            scoped = _scoped(clock)
            known = self._clocks.get(scoped) or self._declare(
                ClockDomain(scoped, name=names.get(clock))
            )
            clocks[clock] = known
        readings, raws = self._readings(snapshot, clocks, counts)
        order = self._orders.next({written: ns for written, (ns, _) in readings.items()}, main=main)
        if order.filler is not None and order.filler not in readings:
            readings[order.filler] = self._fill(order.filler, snapshot, clocks, readings), 1
        if self.trace_clock is None:
            self.trace_clock = _trace_clock({known.written for known in clocks.values()})
        primary = self.trace_clock.clock if self.trace_clock.scope == "builtin" else 0
        extension = self._extension(snapshot, clocks, order, raws, kernel_clock)
        packet = packets.snapshot_packet(
            SNAPSHOT_SEQUENCE,
            primary,
            [(clock.clock, *readings[clock]) for clock in order.clocks],
            encode(extension),
        )
        self._snapshots += 1
        return self._buffer.put(packet)

    def _readings(
        self,
        snapshot: Snapshot,
        clocks: Mapping[ClockId, _Clock],
        counts: Mapping[ClockId, tuple[int, int]],
    ) -> tuple[dict[ClockId, tuple[int, int]], dict[ClockId, int]]:
        """By written clock, (what is written, unit), and what to add to it for the ticks read."""
        readings, raws = {}, {}
        elapsed_ns = 0
        if snapshot.reference is not None:
            reference_ns = _single(snapshot, snapshot.reference)
            elapsed_ns = reference_ns - self._last_reference_ns
            self._last_reference_ns = reference_ns
        for clock, known in clocks.items():
            raw = value = _single(snapshot, clock)
            if clock in counts:
                raw, ticks = counts[clock]
                known.events.follow(raw, ticks)
            elif known.events.scaled:
                value = known.events.read(raw, elapsed_ns)
            if value < 0:
                raise UsageError(f"the reading of {clock} is below 0: {value}")
            readings[known.written] = value, snapshot.readings[clock].unit_ns
            raws[known.written] = _signed(raw - value)
        return readings, raws

    def _fill(
        self,
        filler: ClockId,
        snapshot: Snapshot,
        clocks: Mapping[ClockId, _Clock],
        readings: Mapping[ClockId, tuple[int, int]],
    ) -> int:
        reference = snapshot.reference or snapshot.clocks[0]
        if filler not in self._clocks:
            self._declare(ClockDomain(filler, name="(only orders a snapshot's clocks)"))
        return readings[clocks[reference].written][0]

    def _extension(
        self,
        snapshot: Snapshot,
        clocks: Mapping[ClockId, _Clock],
        order: Order,
        raws: Mapping[ClockId, int],
        kernel_clock: KernelClock | None,
    ) -> Extension:
        given = {known.written: clock for clock, known in clocks.items()}
        told = self._undeclared & {*clocks, *order.clocks}
        if self._snapshots % DOMAINS_EVERY == 0:
            told = {known.written for known in clocks.values()}
        self._undeclared -= {*clocks, *order.clocks}
        # In the order they were declared in; a clock that goes by two ids is told of once.
        domains = {
            known.written: encode_domain(known.domain)
            for clock, known in self._clocks.items()
            if clock in told
        }
        reference, centres, halves = None, [], []
        if snapshot.reference is not None:
            reference = order.clocks.index(clocks[snapshot.reference].written)
            for written in order.clocks:
                clock = given.get(written, snapshot.reference)
                centres.append(_of(snapshot.centre_ns, clock, 0))
                known = 0 if clock == snapshot.reference else -1
                halves.append(_of(snapshot.half_width_ns, clock, known))
        return Extension(
            reference,
            centres,
            halves,
            [raws.get(written, 0) for written in order.clocks],
            kernel_clock,
            list(domains.values()),
            self._buffer.dropped,
        )

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
        return self._track((packets.CUSTOM, name, parent), packets.CUSTOM, name, parent)

    def counter_track(
        self, name: str, unit: str | None = None, parent: Track | None = None
    ) -> Track:
        """A track that holds the values of a counter; unit is what they are called."""
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
        """The track of that key, made and written where it is new."""
        with self._lock:
            found = self._tracks.get(key)
            if found is not None:
                return found
            named = kind in (packets.CUSTOM, packets.COUNTER)
            if (named or name is not None) and not (isinstance(name, str) and name):
                raise UsageError(f"a track's name is a string that is not empty, not {name!r}")
            if parent is not None and parent.writer is not self._own:
                raise UsageError(f"{parent!r} is another recording's: make it with this one")
            made = Track(self._own, len(self._tracks) + 1, name, kind == packets.COUNTER)
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
                self._buffer.put(packet)
            except TimestampError as error:
                raise UsageError(str(error)) from error
            self._tracks[key] = made
            return made

    # Events: see `Recorder` for what the arguments are. Each says whether it is time to flush.

    def instant(self, name: str, timestamp: int | None, clock: Any, track: Track) -> bool:
        try:
            return self._events.instant(name, timestamp, clock, track)
        except (TimestampError, TypeError, OverflowError) as error:
            raise _usage(error, timestamp) from error

    def begin(self, name: str, timestamp: int | None, clock: Any, track: Track) -> bool:
        try:
            return self._events.begin(name, timestamp, clock, track)
        except (TimestampError, TypeError, OverflowError) as error:
            raise _usage(error, timestamp) from error

    def end(self, timestamp: int | None, clock: Any, track: Track) -> bool:
        try:
            return self._events.end(timestamp, clock, track)
        except (TimestampError, TypeError, OverflowError) as error:
            raise _usage(error, timestamp) from error

    def counter(self, value: float, timestamp: int | None, clock: Any, track: Track) -> bool:
        try:
            return self._events.counter(value, timestamp, clock, track)
        except (TimestampError, TypeError, OverflowError) as error:
            raise _usage(error, timestamp) from error

    # The file

    @property
    def events_dropped(self) -> int:
        """Events that were not written, because the disk was slow or the file full."""
        return self._buffer.dropped

    @property
    def snapshots(self) -> int:
        """Snapshots written so far."""
        return self._snapshots

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

    def flush(self) -> None:
        """Put all that waits into the file: it survives the end of this process from then on.

        Raises:
            UsageError: the file cannot be written; what is in it is a whole trace, the rest
                waits, and is tried again at the next flush.
        """
        with self._flushing:
            # A forked child has a copy of what waits, and the parent's place in the file.
            if not self._closed and os.getpid() == self._process:
                self._output.write(self._buffer.take())

    def close(self) -> None:
        """Flush, and give the file back.

        Raises:
            UsageError: the file cannot be written; it is closed all the same.
        """
        with self._flushing:
            if self._closed:
                return
            self._closed = True
            self._buffer.close()
            try:
                if os.getpid() == self._process:
                    self._output.write(self._buffer.take())
            except UsageError as error:
                raise UsageError(
                    f"{error}; {self._buffer.in_flight} bytes of the recording are lost"
                ) from error
            finally:
                self._output.close()


def _scoped(clock: ClockId) -> ClockId:
    """A clock 64 to 127 belongs to this writer's one sequence that has such clocks."""
    if not clock.is_sequence_scoped:
        return clock
    if clock.sequence not in (0, SNAPSHOT_SEQUENCE):
        raise UsageError(
            f"{clock} is of another packet sequence: a recording's clocks 64 to 127 are those of "
            f"sequence {SNAPSHOT_SEQUENCE}; leave @seq{clock.sequence} out"
        )
    return ClockId(clock.clock, SNAPSHOT_SEQUENCE, clock.machine, clock.file)


def _nature(domain: ClockDomain) -> tuple[Fraction | None, int]:
    return domain.ns_per_tick, domain.valid_bits


def _as(domain: ClockDomain, written: ClockId) -> ClockDomain:
    """The domain under the id that is written, with a name wherever the id has none."""
    name = domain.name
    if name is None and written != domain.id and written.scope == "global":
        name = TSC_NAME
    return ClockDomain(
        written,
        name=name,
        tick_ns=domain.tick_ns,
        ns_per_tick=domain.ns_per_tick,
        valid_bits=domain.valid_bits,
        max_drift_ppm=domain.max_drift_ppm,
        wander_ppm=domain.wander_ppm,
        oscillator=domain.oscillator,
        disciplined=domain.disciplined,
    )


def _trace_clock(written: set[ClockId]) -> ClockId:
    for name in _TRACE_CLOCKS:
        if ClockId(BUILTIN_IDS[name]) in written:
            return ClockId(BUILTIN_IDS[name])
    return min(written)


def _single(snapshot: Snapshot, clock: ClockId) -> int:
    value = snapshot.readings[clock].value
    assert isinstance(value, int)
    return value


def _of(columns: Mapping[ClockId, Any], clock: ClockId, otherwise: int) -> int:
    return int(columns[clock][0]) if clock in columns else otherwise


def _signed(value: int) -> int:
    """The int64 that is the same modulo 2^64."""
    return (value + (1 << 63)) % (1 << 64) - (1 << 63)


def _number(value: int, what: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 1 << 31:
        raise UsageError(f"{what} is a whole number of a process or thread, not {value!r}")
    return value


def _usage(error: Exception, timestamp: object) -> UsageError:
    if isinstance(error, TimestampError):
        return UsageError(str(error))
    return UsageError(
        f"an event takes a timestamp that is a whole number within int64, and its track ({error}; "
        f"the timestamp is {timestamp!r})"
    )
