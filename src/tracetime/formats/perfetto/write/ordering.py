"""The order in which a snapshot lists its clocks, so that Perfetto resolves them correctly.

For Perfetto, snapshots with the same clocks in the same order are one series. A clock that reads
less than before *in its series* is no longer a source of conversions. If two series tie a pair of
clocks, Perfetto uses the one with the smaller hash, however old its snapshots are (docs/
semantics.md, "Conversion"). So after a clock was set back, or when the set of clocks changes, a
recording lists them in an order with a smaller hash than any before.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice, permutations
from math import factorial
from typing import Final, NamedTuple

from tracetime._kernels.graph import series_hash
from tracetime.clocks.ids import ClockId, clock_id

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


class Orders:
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
    """How much room is below it."""
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
