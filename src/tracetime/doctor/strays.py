"""How far events lie from every snapshot of their clock, and from the span of the trace.

What that says of them is told in `far.py`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from tracetime.clocks import BUILTIN_IDS, ClockId
from tracetime.errors import AS_IS, RESOLVED
from tracetime.graph.graph import ClockGraph
from tracetime.perfetto.schema import KINDS
from tracetime.perfetto.wire import Columns

Values = npt.NDArray[np.int64]

NEAR_NS: Final = 1_000_000_000
"""Closer than this to a snapshot or to the trace is not far, whatever the numbers look like."""

_OF_THE_PAST: Final = tuple(
    KINDS.index(name) for name in ("process_start", "heap_dump", "android_log", "statsd_atom")
)
"""They tell of what was long before the trace began."""
_PACKET: Final = KINDS.index("packet")
OF_THE_FILE: Final = (BUILTIN_IDS["BOOTTIME"], BUILTIN_IDS["TRACE_FILE"])


class Span(NamedTuple):
    """What a clock read in its snapshots, ns: the least, the greatest, the longest step."""

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
    near: int = 1 << 64
    far: int = 0
    low: int = 1 << 63
    high: int = -(1 << 63)
    raw_low: int = 1 << 63
    raw_sum: int = 0
    rises: int = 0
    packet: int = 1 << 64

    def add(self, other: Stray) -> None:
        """Count in others of that clock and side."""
        self.events += other.events
        self.near, self.far = min(self.near, other.near), max(self.far, other.far)
        self.low, self.high = min(self.low, other.low), max(self.high, other.high)
        self.raw_low = min(self.raw_low, other.raw_low)
        self.raw_sum += other.raw_sum
        self.rises += other.rises
        self.packet = min(self.packet, other.packet)


class Strays:
    """How far events lie outside of the span of the trace and of their clock's snapshots.

    Args:
        spans: of the clocks of snapshots.
        trace: that of the trace clock.
        clocks: by (clock, sequence, machine_id) of rows, which clock that is.
    """

    def __init__(
        self,
        spans: dict[ClockId, Span],
        trace: Span,
        clocks: Mapping[tuple[int, int, int], ClockId],
    ) -> None:
        self._spans = spans
        self.trace = trace
        self._clocks = clocks
        self.found: dict[tuple[ClockId, bool], dict[int, Stray]] = defaultdict(dict)

    def add(self, columns: Columns) -> None:
        """Take in the rows of a batch."""
        status, kind, time = columns["status"], columns["kind"], columns["trace_time"]
        placed = (status == RESOLVED) | ((status == AS_IS) & (kind == _PACKET))
        before = time < self.trace.low
        # A descriptor of counters has 0, which means nothing.
        past = np.isin(kind, _OF_THE_PAST) | (columns["source_ns"] == 0)
        rows = np.flatnonzero(placed & ((before & ~past) | (time > self.trace.high)))
        if not len(rows):
            return
        keys = np.stack([columns[name][rows] for name in ("clock", "sequence", "machine")], axis=1)
        known, which = np.unique(keys, axis=0, return_inverse=True)
        order = np.argsort(which.ravel(), kind="stable")
        ends = np.cumsum(np.bincount(which.ravel()))
        for key, ours in zip(known.tolist(), np.split(order, ends[:-1]), strict=True):
            self._add(self._clocks[tuple(key)], columns, rows[ours])

    def _add(self, clock: ClockId, columns: Columns, rows: npt.NDArray[np.intp]) -> None:
        time, source = columns["trace_time"][rows], columns["source_ns"][rows]
        away, before = _outside(time, self.trace)
        span = self._spans.get(clock)
        if span is not None:
            away = np.minimum(away, _outside(source, span)[0])
        raw, packets = columns["timestamp"][rows], columns["packet"][rows]
        scale = np.frexp(away.astype(np.float64))[1]
        for side in (True, False):
            there = (before == side) & (away > NEAR_NS)
            for k in np.unique(scale[there]).tolist():
                at = there & (scale == k)
                stray = Stray(
                    int(np.count_nonzero(at)),
                    int(away[at].min()), int(away[at].max()),
                    int(source[at].min()), int(source[at].max()),
                    int(raw[at].min()), _sum(raw[at]),
                    int(np.count_nonzero(raw[at][1:] > raw[at][:-1])), int(packets[at].min()),
                )  # fmt: skip
                self.found[clock, side].setdefault(k, Stray()).add(stray)

    def reach(self, before: bool, gap_ns: int) -> int:
        """How far from the trace its events go on that side, with no gap so long in between."""
        told = sorted(
            (stray.near, stray.far)
            for (_, side), strays in self.found.items()
            if side == before
            for stray in strays.values()
        )
        reached = NEAR_NS
        for near, far in told:
            if near - reached > gap_ns:
                break
            reached = max(reached, far)
        return reached


def spans_of(graph: ClockGraph) -> dict[ClockId, Span]:
    """What each clock read in all snapshots."""
    columns: dict[ClockId, list[Values]] = defaultdict(list)
    for read in graph.readings():
        values = read.values_ns
        if read.clock.clock in OF_THE_FILE:
            # That BOOTTIME is the time of the file, from 0, is a rule and no reading.
            values = values[values != 0]
        if len(values):
            columns[read.clock].append(values)
    found = {}
    for clock, parts in columns.items():
        values = np.sort(np.concatenate(parts)) if len(parts) > 1 else np.sort(parts[0])
        steps = np.diff(values.astype(np.uint64))
        step = int(steps.max()) if len(steps) else 0
        found[clock] = Span(int(values[0]), int(values[-1]), step, len(values))
    return found


def _sum(values: Values) -> int:
    """Their sum, which may leave int64."""
    high, low = values >> 32, values & 0xFFFFFFFF
    return (int(high.sum()) << 32) + int(low.sum())


def _outside(values: Values, span: Span) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.bool_]]:
    """How far some values are outside of a span, ns, 0 within it; and which are before it."""
    before, after = values < span.low, values > span.high
    away = np.zeros(len(values), dtype=np.uint64)
    # Modulo 2^64: no difference overflows that.
    unsigned = values.astype(np.uint64)
    away[before] = np.uint64(span.low % (1 << 64)) - unsigned[before]
    away[after] = unsigned[after] - np.uint64(span.high % (1 << 64))
    return away, before
