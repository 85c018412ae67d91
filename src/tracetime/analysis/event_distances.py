"""The distances of events from every snapshot of their clock, and from the span of the trace.

`doctor/far_events.py` says what follows from it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from tracetime.clocks.ids import BUILTIN_IDS, ClockId
from tracetime.clocks.snapshot import INT64_MAX, INT64_MIN
from tracetime.errors import AS_IS, RESOLVED
from tracetime.graph.graph import Graph
from tracetime.graph.values import Values
from tracetime.trace.events_table import Columns, Kind

NEAR_NS: Final = 1_000_000_000
"""Closer than this to a snapshot or to the trace is not far, whatever the other numbers are."""

_RECORD: Final = 0
"""The kind of what is a record itself, and no item in one."""
_ABOVE: Final = 1 << 64
"""More than any time, distance or packet is."""
OF_THE_FILE: Final = (BUILTIN_IDS["BOOTTIME"], BUILTIN_IDS["TRACE_FILE"])


class Span(NamedTuple):
    """The readings of a clock in its snapshots, ns: the least, the greatest, the longest gap."""

    low: int
    high: int
    step: int
    readings: int

    @property
    def length(self) -> int:
        return self.high - self.low


@dataclass(slots=True)
class Stray:
    """Events of one clock, on one side of the trace, at about one distance from it (a power of 2).

    Attributes:
        near, far: the least and greatest distance, ns.
        low, high: the least and greatest reading, ns.
        raw_low, raw_sum: the least timestamp as recorded, and what they add up to.
        rises: how many are greater than the one before.
        packet: the first.
    """

    events: int = 0
    near: int = _ABOVE
    far: int = 0
    low: int = _ABOVE
    high: int = -_ABOVE
    raw_low: int = _ABOVE
    raw_sum: int = 0
    rises: int = 0
    packet: int = _ABOVE

    def add(self, other: Stray) -> None:
        """Add the counts of others of that clock and side."""
        self.events += other.events
        self.near, self.far = min(self.near, other.near), max(self.far, other.far)
        self.low, self.high = min(self.low, other.low), max(self.high, other.high)
        self.raw_low = min(self.raw_low, other.raw_low)
        self.raw_sum += other.raw_sum
        self.rises += other.rises
        self.packet = min(self.packet, other.packet)


class ReadingSpans(Mapping[ClockId, Span]):
    """The span of each clock of the snapshots; without clocks that were never read.

    Attributes:
        numbers: of all clocks of snapshots, in order.
        low, high, step, readings: by number of a clock, int64, as `Span` has them; without
            readings, low is the greatest number and high the least.
        of_file: whether a reading of 0 is no reading of that clock.
        marks, starts: its readings, ascending and each once: `marks[starts[k]:starts[k + 1]]`.
    """

    def __init__(self, graph: Graph) -> None:
        clocks = dict.fromkeys(info.clock for info in graph.clocks())
        self.numbers = {clock: k for k, clock in enumerate(clocks)}
        n = len(self.numbers)
        which, values = graph.contents.every_reading()
        order = np.lexsort((values, which))
        which, values = which[order], values[order]
        kept = np.append(True, (which[1:] != which[:-1]) | (values[1:] != values[:-1]))
        kept = kept[: len(which)]
        self.marks = values[kept]
        self.starts = np.searchsorted(which[kept], np.arange(n + 1))
        # That BOOTTIME is the time of the file, from 0, is a rule and no reading.
        self.of_file = np.array([c.clock in OF_THE_FILE for c in self.numbers], dtype=bool)
        if self.of_file.any():
            read = ~self.of_file[which] | (values != 0)
            which, values = which[read], values[read]
        self.readings = np.bincount(which, minlength=n)
        self.low, self.high = np.full(n, INT64_MAX), np.full(n, INT64_MIN)
        self.step = np.zeros(n, dtype=np.int64)
        there = np.flatnonzero(self.readings)
        if len(there):
            first = np.append(0, np.cumsum(self.readings[there])[:-1])
            self.low[there] = values[first]
            self.high[there] = values[np.append(first[1:], len(values)) - 1]
            # Modulo 2^64: no difference overflows that.
            steps = np.diff(values.view(np.uint64), prepend=values[:1].view(np.uint64))
            steps[first] = 0
            self.step[there] = np.minimum(np.maximum.reduceat(steps, first), INT64_MAX)

    def __getitem__(self, clock: ClockId) -> Span:
        k = self.numbers[clock]
        if not self.readings[k]:
            raise KeyError(clock)
        return Span(*(int(c[k]) for c in (self.low, self.high, self.step, self.readings)))

    def are_known(self, which: Values) -> npt.NDArray[np.bool_]:
        """A mask of the clocks, by number, that have any reading."""
        known = which < len(self.readings)
        known[known] = self.readings[which[known]] > 0
        return known

    def __iter__(self) -> Iterator[ClockId]:
        return compress(self.numbers, self.readings.tolist())

    def __len__(self) -> int:
        return int(np.count_nonzero(self.readings))


class Strays:
    """The distances of events outside the span of the trace and of their clock's snapshots.

    Args:
        spans: of the clocks of snapshots.
        trace: that of the trace clock.
        clocks: by number, those of snapshots first.
        kinds: by code, what rows are.

    Attributes:
        found: by clock and side of the trace (whether before it), by distance (a power of 2).
    """

    def __init__(
        self, spans: ReadingSpans, trace: Span, clocks: list[ClockId], kinds: Sequence[Kind]
    ) -> None:
        self._of_the_past = [code for code, kind in enumerate(kinds) if kind.tells_of_the_past]
        self._spans = spans
        self.trace = trace
        self._clocks = clocks
        self.found: dict[tuple[ClockId, bool], dict[int, Stray]] = defaultdict(dict)

    def add(self, columns: Columns, numbers: Values) -> None:
        """Take in the rows of a batch; numbers: of the clock of each."""
        status, kind, time = columns["status"], columns["kind"], columns["trace_time"]
        placed = (status == RESOLVED) | ((status == AS_IS) & (kind == _RECORD))
        before = time < self.trace.low
        # A descriptor of counters has 0, which means nothing.
        past = np.isin(kind, self._of_the_past) | (columns["source_ns"] == 0)
        rows = np.flatnonzero(placed & ((before & ~past) | (time > self.trace.high)))
        away = outside(time[rows], self.trace.low, self.trace.high)
        which, spans = numbers[rows], self._spans
        own = spans.are_known(which)
        ours, source = which[own], columns["source_ns"][rows]
        away[own] = np.minimum(away[own], outside(source[own], spans.low[ours], spans.high[ours]))
        far = away > NEAR_NS
        if far.any():
            self._add(which[far], before[rows[far]], away[far], columns, rows[far])

    def _add(
        self,
        which: Values,
        before: npt.NDArray[np.bool_],
        away: npt.NDArray[np.uint64],
        columns: Columns,
        rows: npt.NDArray[np.intp],
    ) -> None:
        scale = np.frexp(away.astype(np.float64))[1].astype(np.int64)
        key = which << 8 | before.astype(np.int64) << 7 | scale
        order = np.argsort(key, kind="stable")
        key, away, rows = key[order], away[order], rows[order]
        source, raw = columns["source_ns"][rows], columns["timestamp"][rows]
        starts = np.flatnonzero(np.append(True, key[1:] != key[:-1]))
        rises = np.append(False, raw[1:] > raw[:-1])
        rises[starts] = False
        for at, events, near, distance, low, high, raw_low, upper, lower, rising, packet in zip(
            key[starts].tolist(),
            np.diff(np.append(starts, len(key))).tolist(),
            np.minimum.reduceat(away, starts).tolist(),
            np.maximum.reduceat(away, starts).tolist(),
            np.minimum.reduceat(source, starts).tolist(),
            np.maximum.reduceat(source, starts).tolist(),
            np.minimum.reduceat(raw, starts).tolist(),
            # The sum may leave int64.
            np.add.reduceat(raw >> 32, starts).tolist(),
            np.add.reduceat(raw & 0xFFFFFFFF, starts).tolist(),
            np.add.reduceat(rises, starts, dtype=np.int64).tolist(),
            np.minimum.reduceat(columns["packet"][rows], starts).tolist(),
            strict=True,
        ):
            raw_sum = (upper << 32) + lower
            by_distance = self.found[self._clocks[at >> 8], bool(at & 128)]
            by_distance.setdefault(at & 127, Stray()).add(
                Stray(events, near, distance, low, high, raw_low, raw_sum, rising, packet)
            )

    def reach(self, before: bool, gap_ns: int) -> int:
        """The distance to which events go on that side of the trace, without a gap that long."""
        distances = sorted(
            (stray.near, stray.far)
            for (_, side), strays in self.found.items()
            if side == before
            for stray in strays.values()
        )
        reached = NEAR_NS
        for near, far in distances:
            if near - reached > gap_ns:
                break
            reached = max(reached, far)
        return reached


def outside(values: Values, low: Values | int, high: Values | int) -> npt.NDArray[np.uint64]:
    """The distances of some values from a span, ns, 0 within it."""
    # Modulo 2^64: no difference overflows that.
    unsigned = values.astype(np.uint64)
    least, most = (np.asarray(end, dtype=np.int64).astype(np.uint64) for end in (low, high))
    away = np.where(values < low, least - unsigned, np.uint64(0))
    return np.where(values > high, unsigned - most, away)
