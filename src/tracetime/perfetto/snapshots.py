"""One snapshot into its packet: readings in ns, in an order that Perfetto resolves, and extension.

What the clocks are stands in recorded.py, what the extension holds in extension.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from tracetime._kernels import packets
from tracetime.clocks import BUILTIN_IDS, ClockId
from tracetime.domain import ClockDomain
from tracetime.errors import UsageError
from tracetime.kernel_clock import KernelClock
from tracetime.perfetto.extension import Extension, encode, encode_domain
from tracetime.perfetto.ordering import Order, Orders
from tracetime.perfetto.recorded import (
    FILLER_NAME,
    SNAPSHOT_SEQUENCE,
    RecordedClock,
    RecordedClocks,
    scoped,
)
from tracetime.snapshot import Snapshot

DOMAINS_EVERY: Final = 60
"""How many snapshots have the clocks' properties once."""

# What trace time is, if recorded: the first of these never goes back, and counts sleep.
_TRACE_CLOCKS: Final = ("BOOTTIME", "MONOTONIC", "MONOTONIC_RAW", "REALTIME")


class SnapshotPackets:
    """Makes the packets of a recording's snapshots, one after the other.

    Attributes:
        count: how many were written; whoever writes them counts.
    """

    def __init__(self, clocks: RecordedClocks) -> None:
        self._clocks = clocks
        self._orders = Orders()
        self._units: dict[ClockId, int] = {}
        # By clock whose wraps are counted here: what clocks of ns read when it was read last.
        self._beside: dict[ClockId, dict[ClockId, int]] = {}
        self.count = 0

    def packet(
        self,
        snapshot: Snapshot,
        counts: Mapping[ClockId, tuple[int, int]],
        kernel_clock: KernelClock | None,
        main: bool,
        names: Mapping[ClockId, str],
        events_dropped: int,
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
        readings, raws = self._readings(snapshot, clocks, counts)
        order = self._orders.next({written: ns for written, (ns, _) in readings.items()}, main=main)
        if order.filler is not None and order.filler not in readings:
            readings[order.filler] = self._fill(order.filler, snapshot, clocks, readings), 1
        if self._clocks.trace_clock is None:
            self._clocks.trace_clock = _trace_clock({known.written for known in clocks.values()})
        primary = (
            self._clocks.trace_clock.clock if self._clocks.trace_clock.scope == "builtin" else 0
        )
        extension = self._extension(snapshot, clocks, order, raws, kernel_clock, events_dropped)
        packet = packets.snapshot_packet(
            SNAPSHOT_SEQUENCE,
            primary,
            [(clock.clock, *readings[clock]) for clock in order.clocks],
            encode(extension),
        )
        self._units |= {clock: unit_ns for clock, (_, unit_ns) in readings.items()}
        return packet

    def _check_units(self, snapshot: Snapshot, clocks: Mapping[ClockId, RecordedClock]) -> None:
        """Where a clock's unit is not its first, Perfetto drops the rest of the snapshot."""
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

    def _readings(
        self,
        snapshot: Snapshot,
        clocks: Mapping[ClockId, RecordedClock],
        counts: Mapping[ClockId, tuple[int, int]],
    ) -> tuple[dict[ClockId, tuple[int, int]], dict[ClockId, int]]:
        """By written clock, (what is written, unit), and what to add to it for the ticks read."""
        readings, raws = {}, {}
        beside = {
            clock: _single(snapshot, clock)
            for clock, known in sorted(clocks.items(), key=lambda item: item[1].domain.steadiness())
            if not known.events.scaled
        }
        for clock, known in clocks.items():
            raw = value = _single(snapshot, clock)
            if clock in counts:
                raw, ticks = counts[clock]
                known.events.follow(raw, ticks)
            elif known.events.scaled:
                before = self._beside.get(clock, {})
                # How often it may have wrapped since, by the steadiest clock that was there too.
                elapsed_ns = next((ns - before[c] for c, ns in beside.items() if c in before), 0)
                value = known.events.read(raw, elapsed_ns)
                self._beside[clock] = beside
            if value < 0:
                raise UsageError(f"the reading of {clock} is below 0: {value}")
            readings[known.written] = value, snapshot.readings[clock].unit_ns
            raws[known.written] = _signed(raw - value)
        return readings, raws

    def _fill(
        self,
        filler: ClockId,
        snapshot: Snapshot,
        clocks: Mapping[ClockId, RecordedClock],
        readings: Mapping[ClockId, tuple[int, int]],
    ) -> int:
        reference = snapshot.reference or snapshot.clocks[0]
        if self._clocks.get(filler) is None:
            self._clocks.declare(ClockDomain(filler, name=FILLER_NAME))
        return readings[clocks[reference].written][0]

    def _extension(
        self,
        snapshot: Snapshot,
        clocks: Mapping[ClockId, RecordedClock],
        order: Order,
        raws: Mapping[ClockId, int],
        kernel_clock: KernelClock | None,
        events_dropped: int,
    ) -> Extension:
        given = {known.written: clock for clock, known in clocks.items()}
        told = self._clocks.untold & {*clocks, *order.clocks}
        if self.count % DOMAINS_EVERY == 0:
            told = {known.written for known in clocks.values()}
        self._clocks.untold -= {*clocks, *order.clocks}
        # In the order they were declared in; a clock that goes by two ids is told of once.
        domains = {
            known.written: encode_domain(known.domain)
            for clock, known in self._clocks.all().items()
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
            events_dropped,
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
