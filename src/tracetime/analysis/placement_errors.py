"""The errors of events drawn by Perfetto's rule: by clock, over time, in segments.

The tube says where an event can have been, floor where it is drawn. Memory is bounded, however many
events and clocks there are.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from tracetime.clocks.ids import ClockId
from tracetime.clocks.snapshot import INT64_MAX
from tracetime.errors import AMBIGUOUS_SOURCE, AS_IS, ONE_SIDED, REASONS, RESOLVED
from tracetime.graph.values import Mask, Values, distances
from tracetime.trace.event_clocks import ClockNumbers
from tracetime.trace.events_table import Columns

Place = tuple[int, int]
"""Where an event is drawn, ns, and the first byte of its packet; (0, 0) where it is not drawn."""

_KEPT: Final = 1 << 18
"""Steps of all clocks that are kept while events are added; 48 bytes each."""

_LONGEST: Final = 62
"""Buckets of 2^62 ns: all of the time that int64 holds."""

BEFORE_ZERO: Final = "before_zero"
"""Why an event is not drawn that the rule places before time 0."""


class Segments(NamedTuple):
    """The errors of a clock's events: each value holds from its time until the next one's.

    Attributes:
        time: int64[n], ns of trace time, ascending: where the first event of the step is drawn.
        error: int64[n], ns: no event of the step is farther from where it is drawn.
        shift: int64[n], ns: what is drawn less the tube's estimate, where that is greatest.
        offset: int64[n]: the first byte of the packet of that first event.
    """

    time: Values
    error: Values
    shift: Values
    offset: Values


class ClockError(NamedTuple):
    """The error of events of one clock where they are drawn.

    Attributes:
        events: that are drawn and have an error bar.
        most_ns: the greatest error.
        earliest_shift_ns, latest_shift_ns: the least and greatest of what is drawn less the
            tube's estimate.
    """

    clock: ClockId
    events: int
    most_ns: int
    earliest_shift_ns: int
    latest_shift_ns: int


class WithoutError(NamedTuple):
    """Events of one clock whose error is not known, or that are not drawn.

    Attributes:
        drawn: whether they are.
        reason: why not, or why they have no error bar: of `errors.REASONS`, or `BEFORE_ZERO`.
        first, last: the places of the first and of the last of them.
    """

    clock: ClockId
    drawn: bool
    reason: str
    events: int
    first: Place
    last: Place


class PlacementErrors:
    """The errors of events in clocks other than the trace clock.

    Args:
        numbers: numbers the clocks of events.
        home: the number of the trace clock, whose events have no error.
    """

    def __init__(self, numbers: ClockNumbers, home: int) -> None:
        self._numbers = numbers
        self._home = home
        # Columns: number of the clock, time, offset, error, least and greatest shift.
        self._kept: list[Values] = [np.empty(0, dtype=np.int64) for _ in range(6)]
        self._waiting: list[list[Values]] = []
        self._n_waiting = 0
        self._length = 0
        self._events = defaultdict[int, int](int)
        self._others: dict[tuple[int, bool, str], tuple[int, Place, Place]] = {}

    def add(self, floor: Columns, tube: Columns) -> None:
        """Take in a batch as floor places it, and as `ErrorBars.place` returns it."""
        numbers = self._numbers.of_rows(floor)
        drawn_at, before = floor["trace_time"], floor["status"]
        away = (floor["clock"] != 0) & (numbers != self._home)
        placed = away & ((before == RESOLVED) | (before == AS_IS))
        drawn = placed & (drawn_at >= 0)
        barred = drawn & (before == RESOLVED) & (tube["earliest"] <= tube["latest"])
        barred &= tube["status"] != ONE_SIDED
        where = drawn_at, floor["offset"].astype(np.int64)
        self._add_steps(numbers, where, tube, np.flatnonzero(barred))
        why = np.where(before == AS_IS, before, tube["status"])
        self._count(drawn & ~barred, True, numbers, why, where)
        nowhere = np.zeros_like(drawn_at), np.zeros_like(drawn_at)
        self._count(away & ~placed, False, numbers, before, nowhere)
        early = np.full(len(before), len(REASONS))
        self._count(placed & ~drawn, False, numbers, early, nowhere)

    def _add_steps(
        self,
        numbers: Values,
        where: tuple[Values, Values],
        tube: Columns,
        rows: npt.NDArray[np.intp],
    ) -> None:
        numbers, drawn_at, offset = (column[rows] for column in (numbers, *where))
        low, high, best = (tube[name][rows] for name in ("earliest", "latest", "trace_time"))
        error = _signed(np.maximum(distances(drawn_at, low), distances(drawn_at, high)))
        shift = _signed(distances(drawn_at, best))
        shift[drawn_at < best] *= -1
        # Of two possible times none is the best.
        shift[tube["status"][rows] == AMBIGUOUS_SOURCE] = 0
        self._waiting.append([numbers, drawn_at, offset, error, shift, shift])
        self._n_waiting += len(rows)
        for number, n in zip(*np.unique(numbers, return_counts=True), strict=True):
            self._events[int(number)] += int(n)
        if self._n_waiting > _KEPT:
            self._settle()

    def _settle(self) -> None:
        """Put the waiting events into segments: into longer ones where they are too many."""
        if not self._waiting:
            return
        self._kept = _merge_segments(
            [np.concatenate(c) for c in zip(self._kept, *self._waiting, strict=True)], self._length
        )
        self._waiting, self._n_waiting = [], 0
        while len(self._kept[0]) > _KEPT and self._length < _LONGEST:
            self._length += 1
            self._kept = _merge_segments(self._kept, self._length)

    def _count(
        self,
        rows: Mask,
        drawn: bool,
        numbers: Values,
        why: npt.NDArray[np.integer[Any]],
        where: tuple[Values, Values],
    ) -> None:
        if not rows.any():
            return
        key = numbers[rows] * (len(REASONS) + 1) + why[rows]
        time, offset = (column[rows] for column in where)
        order = np.lexsort((time, key))
        key, time, offset = key[order], time[order], offset[order]
        starts = np.flatnonzero(np.append(True, key[1:] != key[:-1]))
        ends = np.append(starts[1:], len(key)) - 1
        columns = (
            key[starts],
            ends - starts + 1,
            *(c[e] for e in (starts, ends) for c in (time, offset)),
        )
        for one, n, *places in zip(*(column.tolist() for column in columns), strict=True):
            number, status = divmod(one, len(REASONS) + 1)
            reason = REASONS[status] if status < len(REASONS) else BEFORE_ZERO
            group = number, drawn, reason
            first, last = tuple(places[:2]), tuple(places[2:])
            known = self._others.get(group, (0, first, last))
            self._others[group] = known[0] + n, min(known[1], first), max(known[2], last)

    def clocks(self) -> list[ClockError]:
        """The clocks whose events have error bars, the worst first."""
        self._settle()
        numbers, _, _, error, low, high = self._kept
        starts = np.flatnonzero(np.append(True, numbers[1:] != numbers[:-1])[: len(numbers)])
        if not len(starts):
            return []
        columns = (
            numbers[starts],
            np.maximum.reduceat(error, starts),
            np.minimum.reduceat(low, starts),
            np.maximum.reduceat(high, starts),
        )
        found = [
            ClockError(self._numbers.clocks[number], self._events[number], most, least, greatest)
            for number, most, least, greatest in zip(*(c.tolist() for c in columns), strict=True)
        ]
        return sorted(found, key=lambda one: (-one.most_ns, one.clock.order()))

    def others(self) -> list[WithoutError]:
        """The clocks that have events without an error bar, or that are not drawn; most first."""
        found = [
            WithoutError(self._numbers.clocks[number], drawn, reason, *counted)
            for (number, drawn, reason), counted in self._others.items()
        ]
        return sorted(found, key=lambda one: (not one.drawn, -one.events, one.clock.order()))

    def steps(self, clock: ClockId, most: int) -> Segments:
        """The errors of a clock of `clocks` in so many segments at most; none is understated."""
        self._settle()
        number = self._numbers.clocks.index(clock)
        first, end = np.searchsorted(self._kept[0], [number, number + 1])
        columns = _changes([column[first:end] for column in self._kept])
        length = self._length
        while len(columns[0]) > most and length < _LONGEST:
            length += 1
            columns = _changes(_merge_segments(columns, length))
        _, time, offset, error, low, high = columns
        return Segments(time, error, np.where(high >= -low, high, low), offset)


def _merge_segments(columns: list[Values], length: int) -> list[Values]:
    """The segments of one clock within the same 2^length ns as one, in order of clock and time."""
    order = np.lexsort((columns[1], columns[0]))
    numbers, time, offset, error, low, high = (column[order] for column in columns)
    bucket = time >> length
    begins = np.append(True, (numbers[1:] != numbers[:-1]) | (bucket[1:] != bucket[:-1]))
    starts = np.flatnonzero(begins[: len(numbers)])
    if not len(starts):
        return columns
    return [
        numbers[starts],
        time[starts],
        offset[starts],
        np.maximum.reduceat(error, starts),
        np.minimum.reduceat(low, starts),
        np.maximum.reduceat(high, starts),
    ]


def _changes(columns: list[Values]) -> list[Values]:
    """The segments of one clock without those that repeat the one before."""
    new = np.ones(len(columns[0]), dtype=bool)
    new[1:] = np.logical_or.reduce([c[1:] != c[:-1] for c in columns[3:]])
    return [column[new] for column in columns]


def _signed(values: npt.NDArray[np.uint64]) -> Values:
    return np.minimum(values, np.uint64(INT64_MAX)).astype(np.int64)
