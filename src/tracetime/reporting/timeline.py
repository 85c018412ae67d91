"""Events over time, counted while they are read: one histogram for each clock.

Memory does not grow with the number of events, whatever their times are.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from tracetime.clocks.ids import ClockId
from tracetime.clocks.int_arrays import is_any_of
from tracetime.errors import PLACED
from tracetime.graph.values import Values
from tracetime.trace.event_clocks import machine_indexes
from tracetime.trace.events_table import Columns

_FIRST_SHIFT: Final = 20
"""Bins are 2^20 ns (1 ms) wide at first."""

_KEPT: Final = 1 << 15
"""Counts (clock, bin) that are kept before bins become wider: under 1 MB."""

_KEPT_PER_CLOCK: Final = 4
"""Counts that each clock may have in any case."""

_TAIL: Final = 0.002
"""Share of the events at each end that do not define the central bins."""

_NEAR: Final = 2
"""Bins within so many lengths of the central ones are drawn, too."""


class ClockBins(NamedTuple):
    """The events of one clock in each bin.

    Attributes:
        resolved, unresolved: those with a trace time, and those without.
        outside: how many are before the first bin or after the last.
    """

    clock: ClockId
    resolved: Values
    unresolved: Values
    outside: int


class Histogram(NamedTuple):
    """The events of a trace over time.

    Attributes:
        edges: of the bins, int64 ns of trace time.
        rows: of the clocks with events without a trace time, then of those with the most events.
        clocks: how many have events.
        outside: how many events of all clocks are outside the bins.
    """

    edges: Values
    rows: list[ClockBins]
    clocks: int
    outside: int


class Timeline:
    """A counter of the batches of `Trace.columns`, by clock, and by time in bins of 2^n ns.

    An event without a trace time counts at the time of the last event before it in the file that
    has one. All sequences of a clock number count as one clock.
    """

    def __init__(self) -> None:
        self._shift = _FIRST_SHIFT
        self._keys: dict[tuple[int, int], int] = {}
        self._batches: list[tuple[Values, Values, Values]] = []
        self._stored = 0
        self._last: int | None = None
        self._early: dict[int, int] = {}

    def add(self, columns: Columns) -> None:
        """Count a batch."""
        time, status = columns["trace_time"], columns["status"]
        n = len(time)
        if not n:
            return
        known = is_any_of(status, PLACED)
        keys = self._key(columns) * 2 + ~known
        if not known.all():
            before = np.maximum.accumulate(np.where(known, np.arange(n), -1))
            time = np.where(before >= 0, time[np.maximum(before, 0)], self._last or 0)
            if self._last is None and before[0] < 0:
                early = before < 0
                for key, events in zip(*np.unique(keys[early], return_counts=True), strict=True):
                    self._early[int(key)] = self._early.get(int(key), 0) + int(events)
                keys, time = keys[~early], time[~early]
        if not len(keys):
            return
        self._last = int(time[-1])
        self._store(keys, time >> self._shift, np.ones(len(keys), dtype=np.int64))

    def _key(self, columns: Columns) -> Values:
        scoped = columns["clock"].astype(np.uint64) << np.uint64(32)
        found, which = np.unique(scoped | columns["machine"], return_inverse=True)
        numbers = [
            self._keys.setdefault(divmod(int(key), 1 << 32), len(self._keys)) for key in found
        ]
        return np.array(numbers, dtype=np.int64)[which]

    def _store(self, keys: Values, bins: Values, events: Values) -> None:
        merged = _sum_bins(keys, bins, events)
        self._batches.append(merged)
        self._stored += len(merged[0])
        kept = max(_KEPT, _KEPT_PER_CLOCK * len(self._keys))
        while self._stored > kept:
            every = _sum_bins(*map(np.concatenate, zip(*self._batches, strict=True)))
            if len(every[0]) > kept // 2 and self._shift < 63:
                self._shift += 1
                every = _sum_bins(every[0], every[1] >> 1, every[2])
                self._batches, self._stored = [every], len(every[0])
                if len(every[0]) > kept // 2:
                    continue
            self._batches, self._stored = [every], len(every[0])
            break

    def histogram(
        self,
        machines: list[int],
        most_bins: int,
        least: tuple[int, int] | None = None,
        most_rows: int | None = None,
    ) -> Histogram:
        """Return the counts.

        The bins hold nearly all events; a few that are far from all others are outside.

        Args:
            machines: as `Trace.machines`.
            most_bins: the largest number of bins.
            least: (first, last) instants that the bins cover, unless that is far longer.
            most_rows: the largest number of clocks; None for all.
        """
        if not self._batches:
            return Histogram(np.zeros(0, dtype=np.int64), [], 0, 0)
        keys, bins, events = _sum_bins(*map(np.concatenate, zip(*self._batches, strict=True)))
        early = np.array(list(self._early.items()), dtype=np.int64).reshape(-1, 2)
        keys = np.concatenate([keys, early[:, 0]])
        events = np.concatenate([events, early[:, 1]])
        bins = np.concatenate([bins, np.full(len(early), bins.min())])
        first, last = _central(bins, events)
        if least is not None:
            low, high = least[0] >> self._shift, least[1] >> self._shift
            if max(high, last) - min(low, first) <= 10 * (last - first + 1) or low == high:
                first, last = min(first, low), max(last, high)
        merge = 0
        while (last >> merge) - (first >> merge) + 1 > most_bins:
            merge += 1
        start, n = first >> merge, (last >> merge) - (first >> merge) + 1
        inside = (bins >= first) & (bins <= last)
        at = np.where(inside, (bins >> merge) - start, 0)
        names = {index: key for key, index in self._keys.items()}
        index = machine_indexes(machines)
        outside = np.bincount(keys[~inside] >> 1, events[~inside], len(names)).astype(np.int64)
        ranked = _rank_clocks(keys[inside], events[inside], len(names))
        found = []
        for key in ranked[:most_rows].tolist():
            number, machine = names[key]
            counts = [
                np.bincount(at[rows], events[rows], n).astype(np.int64)
                for rows in (inside & (keys == 2 * key + lost) for lost in (0, 1))
            ]
            clock = ClockId(number, machine=index.get(machine, machine))
            found.append(ClockBins(clock, counts[0], counts[1], int(outside[key])))
        # Edges are limited to int64, as all instants are.
        edges = [(start + k) << (self._shift + merge) for k in range(n + 1)]
        low, high = -(1 << 63), (1 << 63) - 1
        limited = np.array([min(max(edge, low), high) for edge in edges], dtype=np.int64)
        return Histogram(limited, found, len(names), int(outside.sum()))


def _rank_clocks(keys: Values, events: Values, n: int) -> Values:
    """Rank the n clocks: those with events without a trace time first, then by events."""
    resolved, unresolved = (
        np.bincount(keys[keys & 1 == lost] >> 1, events[keys & 1 == lost], n) for lost in (0, 1)
    )
    return np.lexsort((-resolved, unresolved == 0))


def _sum_bins(keys: Values, bins: Values, events: Values) -> tuple[Values, Values, Values]:
    """Return one row for each (key, bin)."""
    places, at = np.unique(bins, return_inverse=True)
    kinds, of = np.unique(keys, return_inverse=True)
    both, which = np.unique(of * len(places) + at, return_inverse=True)
    kind, place = np.divmod(both, len(places))
    return kinds[kind], places[place], np.bincount(which, events).astype(np.int64)


def _central(bins: Values, events: Values) -> tuple[int, int]:
    """Return the first and the last bin of nearly all events, and of those near them."""
    order = np.argsort(bins, kind="stable")
    sorted_bins, share = bins[order], np.cumsum(events[order]) / events.sum()
    first = int(sorted_bins[np.searchsorted(share, _TAIL)])
    last = int(sorted_bins[min(int(np.searchsorted(share, 1 - _TAIL)), len(bins) - 1)])
    around = _NEAR * (last - first + 1)
    # Python's int does not overflow.
    near = [bin_ for bin_ in sorted_bins.tolist() if first - around <= bin_ <= last + around]
    return near[0], near[-1]
