"""The short counters of a graph, unfolded once for all kinds of snapshots that have them.

`wraps.py` unfolds one kind of snapshots. Here each kind gets the clock that it is unfolded along,
and all kinds get one count: each is right except for a number of wraps.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from tracetime.clocks.families import steadiness
from tracetime.clocks.ids import ClockId
from tracetime.errors import AMBIGUOUS_SOURCE, NO_PATH, REASONS, ConversionError
from tracetime.graph.ticks import nominal_ns, saturated_ns
from tracetime.graph.tube.graph_data import GraphData
from tracetime.graph.tube.tube import Tube
from tracetime.graph.tube.wraps import Counter, modulus_of, unfold_readings
from tracetime.graph.values import Values

# How far apart the readings of a snapshot may be where no half-width is known: wraps are then
# distinguished from resets on the safe side.
_LOOSE_NS: Final = 1_000_000
# An unknown reading is between plus and minus this; two of them still add up in int64.
_ANYWHERE: Final = 1 << 62
# Ticks of a counter are within this, as in `wraps.modulus_of`.
_FARTHEST: Final = 1 << 61
# Values further apart than this are from different times, or wrong.
_FAR: Final = np.uint64(1 << 60)


class _Kind(NamedTuple):
    """The snapshots that a counter shares with another clock.

    Attributes:
        other: that clock; it does not wrap itself.
        snapshots: their numbers, int64, ascending.
        readings: of the counter, int64.
        others_ns: of the other clock, int64; None where its rate is unknown.
    """

    other: ClockId
    snapshots: Values
    readings: Values
    others_ns: Values | None


class Counters:
    """The clocks of a graph that wrap.

    Args:
        graph: its data; `shared` gives only what was read together.
        drift: how far the rates of two clocks may differ, ns per ns.
        tube: that of two clocks that share snapshots and do not wrap, along the first, in ns.
    """

    def __init__(
        self,
        graph: GraphData,
        drift: Callable[[ClockId, ClockId], float],
        tube: Callable[[ClockId, ClockId], tuple[Tube, bool] | None],
    ) -> None:
        self._graph = graph
        self._drift = drift
        self._tube = tube
        self._found: dict[ClockId, Counter | None] = {}

    def of(self, clock: ClockId) -> Counter | None:
        """A clock that wraps, unfolded; None for one that does not.

        Raises:
            ConversionError: its snapshots do not say how often it wrapped.
        """
        if clock not in self._found:
            modulus = self.modulus(clock)
            self._found[clock] = None if modulus is None else self._unfolded(clock, modulus)
        return self._found[clock]

    def modulus(self, clock: ClockId) -> int | None:
        """What a clock's readings wrap at; None where they never do."""
        return modulus_of(self._graph.domain(clock).valid_bits, self._graph.unit_ns(clock))

    def untied(self, clock: ClockId, other: ClockId) -> ConversionError:
        """Why a counter has no unfolded reading in the snapshots that it shares with another."""
        return ConversionError(
            f"{clock} wraps, and how often it did between the snapshots that it shares with "
            f"{other} and its others is open: take a snapshot that has {clock}, {other} and one "
            "of the other clocks together, or take them more often than it wraps",
            REASONS[AMBIGUOUS_SOURCE],
        )

    def _unfolded(self, clock: ClockId, modulus: int) -> Counter:
        kinds = self._kinds(clock)
        if not any(kind.others_ns is not None for kind in kinds):
            raise ConversionError(
                f"no snapshot has {clock}, which wraps, with a clock that does not and whose rate "
                "is known",
                REASONS[NO_PATH],
            )
        if any(k.readings.min() < 0 or k.readings.max() >= modulus for k in kinds):
            # Snapshots continue to count where timestamps wrap, as Vulkan's calibrations may.
            known = _Known(kinds[0].snapshots, kinds[0].readings)
            for kind in kinds[1:]:
                known.add(kind.snapshots, kind.readings)
            return Counter(modulus, known.snapshots, known.readings)
        if self._graph.domain(clock).ns_per_tick is None:
            raise ConversionError(
                f"{clock} wraps, and its rate is unknown: say how many ns a tick lasts",
                REASONS[NO_PATH],
            )
        home, base = self._first(clock, modulus, kinds)
        known = _Known(home.snapshots, base)
        others = [kind for kind in kinds if not known.has(kind.snapshots).all()]
        # A kind that was just tied may tie another: of three kinds, the third through the second.
        while sum(self._tie(clock, modulus, known, home, base, kind) for kind in others):
            pass
        # The count may have begun at a later snapshot: it must not become negative.
        below = -(int(known.readings.min()) // modulus) * modulus
        return Counter(modulus, known.snapshots, known.readings + max(below, 0))

    def _first(self, clock: ClockId, modulus: int, kinds: list[_Kind]) -> tuple[_Kind, Values]:
        """The first kind that can be unfolded, and its unfolded readings."""
        faults = []
        for kind in kinds:
            try:
                counted = self._along(clock, modulus, kind)
            except ConversionError as fault:
                faults.append(fault)
            else:
                if counted is not None:
                    return kind, counted
        raise faults[0]

    def _kinds(self, clock: ClockId) -> list[_Kind]:
        """The kinds of snapshots that have a counter: most frequent first, then by steadiness."""
        found: dict[bytes, _Kind] = {}
        neighbours = self._graph.neighbours[clock]
        for other in sorted(neighbours, key=steadiness):
            if self.modulus(other) is not None:
                continue
            snapshots, readings, others = self._graph.shared(clock, other)
            # None where its readings are of another file than its name stands for here.
            if not len(snapshots):
                continue
            rate = self._graph.domain(other).ns_per_tick
            # Of clocks in the same snapshots, the steadiest is enough.
            key = snapshots.tobytes()
            if key not in found or (found[key].others_ns is None and rate is not None):
                if rate not in (None, 1):
                    others = nominal_ns(others, rate)
                found[key] = _Kind(other, snapshots, readings, None if rate is None else others)
        return sorted(found.values(), key=lambda kind: -len(kind.readings))

    def _slack_ns(self, clock: ClockId, kind: _Kind) -> int:
        """Twice how far apart the readings of a snapshot may be."""
        widths = [self._graph.measured.reads(c, kind.snapshots).half for c in (clock, kind.other)]
        return 2 * sum(int(np.where(half < 0, _LOOSE_NS, half).max()) for half in widths)

    def _along(self, clock: ClockId, modulus: int, kind: _Kind) -> Values | None:
        """One kind unfolded; None where the other clock's rate is unknown."""
        rate = self._graph.domain(clock).ns_per_tick
        if kind.others_ns is None:
            return None
        assert rate is not None
        return unfold_readings(
            clock,
            kind.readings,
            kind.others_ns,
            modulus,
            rate,
            self._drift(clock, kind.other),
            self._slack_ns(clock, kind),
        )

    def _tie(
        self, clock: ClockId, modulus: int, known: _Known, home: _Kind, base: Values, kind: _Kind
    ) -> bool:
        """Tie a kind to the known count; whether any new snapshot could be tied."""
        there = known.has(kind.snapshots)
        if there.all():
            return False
        try:
            counted = self._along(clock, modulus, kind)
        except ConversionError:
            counted = None
        new, at = np.flatnonzero(~there), np.flatnonzero(there)
        if counted is not None and len(at):
            # By the nearest known snapshot: a reset may be in one of the kinds only.
            nearest = at[_nearest(kind.snapshots[at], kind.snapshots[new])]
            shift = known.at(kind.snapshots[nearest]) - counted[nearest]
            known.add(kind.snapshots[new], counted[new] + shift)
            return True
        low, high = self._by_time(clock, home, base, kind) or known.around(kind.snapshots)
        values = kind.readings if counted is None else counted
        # Between resets, one number of wraps for all; one for each where the count in between is
        # unknown.
        cuts = new if counted is None else np.flatnonzero(np.diff(values) < 0) + 1
        tied = False
        for rows in np.split(np.arange(len(values)), cuts):
            if len(rows):
                least, most = (low - values)[rows].max(), (high - values)[rows].min()
                turns = _turns(int(least), int(most), modulus)
                if turns is not None:
                    known.add(kind.snapshots[rows], values[rows] + turns * modulus)
                    tied |= bool((~there[rows]).any())
        return tied

    def _by_time(
        self, clock: ClockId, home: _Kind, base: Values, kind: _Kind
    ) -> tuple[Values, Values] | None:
        """Least and greatest counts, by a tube from the other clock to home's."""
        if kind.others_ns is None or home.others_ns is None:
            return None
        tied = self._tube(kind.other, home.other)
        if tied is None:
            return None
        tube, inverse = tied
        there = tube.convert(kind.others_ns, inverse=inverse, bars="guaranteed")
        order = np.argsort(home.others_ns, kind="stable")
        ns, counts = home.others_ns[order], base[order]
        near = _nearest(ns, there.estimate)
        next_to = np.clip(near + np.where(there.estimate < ns[near], -1, 1), 0, len(ns) - 1)
        fell = np.where(
            next_to < near, counts[near] < counts[next_to], counts[next_to] < counts[near]
        )
        rate, drift = self._graph.domain(clock).ns_per_tick, self._drift(clock, home.other)
        assert rate is not None
        slack_ns = self._slack_ns(clock, home) + self._slack_ns(clock, kind)
        sides = []
        for side, sign in ((there.earliest, -1), (there.latest, 1)):
            unknown = fell | (there.status != 0) | (_apart(side, ns[near]) > _FAR)
            away = np.where(unknown, 0, side - ns[near])
            away += sign * (np.ceil(np.abs(away) * drift).astype(np.int64) + slack_ns)
            ticks, _ = saturated_ns(away, 1 / rate)
            ticks = np.clip(ticks, -_FARTHEST, _FARTHEST)
            sides.append(np.where(unknown, sign * _ANYWHERE, counts[near] + ticks))
        return sides[0], sides[1]


class _Known:
    """The unfolded readings of a counter, by number of the snapshot."""

    def __init__(self, snapshots: Values, readings: Values) -> None:
        self.snapshots, self.readings = snapshots, readings

    def add(self, snapshots: Values, readings: Values) -> None:
        """Add those of some snapshots that are new."""
        new = ~self.has(snapshots)
        numbers = np.append(self.snapshots, snapshots[new])
        order = np.argsort(numbers, kind="stable")
        self.snapshots = numbers[order]
        self.readings = np.append(self.readings, readings[new])[order]

    def has(self, snapshots: Values) -> npt.NDArray[np.bool_]:
        """Which of some snapshots are known."""
        return np.isin(snapshots, self.snapshots)

    def at(self, snapshots: Values) -> Values:
        """The readings of snapshots that are known."""
        return self.readings[np.searchsorted(self.snapshots, snapshots)]

    def around(self, snapshots: Values) -> tuple[Values, Values]:
        """The readings that snapshots are between, if the order of the file is that of time."""
        after = np.searchsorted(self.snapshots, snapshots)
        last = len(self.snapshots) - 1
        low, high = self.readings[np.maximum(after - 1, 0)], self.readings[np.minimum(after, last)]
        fell = low > high
        low = np.where((after == 0) | fell, -_ANYWHERE, low)
        return low, np.where((after > last) | fell, _ANYWHERE, high)


def _nearest(values: Values, wanted: Values) -> Values:
    """Which of some values, ascending, is nearest to each that is wanted."""
    after = np.minimum(np.searchsorted(values, wanted), len(values) - 1)
    before = np.maximum(after - 1, 0)
    nearer = _apart(wanted, values[before]) < _apart(wanted, values[after])
    return np.where(nearer, before, after).astype(np.int64)


def _apart(one: Values, other: Values) -> npt.NDArray[np.uint64]:
    """How far values are apart; that may be more than int64 holds."""
    return np.maximum(one, other).view(np.uint64) - np.minimum(one, other).view(np.uint64)


def _turns(least: int, most: int, modulus: int) -> int | None:
    """How many wraps are from least to most; None where that is open.

    Less than half a wrap is missing where snapshots were not written in the order of reading.
    """
    first, last = -(-least // modulus), most // modulus
    if first == last:
        return first
    if first < last:
        return None
    # None is between: take the nearer one.
    above, below = first * modulus - most, least - last * modulus
    best, missed = (first, above) if above < below else (last, below)
    return best if above != below and 2 * missed < modulus else None
