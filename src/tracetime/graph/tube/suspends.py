"""Suspends of machines, and what evidence says on each side of one.

BOOTTIME counts a suspend, on some machines by a clock of whole seconds: against clocks of other
machines the kernel's clocks may jump by up to a second there, also by so little that drift would
explain it. So no bound between machines is carried over the zone in which one slept. The zone is
known where BOOTTIME is ahead of MONOTONIC by more in one snapshot than in the one before.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

import numpy as np

from tracetime.clocks.families import ONE_OSCILLATOR
from tracetime.clocks.ids import BUILTIN_IDS, ClockId
from tracetime.columns.arrays import median
from tracetime.graph.tube.evidence import OPEN_HIGH, OPEN_LOW
from tracetime.graph.tube.joint_readings import JointReadings
from tracetime.graph.tube.limits import Limits
from tracetime.graph.tube.order_evidence import Intervals, OrderBounds
from tracetime.graph.values import Mask, Values, difference

Shared = Callable[[ClockId, ClockId], tuple[Values, Values, Values]]

_BOOTTIME: Final = BUILTIN_IDS["BOOTTIME"]
_STOPPING: Final = tuple(
    BUILTIN_IDS[name] for name in ("MONOTONIC", "MONOTONIC_RAW", "MONOTONIC_COARSE")
)
_STILL_NS: Final = 1_000
"""Readings of one snapshot are so far apart: less is no suspend."""
_WITNESSES: Final = 5
"""Bounds that tell by when a machine slept: one that is wrong among them does no harm."""


class Zone(NamedTuple):
    """Where a machine slept: between two readings of one of its clocks, ns."""

    before: int
    after: int


class Suspends:
    """The suspends of the machines of a graph.

    Args:
        shared: (snapshots, one_ns, other_ns) in which two clocks were read together.
        sleeps: the zones in which a clock that goes on rose against one that stops, by readings of
            the latter.
    """

    def __init__(
        self, shared: Shared, sleeps: Callable[[ClockId, ClockId], Sequence[Zone]]
    ) -> None:
        self._shared = shared
        self._sleeps = sleeps
        self._of_machine: dict[int, tuple[ClockId, Sequence[Zone]] | None] = {}
        self._of_clock: dict[ClockId, list[Zone]] = {}

    def of(self, clock: ClockId, other: ClockId) -> list[Zone]:
        """The zones, by readings of one clock, which bounds to the other do not outlast."""
        return [] if other.machine == clock.machine else self.of_clock(clock)

    def of_clock(self, clock: ClockId) -> list[Zone]:
        """The zones of a clock of a kernel, by its readings; none of any other."""
        if clock.clock not in ONE_OSCILLATOR:
            return []
        if clock not in self._of_clock:
            self._of_clock[clock] = self._zones(clock)
        return self._of_clock[clock]

    def _zones(self, clock: ClockId) -> list[Zone]:
        found = self._slept(clock.machine)
        if found is None or not found[1]:
            return []
        stops, zones = found
        if clock == stops:
            return list(zones)
        boottime = ClockId(_BOOTTIME, machine=clock.machine)
        known = [(stops, zones)]
        if clock != boottime:
            _, one, other = self._shared(boottime, stops)
            known.append((boottime, [_seen(zone, one, other) for zone in zones]))
        sides = [
            [_seen(zone, own, read) for zone in those]
            for reference, those in known
            for _, own, read in [self._shared(clock, reference)]
            if len(own)
        ]
        return [Zone(*_sorted(_narrowest(row))) for row in zip(*sides, strict=True)]

    def _slept(self, machine: int) -> tuple[ClockId, Sequence[Zone]] | None:
        """A clock of a machine that stops in a suspend, and where it did; None without any."""
        if machine not in self._of_machine:
            self._of_machine[machine] = None
            boottime = ClockId(_BOOTTIME, machine=machine)
            for number in _STOPPING:
                stops = ClockId(number, machine=machine)
                _, one, other = self._shared(stops, boottime)
                if len(one) > 1:
                    ahead_ns = difference(other, one)
                    moved = ahead_ns.max() - ahead_ns.min() > _STILL_NS
                    zones = self._sleeps(stops, boottime) if moved else ()
                    self._of_machine[machine] = stops, zones
                    break
        return self._of_machine[machine]


def _seen(zone: Zone, own: Values, read: Values) -> Zone:
    """A zone by the readings of another clock, of which `read` are those of the zone's own."""
    before, after = own[read <= zone.before], own[read >= zone.after]
    return Zone(
        int(before.max()) if len(before) else OPEN_LOW,
        int(after.min()) if len(after) else OPEN_HIGH,
    )


def _narrowest(zones: Sequence[Zone]) -> Zone:
    return Zone(max(zone.before for zone in zones), min(zone.after for zone in zones))


def _sorted(zone: Zone) -> tuple[int, int]:
    """A clock that was set back in its zone read less after it."""
    low, high = sorted(zone)
    return low, max(high, low + 1)


