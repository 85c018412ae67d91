"""In which order a snapshot lists its clocks, so that Perfetto keeps resolving them rightly.

Perfetto takes snapshots with the same clocks in the same order for one series. A clock that reads
less than before *in its series* is not converted from any more; between two series that both tie
a pair of clocks, that with the smaller hash is asked, however old its snapshots are (docs/
semantics.md, "Conversion"). So a recording that goes on after a clock was set back, or with other
clocks than before, lists them in an order whose hash is smaller than any before.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice, permutations
from math import factorial
from typing import Final, NamedTuple

from tracetime._kernels.graph.engine import series_hash
from tracetime.clocks.ids import ClockId, clock_id

_HIGHEST: Final = (1 << 32, 1 << 32)
# Of one set of clocks, the orders of the first six are tried; with a filler, fewer of each.
_PERMUTED: Final = 6
_ORDERS_WITH_FILLER: Final = 24
_FILLERS: Final = 1 << 13
_FILLERS_AT_ONCE: Final = 256
# A hash is taken that leaves this part of the room below the last one: a sixteenth of all at first,
# when it matters more to have no filler.
_FRESH_SHARE: Final = 16
_LATER_SHARE: Final = 2


Hashes = tuple[int, int]
"""A series' hash in a trace file, and in a compressed copy of it.

There the trace is file 1, not 0, which the hash of a clock that is scoped to a sequence shows.
"""


class Order(NamedTuple):
    """One series: its clocks in the order of the ClockSnapshot, and its hashes.

    `filler` is the one of the clocks, if any, that has no meaning of its own: it reads what the
    reference reads, and is there where all orders of the other clocks are used up.
    """

    clocks: tuple[ClockId, ...]
    hashes: Hashes
    filler: ClockId | None = None


def filler_name(number: int) -> str:
    """What a clock is called that only stands in a snapshot for the series' hash."""
    return f"dev.tracetime.series.{number}"


class Orders:
    """The orders that the snapshots of one recording have, and which comes next.

    A set of clocks is either the one that is sampled (the main one: always the freshest, so that
    its series must be asked first), or one that the user ties in, which must not come before it.
    """

    def __init__(self) -> None:
        self._current: dict[frozenset[ClockId], Order] = {}
        self._last_ns: dict[frozenset[ClockId] | None, dict[ClockId, int]] = {}
        self._main_clocks: frozenset[ClockId] = frozenset()
        self._mains: list[Order] = []
        self._others: list[Order] = []
        # By clock that has gone back: the hashes of what follows are below these.
        self._main_bounds: dict[ClockId, Hashes] = {}
        self._other_bounds: dict[ClockId, Hashes] = {}

    def next(self, readings_ns: dict[ClockId, int], *, main: bool) -> Order:
        """The order to write a snapshot in, after what has been written so far.

        Args:
            readings_ns: what is to be written.
            main: whether these are the clocks that are sampled.
        """
        clocks = frozenset(readings_ns)
        if main:
            self._main_clocks = clocks
        # A user's snapshot of just the sampled clocks is one of theirs.
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
            # Other clocks than in the snapshot before: what ties pairs of them is getting old.
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
        # The next step back needs room below this order: where all but the lowest are used up, a
        # filler makes more.
        share = _FRESH_SHARE if high == _HIGHEST else _LATER_SHARE
        least = tuple(low + (one - low) // share for one in high)

        def fits(order: Order) -> bool:
            return _below(order.hashes, high) and not any(map(int.__lt__, order.hashes, least))

        found = sorted(filter(fits, _orders(clocks)), key=_room)
        if found:
            # The sampled clocks begin in the middle: others find room above, later ones below.
            return found[len(found) // 2] if main and not self._mains else found[-1]
        for batch in range(0, _FILLERS, _FILLERS_AT_ONCE):
            for number in range(batch, batch + _FILLERS_AT_ONCE):
                filler = ClockId(clock_id(filler_name(number)))
                orders = _orders({*clocks, filler}, _ORDERS_WITH_FILLER)
                found += [order._replace(filler=filler) for order in orders if fits(order)]
            if found:
                return max(found, key=_room)
        # After thousands of steps back: the sum of all that went before is at fault, not this one.
        return next(_orders(clocks))


def _room(order: Order) -> int:
    """How much is left below it."""
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
