"""The packet of a snapshot: readings in ns, in an order that Perfetto resolves; extension.

The clocks: clocks.py. The fields of the extension: formats/perfetto/extension.py. How readings are
brought to one instant: graph/simultaneity.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice, permutations
from math import factorial
from typing import Any, Final, NamedTuple

from tracetime._kernels.graph import series_hash
from tracetime._kernels.perfetto import packets
from tracetime.clocks.domain import ClockDomain
from tracetime.clocks.families import steadiness
from tracetime.clocks.ids import BUILTIN_IDS, ClockId, clock_id
from tracetime.clocks.kernel_clock import KernelClock, WallBound
from tracetime.clocks.snapshot import Snapshot, single
from tracetime.errors import UsageError
from tracetime.formats.perfetto.extension import Extension, encode, encode_domain
from tracetime.formats.perfetto.write.clocks import (
    FILLER_NAME,
    SNAPSHOT_SEQUENCE,
    RecordedClock,
    RecordedClocks,
    scoped,
)
from tracetime.graph.simultaneity import Aligned, Aligner

# The order in which a snapshot lists its clocks, so that Perfetto resolves them correctly.
#
# For Perfetto, snapshots with the same clocks in the same order are one series. A clock that reads
# less than before *in its series* is no longer a source of conversions. If two series tie a pair of
# clocks, Perfetto uses the one with the smaller hash, however old its snapshots are (docs/
# semantics.md, "Conversion"). So after a clock was set back, or when the set of clocks changes, a
# recording lists them in an order with a smaller hash than any before.

_HIGHEST: Final = (1 << 32, 1 << 32)
# How many clocks of a set are permuted: six have 720 orders. With a filler, orders of each that are
# tried.
_PERMUTED: Final = 6
_ORDERS_WITH_FILLER: Final = 24
_FILLERS: Final = 1 << 13
_FILLERS_AT_ONCE: Final = 256
# The part of the room below the last hash that stays free below the next one: a sixteenth of all
# at first, when it is more important to need no filler.
_FRESH_SHARE: Final = 16
_LATER_SHARE: Final = 2


Hashes = tuple[int, int]
"""A series' hash in a trace file, and in a compressed copy of it.

In the copy the trace is file 1, not 0, which changes the hash of sequence-scoped clocks.
"""


class Order(NamedTuple):
    """One series: its clocks in the order of the ClockSnapshot, and its hashes.

    `filler` is the clock without a meaning, if there is one: it has the reference's reading, and is
    added when all orders of the other clocks are used up.
    """

    clocks: tuple[ClockId, ...]
    hashes: Hashes
    filler: ClockId | None = None


def filler_name(number: int) -> str:
    """The name of a clock that is in snapshots only for the series' hash."""
    return f"dev.tracetime.series.{number}"


