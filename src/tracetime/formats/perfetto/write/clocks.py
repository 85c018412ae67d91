"""The clocks of a recording: the callers' names, the ids that are written, the ticks.

Which of them a snapshot contains, and in what order: snapshots.py.
"""

from __future__ import annotations

import itertools
import time
import warnings
from collections.abc import Iterable
from fractions import Fraction
from typing import Final, NamedTuple

from tracetime._kernels.perfetto.writer import EventClock, PacketBuffer, Sequence
from tracetime.clocks.domain import ClockDomain
from tracetime.clocks.ids import (
    BUILTIN_IDS,
    FIRST_GLOBAL_CLOCK,
    FIRST_HASHED_CLOCK,
    OWN_PREFIX,
    ClockId,
    ClockLike,
    clock_id,
)
from tracetime.errors import UsageError

# The clocks that snapshots of a recording have tied together so far.


class Ties:
    """The clocks in groups: those of one snapshot are in one."""

    def __init__(self) -> None:
        self._group: dict[ClockId, set[ClockId]] = {}
        self._known: set[frozenset[ClockId]] = set()

    def add(self, clocks: Iterable[ClockId]) -> None:
        """A snapshot has these clocks."""
        together = frozenset(clocks)
        if together in self._known:
            return
        self._known.add(together)
        merged = set(together)
        for clock in together:
            merged |= self._group.get(clock, set())
        for clock in merged:
            self._group[clock] = merged

    def with_clock(self, clock: ClockId) -> set[ClockId]:
        """The clocks that snapshots lead to from one, with itself; none if no snapshot has it."""
        return self._group.get(clock, set())


SNAPSHOT_SEQUENCE: Final = 1
"""The packet sequence of snapshots and tracks; clocks 64 to 127 are scoped to it."""

TSC_NAME: Final = OWN_PREFIX + "tsc"
"""The time stamp counter in a trace: Perfetto's TSC (9) has no rate."""

_KERNEL_NAMES: Final = {OWN_PREFIX + "tai"}
"""Clocks of the kernel that Perfetto has no number for: the same ns in every process."""

_NO_POSIX_CLOCK: Final = -1
_POSIX: Final = {
    BUILTIN_IDS[name]: getattr(time, f"CLOCK_{name}", _NO_POSIX_CLOCK)
    for name in ("REALTIME", "MONOTONIC", "MONOTONIC_RAW", "BOOTTIME")
}


FILLER_NAME: Final = "(only orders a snapshot's clocks)"
"""The name of clocks that nobody reads; no event uses one."""


class RecordedClock(NamedTuple):
    """A clock of the recording: its properties, the id that is written, and its part in events."""

    domain: ClockDomain
    written: ClockId
    events: EventClock