class Rows(NamedTuple):
    """Evidence of two clocks a and b, unsorted: int64 arrays of one length.

    Attributes:
        a: where each bound stands, ns of a.
        low, high: of the offset b - a, ns; OPEN_LOW and OPEN_HIGH where a side is not known.
        a_read, b_read: what each clock read: at least and at most, int64[n, 2].
        at: what clock a read when b did, at least and at most, int64[n, 2].
    """

    a: Values
    low: Values
    high: Values
    a_read: Values
    b_read: Values
    at: Values

    def only(self, kept: Mask) -> Rows:
        """Some of them."""
        return Rows(*(column[kept] for column in self))


def evidence_rows(given: JointReadings, intervals: Intervals, bounds: OrderBounds | None) -> Rows:
    """What is known of two clocks as rows; given: the readings that the intervals are of."""
    a, low, high = intervals.a_ns, intervals.r_ns - intervals.h_ns, intervals.r_ns + intervals.h_ns
    a_half, b_half = (np.where(given.boxed, read.half, 0) for read in (given.a_read, given.b_read))
    reads = [_around(given.a_ns, a_half), _around(given.b_ns, b_half), _around(a, intervals.h_ns)]
    if bounds is not None:
        first = bounds.orders.one_first
        # b received after a sent, or sent before a received.
        at = np.where(first, bounds.a_ns, OPEN_LOW), np.where(first, OPEN_HIGH, bounds.a_ns)
        theirs = (
            _around(bounds.a_ns, np.zeros_like(bounds.a_ns)),
            _around(bounds.orders.other_ts, np.zeros_like(bounds.a_ns)),
            np.stack(at, axis=1),
        )
        reads = [np.append(*both, axis=0) for both in zip(reads, theirs, strict=True)]
        a, low, high = (
            np.append(*both)
            for both in zip((a, low, high), (bounds.a_ns, bounds.low, bounds.high), strict=True)
        )
    return Rows(a, low, high, *reads)


def _around(values: Values, half: Values) -> Values:
    """The least and the most, int64[n, 2]; within int64."""
    low = np.maximum(values, OPEN_LOW + half) - half
    return np.stack([low, np.minimum(values, OPEN_HIGH - half) + half], axis=1)


class Split(NamedTuple):
    """Evidence apart from what suspends make of it.

    Attributes:
        kept: which of the evidence is surely of one side of each suspend.
        a, low, high: of those that are kept; moved out of the zones.
        slept: what is not known of the offset.
    """

    kept: Mask
    a: Values
    low: Values
    high: Values
    slept: Slept


class _Suspend(NamedTuple):
    """A suspend, by readings of both clocks that surely hold it."""

    on_a: Zone
    on_b: Zone


def split(rows: Rows, on_a: Sequence[Zone], on_b: Sequence[Zone], limits: Limits) -> Split:
    """Part evidence at the suspends of clock a's and clock b's machine.

    Evidence from within a zone is left out: of which side it is, is not known.
    """
    kept = np.ones(len(rows.a), dtype=bool)
    slept = []
    for zones, is_a in ((on_a, True), (on_b, False)):
        for zone in zones:
            read = rows.a_read if is_a else rows.b_read
            at = rows.a_read if is_a else rows.at
            before, after = read[:, 1] <= zone.before, read[:, 0] >= zone.after
            if _is_restart(rows.b_read if is_a else rows.at, before, after):
                continue
            kept &= before | after
            before, after = before & kept, after & kept
            if not is_a:
                wrong = _out_of_order(at, before, after)
                kept &= ~wrong
                before, after = before & ~wrong, after & ~wrong
            found = _found(rows, zone, is_a, (before, after), limits)
            slept.append(found)
            # Of messages of one direction it may not be known by when they were received.
            kept &= ~(before & (found.on_a.before == OPEN_LOW))
            kept &= ~(after & (found.on_a.after == OPEN_HIGH))
            before, after = before & kept, after & kept
            rows = _moved(rows, before, after, found.on_a, limits)
    rows = rows.only(kept)
    return Split(kept, *rows[:3], _gaps(np.sort(rows.a), slept))


def _is_restart(theirs: Values, before: Mask, after: Mask) -> bool:
    """Whether what is before comes after: the machine was started anew, and did not sleep.

    Its clocks begin at 0 again, and are ahead of each other by something else.

    Args:
        theirs: readings of the clock of the other machine.
    """
    if not before.any() or not after.any():
        return False
    known = np.where(theirs[:, 0] == OPEN_LOW, theirs[:, 1], theirs[:, 0])
    return median(known[before]) > median(known[after])