class SnapshotOrders:
    """The orders of the snapshots of one recording.

    A set of clocks is either the sampled one (the main one: its snapshots are the latest, so that
    Perfetto must use its series first), or one that the caller ties in, which must come after it.
    """

    def __init__(self) -> None:
        self._current: dict[frozenset[ClockId], Order] = {}
        self._last_ns: dict[frozenset[ClockId] | None, dict[ClockId, int]] = {}
        self._main_clocks: frozenset[ClockId] = frozenset()
        self._mains: list[Order] = []
        self._others: list[Order] = []
        # For clocks that have gone back: later hashes are below these.
        self._main_bounds: dict[ClockId, Hashes] = {}
        self._other_bounds: dict[ClockId, Hashes] = {}

    def next(self, readings_ns: dict[ClockId, int], *, main: bool) -> Order:
        """The order of the next snapshot, after what was written so far.

        Args:
            readings_ns: the readings to write.
            main: whether these are the clocks that are sampled.
        """
        clocks = frozenset(readings_ns)
        if main:
            self._main_clocks = clocks
        # A caller's snapshot of exactly the sampled clocks counts as a main one.
        main = clocks == self._main_clocks
        series = None if main else clocks
        last_ns = self._last_ns.get(series, {})
        for clock, ns in readings_ns.items():
            if ns < last_ns.get(clock, ns):
                self._went_back(clock)
        self._last_ns[series] = dict(readings_ns)
        bounds = self._main_bounds if main else self._other_bounds
        high = _lowest(bounds[clock] for clock in clocks if clock in bounds)
        current = self._current.get(clocks)
        if main and self._mains and current is not self._mains[-1]:
            # Other clocks than in the snapshot before: the last series of these is outdated.
            high, current = _lowest([high, *(order.hashes for order in self._mains)]), None
        if current is None or not _below(current.hashes, high):
            current = self._choose(clocks, high, main)
            self._current[clocks] = current
            (self._mains if main else self._others).append(current)
        return current

    def _went_back(self, clock: ClockId) -> None:
        mains = [order.hashes for order in self._mains if clock in order.clocks]
        others = [order.hashes for order in self._others if clock in order.clocks]
        self._main_bounds[clock] = _lowest(mains + others)
        self._other_bounds[clock] = _lowest(others)

    def _choose(self, clocks: frozenset[ClockId], high: Hashes, main: bool) -> Order:
        low = 0
        if not main and self._mains and len(clocks & set(self._mains[-1].clocks)) > 1:
            low = 1 + max(max(order.hashes) for order in self._mains)
        # The next step back needs room below this order: when all but the lowest are used up, a
        # filler makes more room.
        share = _FRESH_SHARE if high == _HIGHEST else _LATER_SHARE
        least = tuple(low + (one - low) // share for one in high)

        def fits(order: Order) -> bool:
            return _below(order.hashes, high) and not any(map(int.__lt__, order.hashes, least))

        found = sorted(filter(fits, _orders(clocks)), key=_room)
        if found:
            # The sampled clocks begin in the middle: room for others above, for later ones below.
            return found[len(found) // 2] if main and not self._mains else found[-1]
        for batch in range(0, _FILLERS, _FILLERS_AT_ONCE):
            for number in range(batch, batch + _FILLERS_AT_ONCE):
                filler = ClockId(clock_id(filler_name(number)))
                orders = _orders({*clocks, filler}, _ORDERS_WITH_FILLER)
                found += [order._replace(filler=filler) for order in orders if fits(order)]
            if found:
                return max(found, key=_room)
        # Only after thousands of steps back: no hash is left, and some conversions will be wrong.
        return next(_orders(clocks))


def _room(order: Order) -> int:
    """The room below the hashes of an order."""
    return min(order.hashes)


def _below(one: Hashes, other: Hashes) -> bool:
    return one[0] < other[0] and one[1] < other[1]


def _lowest(hashes: Iterable[Hashes]) -> Hashes:
    first, second = _HIGHEST
    for one in hashes:
        first, second = min(first, one[0]), min(second, one[1])
    return first, second


def _orders(clocks: Iterable[ClockId], most: int = factorial(_PERMUTED)) -> Iterator[Order]:
    ordered = sorted(clocks)
    scoped = any(clock.is_sequence_scoped for clock in ordered)
    for head in islice(permutations(ordered[:_PERMUTED]), most):
        order = head + tuple(ordered[_PERMUTED:])
        plain = series_hash([_key(clock, 0) for clock in order])
        copied = series_hash([_key(clock, 1) for clock in order]) if scoped else plain
        yield Order(order, (plain, copied))


def _key(clock: ClockId, file: int) -> tuple[int, int, int, int]:
    return clock.clock, clock.sequence, file if clock.is_sequence_scoped else 0, clock.machine


DOMAINS_EVERY: Final = 60
"""Snapshots from one with all clocks' properties to the next: once a minute by default, so that a
part of a trace describes its clocks, too."""

# The clock of trace time is the first of these that is recorded. BOOTTIME never goes back, and
# counts sleep.
_TRACE_CLOCKS: Final = ("BOOTTIME", "MONOTONIC", "MONOTONIC_RAW", "REALTIME")


class _WrittenClock(NamedTuple):
    """One clock in the packet: its reading, the unit of that, and its raw ticks."""

    read: Aligned
    unit_ns: int
    raw: int | None


class Circumstances(NamedTuple):
    """The values of the extension of a snapshot besides its readings.

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
        self._orders = SnapshotOrders()
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
    ) -> dict[ClockId, _WrittenClock]:
        """The contents of the packet, by written clock."""
        written = {}
        reference = clocks[snapshot.reference or snapshot.clocks[0]].domain
        ns_of = {
            clock: single(snapshot.readings[clock].value)
            for clock, known in sorted(
                clocks.items(), key=lambda item: steadiness(item[1].domain.id)
            )
            if not known.events.scaled
        }
        for clock, known in clocks.items():
            raw = None
            value = single(snapshot.readings[clock].value)
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
            written[known.written] = _WrittenClock(read, unit_ns, raw)
        return written

    def _fill(
        self,
        filler: ClockId,
        snapshot: Snapshot,
        clocks: Mapping[ClockId, RecordedClock],
        written: Mapping[ClockId, _WrittenClock],
    ) -> _WrittenClock:
        reference = snapshot.reference or snapshot.clocks[0]
        if self._clocks.get(filler) is None:
            self._clocks.declare(ClockDomain(filler, name=FILLER_NAME))
        return written[clocks[reference].written]._replace(unit_ns=1, raw=None)

    def _extension(
        self,
        snapshot: Snapshot,
        clocks: Mapping[ClockId, RecordedClock],
        order: Order,
        written: Mapping[ClockId, _WrittenClock],
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


def _of(columns: Mapping[ClockId, Any], clock: ClockId, otherwise: int) -> int:
    return int(columns[clock][0]) if clock in columns else otherwise


def _signed(value: int) -> int:
    """The int64 that is the same modulo 2^64."""
    return (value + (1 << 63)) % (1 << 64) - (1 << 63)
