"""Orders: readings of two clocks of which one happened before the other.

A message is sent before it is received, a kernel is launched before it runs: each bounds the two
clocks from one side. Kept as columns, in the order in which they were added.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from tracetime.clocks.ids import ClockId
from tracetime.graph.info import OrdersInfo
from tracetime.graph.values import Values

# Readings that show whether a clock ticks: so many of each of so many pairs.
_MOST_SAMPLED: Final = 256
_PAIRS_SAMPLED: Final = 4

NO_MAX_DELAY: Final = -1
"""Stands for a greatest delay that is unknown."""


class PairOrders(NamedTuple):
    """The orders of two clocks: arrays of one length, in the order in which they were added.

    Attributes:
        numbers: of the orders, over the whole graph, from 0, int64.
        one_ts, other_ts: raw readings, int64: ns, or the ticks of a clock that counts ticks.
        one_first: bool, whether the reading of `one` happened first.
        min_delay_ns: int64, how much later the second reading happened at least.
        max_delay_ns: int64, how much later at most; -1 where that is unknown.
    """

    numbers: Values
    one_ts: Values
    other_ts: Values
    one_first: npt.NDArray[np.bool_]
    min_delay_ns: Values
    max_delay_ns: Values

    def swapped(self) -> PairOrders:
        """The same with the two clocks exchanged."""
        return self._replace(one_ts=self.other_ts, other_ts=self.one_ts, one_first=~self.one_first)

    def only(self, chosen: npt.NDArray[np.bool_] | Values) -> PairOrders:
        """Some of them: those marked, or by place."""
        return self._replace(
            numbers=self.numbers[chosen],
            one_ts=self.one_ts[chosen],
            other_ts=self.other_ts[chosen],
            one_first=self.one_first[chosen],
            min_delay_ns=self.min_delay_ns[chosen],
            max_delay_ns=self.max_delay_ns[chosen],
        )


class OrderColumns(NamedTuple):
    """All orders of a graph, in the order in which they were added: arrays of one length.

    Attributes:
        pairs: the number of the pair of clocks, int64.
        one_first, one_ts, other_ts, min_delay_ns, max_delay_ns: as of `PairOrders`.
    """

    pairs: Values
    one_first: npt.NDArray[np.bool_]
    one_ts: Values
    other_ts: Values
    min_delay_ns: Values
    max_delay_ns: Values


def _no_columns() -> OrderColumns:
    return OrderColumns(*(np.empty(0, dtype=bool if n == 1 else np.int64) for n in range(6)))


def _joined(parts: Sequence[npt.NDArray[Any]]) -> npt.NDArray[Any]:
    """Arrays after each other; where all repeat one value, no more than that is kept."""
    if all(part.strides == (0,) and part[0] == parts[0][0] for part in parts):
        return np.broadcast_to(parts[0][:1], sum(map(len, parts)))
    return np.concatenate(parts)


class Orders:
    """The orders of a graph, by pair of clocks.

    Args:
        pairs: two clocks each, in either order, but in one only.
        columns: their orders.
    """

    def __init__(
        self, pairs: Sequence[tuple[ClockId, ClockId]] = (), columns: OrderColumns | None = None
    ) -> None:
        self._numbers = {pair: number for number, pair in enumerate(pairs)}
        self._parts = [] if columns is None else [columns]
        self._n = 0 if columns is None else len(columns.pairs)
        self._by_pair: tuple[Values, list[int]] | None = None
        self._by_clock: dict[ClockId, list[tuple[int, bool]]] | None = None
        self._clocks: dict[ClockId, None] | None = None

    def add(
        self,
        before: ClockId,
        after: ClockId,
        before_ts: Values,
        after_ts: Values,
        min_delay_ns: Values | int,
        max_delay_ns: Values | int | None = None,
    ) -> None:
        """Add orders of two different clocks; the arrays are of one length and taken over.

        Args:
            before, after: the clock that was read first, and the other.
            before_ts, after_ts: their raw readings, int64.
            min_delay_ns, max_delay_ns: int64, or one for all; 0 or more, min not above max.
        """
        n = len(before_ts)
        if not n:
            return
        number, one_first = self._numbered(before, after)
        most = NO_MAX_DELAY if max_delay_ns is None else max_delay_ns
        readings = (before_ts, after_ts) if one_first else (after_ts, before_ts)
        delays = (np.broadcast_to(np.asarray(d, dtype=np.int64), n) for d in (min_delay_ns, most))
        self._parts.append(
            OrderColumns(np.full(n, number), np.full(n, one_first), *readings, *delays)
        )
        self._n += n
        self._by_pair = self._by_clock = self._clocks = None

    def add_of_many(
        self,
        pairs: Sequence[tuple[ClockId, ClockId]],
        which: Values,
        before_ts: Values,
        after_ts: Values,
    ) -> None:
        """Add orders of many pairs of clocks, without delays.

        Args:
            pairs: of clocks, the one that was read first, and the other; each has an order.
            which: int64, of each order, its pair.
            before_ts, after_ts: raw readings, int64.
        """
        found = [self._numbered(*pair) for pair in pairs]
        numbers = np.array([number for number, _ in found], dtype=np.int64)[which]
        one_first = np.array([first for _, first in found], dtype=bool)[which]
        one, other = (
            np.where(one_first, first, second)
            for first, second in ((before_ts, after_ts), (after_ts, before_ts))
        )
        n = len(which)
        delays = (np.broadcast_to(np.int64(delay), n) for delay in (0, NO_MAX_DELAY))
        self._parts.append(OrderColumns(numbers, one_first, one, other, *delays))
        self._n += n
        self._by_pair = self._by_clock = self._clocks = None

    def _numbered(self, before: ClockId, after: ClockId) -> tuple[int, bool]:
        """The number of a pair of clocks, and whether it has them in this order."""
        number = self._numbers.get((before, after))
        one_first = number is not None or (after, before) not in self._numbers
        if number is None:
            pair = (before, after) if one_first else (after, before)
            number = self._numbers.setdefault(pair, len(self._numbers))
        return number, one_first

    def pairs(self) -> list[tuple[ClockId, ClockId]]:
        """The pairs of clocks with orders, in order of appearance."""
        return list(self._numbers)

    def clocks(self) -> Set[ClockId]:
        """The clocks with orders, in order of appearance."""
        if self._clocks is None:
            self._clocks = dict.fromkeys(clock for pair in self._numbers for clock in pair)
        return self._clocks.keys()

    def __contains__(self, clock: ClockId) -> bool:
        """Whether a clock has orders."""
        return any(clock in pair for pair in self._numbers)

    def has(self, one: ClockId, other: ClockId) -> bool:
        """Whether two clocks have orders."""
        return (one, other) in self._numbers or (other, one) in self._numbers

    def counts(self) -> Values:
        """How many orders there are of each pair."""
        return np.bincount(self.columns().pairs, minlength=len(self._numbers)).astype(np.int64)

    def infos(self) -> list[OrdersInfo]:
        """How many there are in each direction, pairs in order of appearance."""
        pairs, one_first, *_ = self.columns()
        counts = np.bincount(2 * pairs + ~one_first, minlength=2 * len(self._numbers)).tolist()
        directions = [way for one, other in self._numbers for way in ((one, other), (other, one))]
        return [OrdersInfo(*way, n) for way, n in zip(directions, counts, strict=True) if n]

    def columns(self) -> OrderColumns:
        """All orders."""
        if not self._parts:
            return _no_columns()
        if len(self._parts) > 1:
            joined = map(_joined, zip(*self._parts, strict=True))
            self._parts = [OrderColumns(*joined)]
        return self._parts[0]

    def of(self, one: ClockId, other: ClockId) -> PairOrders | None:
        """The orders of two clocks; None without any."""
        number = self._numbers.get((one, other))
        if number is None:
            swapped = self.of(other, one) if (other, one) in self._numbers else None
            return None if swapped is None else swapped.swapped()
        _, one_first, one_ts, other_ts, *delays = self.columns()
        if len(self._numbers) == 1:
            return PairOrders(np.arange(self._n), one_ts, other_ts, one_first, *delays)
        rows = self._rows(number)
        return PairOrders(
            rows, one_ts[rows], other_ts[rows], one_first[rows], *(d[rows] for d in delays)
        )

    def some_readings(self, clock: ClockId) -> tuple[Values, Values, npt.NDArray[np.bool_]]:
        """Some raw readings of a clock in its orders, of the others, and which of its are later.

        Returns:
            int64, int64 and bool, of one length, in no order.
        """
        pairs = self._of_clock().get(clock)
        if pairs is None:
            return (np.empty(0, np.int64),) * 2 + (np.empty(0, np.bool_),)
        columns = self.columns()
        parts: list[tuple[Values, Values, npt.NDArray[np.bool_]]] = []
        for number, is_one in pairs:
            one, other, one_first = columns.one_ts, columns.other_ts, columns.one_first
            if len(self._numbers) > 1:
                rows = self._rows(number)
                one, other, one_first = one[rows], other[rows], one_first[rows]
            every = slice(None, None, len(one) // _MOST_SAMPLED + 1)
            one, other, one_first = one[every], other[every], one_first[every]
            parts.append((one, other, ~one_first) if is_one else (other, one, one_first))
        ours, theirs, is_later = (np.concatenate(column) for column in zip(*parts, strict=True))
        return ours, theirs, is_later

    def _of_clock(self) -> dict[ClockId, list[tuple[int, bool]]]:
        """By clock, a few of its pairs by number, and whether it is their first clock."""
        if self._by_clock is None:
            self._by_clock = {}
            for (one, other), number in self._numbers.items():
                for clock, is_one in ((one, True), (other, False)):
                    pairs = self._by_clock.setdefault(clock, [])
                    if len(pairs) < _PAIRS_SAMPLED:
                        pairs.append((number, is_one))
        return self._by_clock

    def _rows(self, number: int) -> Values:
        """The orders of a pair, by its number."""
        order, ends = self._sorted()
        return order[ends[number] : ends[number + 1]]

    def _sorted(self) -> tuple[Values, list[int]]:
        """The numbers of the orders, those of one pair together, and where each pair's end."""
        if self._by_pair is None:
            order = np.argsort(self.columns().pairs, kind="stable")
            self._by_pair = order, [0, *np.cumsum(self.counts()).tolist()]
        return self._by_pair

    def __len__(self) -> int:
        """How many orders there are."""
        return self._n