class RecordedClocks:
    """The clocks that were declared, by the ids that callers use and by those written.

    Attributes:
        snapshot_sequence: the sequence of snapshots, tracks and sequence-scoped clocks.
        trace_clock: the clock of trace time; None before the first snapshot.
        undescribed: clocks whose properties are not in the trace yet.

    Args:
        buffer: takes packets.
        label: of a part of a recording: ends the names of its clocks but the kernel's.
    """

    def __init__(self, buffer: PacketBuffer, label: str = "") -> None:
        self._buffer = buffer
        self._label = label
        self.snapshot_sequence = Sequence(buffer, SNAPSHOT_SEQUENCE, 0)
        self._sequences = {0: self.snapshot_sequence}
        self._sequence_ids = itertools.count(SNAPSHOT_SEQUENCE + 1)
        self._clocks: dict[ClockId, RecordedClock] = {}
        self._names: dict[str, ClockId] = {}
        self.trace_clock: ClockId | None = None
        self._ties = Ties()
        self.undescribed: set[ClockId] = set()

    def get(self, clock: ClockId) -> RecordedClock | None:
        """A clock by the id it was declared with, or the one written; None if it was not."""
        return self._clocks.get(scoped(clock))

    def all(self) -> dict[ClockId, RecordedClock]:
        """Every clock in the order of declaring, also by its second id."""
        return self._clocks

    def declare(self, domain: ClockDomain, short_name: str | None = None) -> RecordedClock:
        """Make a clock known, before its first reading.

        A clock that does not count ns in 64 bits is written in ns, unwrapped; callers give its
        readings and timestamps in its own ticks.

        Args:
            domain: its properties.
            short_name: a further name for callers: `vulkan:0`.

        Raises:
            UsageError: no ClockDomain, clock 64 to 127 of another sequence than this writer's, a
                clock of another machine, one with no rate, one that was declared otherwise.
        """
        if not isinstance(domain, ClockDomain):
            raise UsageError(f"a clock is declared by its ClockDomain, not {domain!r}")
        clock = scoped(domain.id)
        known = self._clocks.get(clock)
        if known is not None:
            if _nature(known.domain) != _nature(domain):
                raise UsageError(
                    f"{clock} is already recorded with {known.domain.ns_per_tick} ns a tick and "
                    f"{known.domain.valid_bits} bits: declare it before the first snapshot"
                )
            name = self._written_as(clock, domain.name)[1] if domain.name else known.domain.name
            self._clocks[clock] = known._replace(domain=_with_id(domain, known.written, name))
            self.undescribed.add(clock)
            return self._clocks[clock]
        rate = _rate(clock, domain)
        _warn_of_number(clock)
        name = domain.name or (TSC_NAME if clock.clock == BUILTIN_IDS["TSC"] else None)
        written, written_name = self._written_as(clock, name)
        made = RecordedClock(
            _with_id(domain, written, written_name),
            written,
            EventClock(
                self._sequence_of(written),
                written.clock,
                name or str(clock),
                written.is_sequence_scoped,
                _POSIX.get(written.clock, _NO_POSIX_CLOCK),
                (rate.numerator, rate.denominator),
                domain.valid_bits,
            ),
        )
        # A signal's handler may have declared it meanwhile: keep one of each.
        made = self._clocks.setdefault(clock, made)
        self._clocks.setdefault(written, made)
        is_tsc = clock.clock == BUILTIN_IDS["TSC"]
        for alias in (name, written_name, TSC_NAME if is_tsc else None, short_name):
            if alias:
                self._names[alias] = clock
        self.undescribed.add(clock)
        return made

    def _written_as(self, clock: ClockId, name: str | None) -> tuple[ClockId, str | None]:
        """The id and the name that are written."""
        tsc = clock.clock == BUILTIN_IDS["TSC"]
        if self._label and (tsc or clock.scope == "global") and name not in _KERNEL_NAMES:
            # Processes may begin to count the wraps of a counter at other times, and measure
            # other rates of it.
            name = f"{name or clock}.{self._label}"
            return ClockId(clock_id(name)), name
        return (ClockId(clock_id(TSC_NAME)), name) if tsc else (clock, name)

    def tie(self, clocks: Iterable[ClockId]) -> None:
        """A snapshot with these clocks is in the trace."""
        self._ties.add(self._clocks[scoped(clock)].written for clock in clocks)

    @property
    def sequences(self) -> int:
        """The number of packet sequences; they are numbered from 1."""
        return len(self._sequences)

    def _sequence_of(self, clock: ClockId) -> Sequence:
        """Each clock is the default of a packet sequence: then its packets need not name it."""
        number = 0 if clock.is_sequence_scoped else clock.clock
        if number not in self._sequences:
            made = Sequence(self._buffer, next(self._sequence_ids), number)
            self._sequences.setdefault(number, made)
        return self._sequences[number]

    def clock(self, clock: ClockLike) -> ClockId:
        """The clock that a caller named: a name that was declared, or what ClockId.parse takes.

        `TSC` and `TAI` are the clocks that tracetime has names for.
        """
        if isinstance(clock, str):
            for name in (clock, OWN_PREFIX + clock.lower()):
                if name in self._names:
                    return self._names[name]
        return scoped(ClockId.parse(clock))

    def written(self, clock: ClockLike | None) -> ClockId:
        """The id of a clock in the trace.

        Raises:
            UsageError: it is not recorded.
        """
        return self._recorded_clock(clock).written

    def event_clock(self, clock: ClockLike | None) -> EventClock:
        """The clock that a caller named for an event; None for the clock of trace time.

        Raises:
            UsageError: it is not recorded, or no snapshot leads from it to trace time so far: such
                an event would be lost.
        """
        known = self._recorded_clock(clock)
        others = self._ties.with_clock(known.written)
        if self.trace_clock in others or not self._buffer.has_room(1):
            return known.events
        name = known.events.name
        reference = "BOOTTIME" if self.trace_clock is None else self._name(self.trace_clock)
        advice = (
            f'take one with both before its first event: rec.snapshot({{"{name}": its reading, '
            f'"{reference}": ns}})'
        )
        if not others:
            raise UsageError(f"no snapshot has {name} yet: {advice}")
        names = ", ".join(sorted(map(self._name, others - {known.written})))
        raise UsageError(
            f"the snapshots of {name} have {names} alone, which lead nowhere: {advice}"
        )

    def _name(self, clock: ClockId) -> str:
        return self._clocks[clock].events.name

    def _recorded_clock(self, clock: ClockLike | None) -> RecordedClock:
        if clock is None:
            if self.trace_clock is None:
                raise UsageError("no clock has been read yet: say which the event is in")
            return self._clocks[self.trace_clock]
        known = self._clocks.get(self.clock(clock))
        if known is None:
            named = {known.events.name for known in self._clocks.values()} - {FILLER_NAME}
            names = ", ".join(sorted(named))
            raise UsageError(
                f"no snapshot has {clock}: record it, or tie it in with a snapshot; there are "
                f"{names or 'none yet'}"
            )
        return known


