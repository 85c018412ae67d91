"""Makes the packet of a snapshot: readings in ns, in an order that Perfetto resolves; extension.

The clocks: clocks.py. The fields of the extension: formats/perfetto/extension.py. How readings are
brought to one instant: graph/tube/simultaneity.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from tracetime._kernels.perfetto import packets
from tracetime.clocks.domain import ClockDomain
from tracetime.clocks.families import steadiness
from tracetime.clocks.ids import BUILTIN_IDS, ClockId
from tracetime.clocks.kernel_clock import KernelClock, WallBound
from tracetime.clocks.snapshot import Snapshot
from tracetime.errors import UsageError
from tracetime.formats.perfetto.extension import Extension, encode, encode_domain
from tracetime.formats.perfetto.write.clocks import (
    FILLER_NAME,
    SNAPSHOT_SEQUENCE,
    RecordedClock,
    RecordedClocks,
    scoped,
)
from tracetime.formats.perfetto.write.ordering import Order, Orders
from tracetime.graph.tube.simultaneity import Aligned, Aligner

DOMAINS_EVERY: Final = 60
"""Snapshots from one with all clocks' properties to the next: once a minute by default, so that a
part of a trace describes its clocks, too."""

# The clock of trace time is the first of these that is recorded. BOOTTIME never goes back, and
# counts sleep.
_TRACE_CLOCKS: Final = ("BOOTTIME", "MONOTONIC", "MONOTONIC_RAW", "REALTIME")


class _Written(NamedTuple):
    """One clock in the packet: its reading, the unit of that, and its raw ticks."""

    read: Aligned
    unit_ns: int
    raw: int | None


class Circumstances(NamedTuple):
    """What the extension of a snapshot says besides its readings.

    Attributes:
        kernel_clock: how the kernel steered its clocks then.
        wall_bound: what bounded REALTIME.
        events_dropped: since the recording began.
    """

    kernel_clock: KernelClock | None = None
    wall_bound: WallBound | None = None
    events_dropped: int = 0


class SnapshotPackets:
    """Makes the packets of a recording's snapshots, one after the other.

    Attributes:
        count: how many were written; the writer counts them.
    """

    def __init__(self, clocks: RecordedClocks) -> None:
        self._clocks = clocks
        self._aligner = Aligner()
        self._orders = Orders()
        self._units: dict[ClockId, int] = {}
        # By clock whose wraps are counted here: the readings of clocks of ns at its last reading.
        self._ns_at: dict[ClockId, dict[ClockId, int]] = {}
        self.count = 0

    def packet(
        self,
        snapshot: Snapshot,
        counts: Mapping[ClockId, tuple[int, int]],
        main: bool,
        names: Mapping[ClockId, str],
        circumstances: Circumstances,
    ) -> bytes:
        """The packet of a snapshot; arguments as `TraceWriter.snapshot`.

        Raises:
            UsageError, TimestampError, OverflowError: a clock that cannot be declared, a reading
                out of range.
        """
        clocks = {}
        for clock in snapshot.clocks:
            clocks[clock] = self._clocks.get(clock) or self._clocks.declare(
                ClockDomain(scoped(clock), name=names.get(clock))
            )
        self._check_units(snapshot, clocks)
        written = self._written(snapshot, clocks, counts, main)
        order = self._orders.next(
            {clock: one.read.value_ns for clock, one in written.items()}, main=main
        )
        if order.filler is not None and order.filler not in written:
            written[order.filler] = self._fill(order.filler, snapshot, clocks, written)
        if self._clocks.trace_clock is None:
            self._clocks.trace_clock = _trace_clock({known.written for known in clocks.values()})
        primary = (
            self._clocks.trace_clock.clock if self._clocks.trace_clock.scope == "builtin" else 0
        )
        extension = self._extension(snapshot, clocks, order, written, circumstances)
        packet = packets.snapshot_packet(
            SNAPSHOT_SEQUENCE,
            primary,
            [
                (clock.clock, written[clock].read.value_ns, written[clock].unit_ns)
                for clock in order.clocks
            ],
            encode(extension),
        )
        self._units |= {clock: one.unit_ns for clock, one in written.items()}
        return packet

    def _check_units(self, snapshot: Snapshot, clocks: Mapping[ClockId, RecordedClock]) -> None:
        """If a clock's unit is not its first one, Perfetto drops the rest of the snapshot."""
        for clock, known in clocks.items():
            unit_ns = snapshot.readings[clock].unit_ns
            name = known.events.name
            if known.events.scaled and unit_ns != 1:
                raise UsageError(f"{name} is read in ticks as declared: leave unit_ns out")
            first_ns = self._units.get(known.written, unit_ns)
            if unit_ns != first_ns:
                raise UsageError(
                    f"{name} has been recorded in units of {first_ns} ns: give it in these, "
                    f"not in units of {unit_ns} ns"
                )

    def _written(
        self,
        snapshot: Snapshot,
        clocks: Mapping[ClockId, RecordedClock],
        counts: Mapping[ClockId, tuple[int, int]],
        main: bool,
    ) -> dict[ClockId, _Written]:
        """The contents of the packet, by written clock."""
        written = {}
        reference = clocks[snapshot.reference or snapshot.clocks[0]].domain
        ns_of = {
            clock: _single(snapshot, clock)
            for clock, known in sorted(
                clocks.items(), key=lambda item: steadiness(item[1].domain.id)
            )
            if not known.events.scaled
        }
        for clock, known in clocks.items():
            raw = None
            value = _single(snapshot, clock)
            if clock in counts:
                raw, ticks = counts[clock]
                known.events.follow(raw, ticks)
            elif known.events.scaled:
                before = self._ns_at.get(clock, {})
                # The steadiest clock that was read both times says how often it may have wrapped.
                elapsed_ns = next((ns - before[c] for c, ns in ns_of.items() if c in before), 0)
                raw, value = value, known.events.read(value, elapsed_ns)
                self._ns_at[clock] = ns_of
            if value < 0:
                raise UsageError(f"the reading of {clock} is below 0: {value}")
            half_ns = _of(snapshot.half_width_ns, clock, 0 if clock == snapshot.reference else -1)
            read = Aligned(value, _of(snapshot.centre_ns, clock, 0), half_ns)
            unit_ns = snapshot.readings[clock].unit_ns
            if unit_ns == 1:
                read = self._aligner.align(read, known.domain, reference, main=main)
            written[known.written] = _Written(read, unit_ns, raw)
        return written

    def _fill(
        self,
        filler: ClockId,
        snapshot: Snapshot,
        clocks: Mapping[ClockId, RecordedClock],
        written: Mapping[ClockId, _Written],
    ) -> _Written:
        reference = snapshot.reference or snapshot.clocks[0]
        if self._clocks.get(filler) is None:
            self._clocks.declare(ClockDomain(filler, name=FILLER_NAME))
        return written[clocks[reference].written]._replace(unit_ns=1, raw=None)

    def _extension(
        self,
        snapshot: Snapshot,
        clocks: Mapping[ClockId, RecordedClock],
        order: Order,
        written: Mapping[ClockId, _Written],
        circumstances: Circumstances,
    ) -> Extension:
        described = self._clocks.undescribed & {*clocks, *order.clocks}
        if self.count % DOMAINS_EVERY == 0:
            described = {known.written for known in clocks.values()}
        self._clocks.undescribed -= {*clocks, *order.clocks}
        # In the order of declaring; a clock with two ids is described once.
        domains = {
            known.written: encode_domain(known.domain)
            for clock, known in list(self._clocks.all().items())
            if clock in described
        }
        in_order = [written[clock] for clock in order.clocks]
        measured = snapshot.reference is not None
        return Extension(
            order.clocks.index(clocks[snapshot.reference].written) if snapshot.reference else None,
            [one.read.centre_ns for one in in_order] if measured else [],
            [one.read.half_ns for one in in_order] if measured else [],
            [0 if one.raw is None else _signed(one.raw - one.read.value_ns) for one in in_order],
            circumstances.kernel_clock,
            list(domains.values()),
            circumstances.events_dropped,
            circumstances.wall_bound,
        )


def dropped_packet(events: int) -> bytes:
    """A snapshot without clocks: the number of events dropped since the recording began."""
    extension = encode(Extension(None, [], [], [], None, [], events))
    return packets.snapshot_packet(SNAPSHOT_SEQUENCE, 0, [], extension)


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