def _out_of_order(at: Values, before: Mask, after: Mask) -> Mask:
    """What is before a suspend by clock b, and not by a, or after it: the fewest that are wrong."""
    early, late = np.sort(at[before, 0]), np.sort(at[after, 1])
    if not len(early) or not len(late) or early[-1] < late[0]:
        return np.zeros(len(before), dtype=bool)
    places = np.concatenate([early, late - 1])
    wrong = len(early) - np.searchsorted(early, places, side="right")
    wrong = wrong + np.searchsorted(late, places, side="right")
    place = places[np.argmin(wrong)]
    out: Mask = (before & (at[:, 0] > place)) | (after & (at[:, 1] <= place))
    return out


def _found(
    rows: Rows, zone: Zone, is_a: bool, sides: tuple[Mask, Mask], limits: Limits
) -> _Suspend:
    """A suspend by both clocks; zone: by the one whose machine slept."""
    before, after = (rows.only(side) for side in sides)
    if is_a:
        lows, highs = before.low != OPEN_LOW, after.high != OPEN_HIGH
        first, last = before.only(lows), after.only(highs)
        least = [
            zone.before + low - limits.spread(zone.before - a)
            for a, low in _nearest(first.a, first.low, latest=True)
        ]
        most = [
            zone.after + high + limits.spread(a - zone.after)
            for a, high in _nearest(last.a, last.high, latest=False)
        ]
        return _Suspend(zone, _known_by(least, most))
    # Messages of which one clock's reading is not known at the other's have no such end.
    early = int(before.at[:, 0].max(initial=OPEN_LOW))
    late = int(after.at[:, 1].min(initial=OPEN_HIGH))
    return _Suspend(Zone(early, late), zone)


def _nearest(a: Values, bound: Values, *, latest: bool) -> list[tuple[int, int]]:
    """The few bounds that stand next to a suspend."""
    order = np.argsort(a, kind="stable")
    order = order[-_WITNESSES:] if latest else order[:_WITNESSES]
    return list(zip(a[order].tolist(), bound[order].tolist(), strict=True))


def _known_by(least: Sequence[int], most: Sequence[int]) -> Zone:
    """The zone that all witnesses allow, within int64."""
    before, after = min(least, default=OPEN_LOW), max(most, default=OPEN_HIGH)
    return Zone(max(before, OPEN_LOW), min(after, OPEN_HIGH))


def _moved(rows: Rows, before: Mask, after: Mask, zone: Zone, limits: Limits) -> Rows:
    """Have what is before a suspend stand before its zone, and what is after it after."""
    a, low, high = (column.copy() for column in rows[:3])
    late, early = before & (a > zone.before), after & (a < zone.after)
    for which, end in ((late, zone.before), (early, zone.after)):
        for k in np.flatnonzero(which).tolist():
            by = limits.spread(abs(end - int(a[k]))) + 1
            a[k] = end
            low[k] -= by if low[k] != OPEN_LOW else 0
            high[k] += by if high[k] != OPEN_HIGH else 0
    return rows._replace(a=a, low=low, high=high)


def _gaps(a: Values, slept: Sequence[_Suspend]) -> Slept:
    """Where evidence is cut, and where suspends leave nothing known; a: where it stands, sorted.

    Between two suspends, or beyond the last evidence, no bound holds.
    """
    by_gap: dict[int, list[_Suspend]] = {}
    for one in slept:
        by_gap.setdefault(int(np.searchsorted(a, one.on_a.before, side="right")), []).append(one)
    cuts, opens = [], []
    for gap, those in sorted(by_gap.items()):
        inside = 0 < gap < len(a)
        if inside:
            cuts.append(int(a[gap]))
        if inside and len(those) == 1:
            continue
        opens.append(
            Open(
                min(one.on_a.before for one in those) + 1 if gap else OPEN_LOW,
                max(one.on_a.after for one in those) - 1 if gap < len(a) else OPEN_HIGH,
                min(one.on_b.before for one in those) + 1 if gap else OPEN_LOW,
                max(one.on_b.after for one in those) - 1 if gap < len(a) else OPEN_HIGH,
            )
        )
    return Slept(np.array(cuts, dtype=np.int64), tuple(opens))


# What a tube does not know of the offset because a machine slept; see suspends.py.


class Open(NamedTuple):
    """Readings of clocks a and b, both ends included, at which nothing bounds one by the other."""

    a_first: int
    a_last: int
    b_first: int
    b_last: int


class Slept(NamedTuple):
    """Where machines slept, by readings of the clocks a and b of a tube.

    Attributes:
        cuts: of a, with which the evidence after a suspend begins, int64, ascending.
        opens: where nothing is known.
    """

    cuts: Values
    opens: tuple[Open, ...]

    def open(
        self, lows: Values, highs: Values, earliest: Values, latest: Values, *, inverse: bool
    ) -> None:
        """Open the bars of readings in [lows, highs], of a or inversely of b, that may be there."""
        for a_first, a_last, b_first, b_last in self.opens:
            first, last = (b_first, b_last) if inverse else (a_first, a_last)
            over = (lows <= last) & (highs >= first)
            earliest[over], latest[over] = OPEN_LOW, OPEN_HIGH


NEVER_SLEPT: Final = Slept(np.empty(0, dtype=np.int64), ())