def scoped(clock: ClockId) -> ClockId:
    """A clock 64 to 127 belongs to this writer's one sequence that has such clocks."""
    if not clock.is_sequence_scoped:
        return clock
    if clock.sequence not in (0, SNAPSHOT_SEQUENCE):
        raise UsageError(
            f"{clock} is of another packet sequence: a recording's clocks 64 to 127 are those of "
            f"sequence {SNAPSHOT_SEQUENCE}; leave @seq{clock.sequence} out"
        )
    return ClockId(clock.clock, SNAPSHOT_SEQUENCE, clock.machine, clock.file)


def _warn_of_number(clock: ClockId) -> None:
    if FIRST_GLOBAL_CLOCK <= clock.clock < FIRST_HASHED_CLOCK:
        warnings.warn(
            f"clock {clock.clock} is every producer's of this trace: if another one takes the same "
            'number, both are wrong; give the clock a name ("com.example.gpu"), which has a number '
            "of its own",
            stacklevel=2,
        )


def _rate(clock: ClockId, domain: ClockDomain) -> Fraction:
    """The ns per tick for writing a clock; an error if it cannot be recorded."""
    rate = domain.ns_per_tick
    if rate is None:
        raise UsageError(f"{clock} has no ns_per_tick: measure it, and declare it so")
    if clock.machine or clock.file:
        raise UsageError(f"{clock} is not of this machine: only its own clocks are recorded")
    if max(rate.as_integer_ratio()) >= 1 << 63:
        raise UsageError(
            f"{clock} has {rate} ns a tick: use a fraction of smaller numbers "
            "(Fraction.limit_denominator)"
        )
    return rate


def _nature(domain: ClockDomain) -> tuple[Fraction | None, int]:
    return domain.ns_per_tick, domain.valid_bits


def _with_id(domain: ClockDomain, written: ClockId, name: str | None) -> ClockDomain:
    """The domain with the id and the name that are written."""
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
