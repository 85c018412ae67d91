"""The error bars of events by clock: the widest and where it is, the median, and how late floor is.

Bars are noted as events are placed by the tube. Of events that floor placed, up to 10,000 are
placed again, and the widest bars are looked for at the readings that can have them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from tracetime.clocks.ids import ClockId
from tracetime.clocks.int_arrays import is_any_of
from tracetime.clocks.snapshot import INT64_MAX, INT64_MIN
from tracetime.errors import BARRED, RESOLVED, TraceError, TracetimeError
from tracetime.graph.clock_graph import inner
from tracetime.graph.graph import Graph
from tracetime.graph.values import Values, ascending, distances
from tracetime.trace.error_bars import ErrorBars, PlacementObserver
from tracetime.trace.event_clocks import by_clock, machine_indexes
from tracetime.trace.events_table import CUT_OFF, EARLY, SOURCE_STATUS, SOURCE_TIME, Columns

if TYPE_CHECKING:
    from tracetime.clocks.json_types import Count
    from tracetime.graph.info import ClockInfo
    from tracetime.graph.tube.results import Bars
    from tracetime.trace.trace import Trace

Widths = npt.NDArray[np.uint64]

MOST_SAMPLED: Final = 10_000
"""Events whose bars give the median."""

_OPEN: Final = (1 << 64) - 1
"""The width of a bar that is open to a side: the greatest uint64, which no other bar has."""


class Shift(NamedTuple):
    """The time by which floor puts events later than the tube's estimate, ns.

    Attributes:
        least: the least.
        greatest: the greatest.
    """

    least: int
    greatest: int


class ClockBars(NamedTuple):
    """The error bars of events on trace time, as half-widths.

    Attributes:
        at_most_ns: the widest bar, ns; null: a side of it is open.
        at_ns: the reading of the clock that has it: ns, or ticks of a clock that counts them.
        median_ns: the median of at most 10,000 bars, ns; null: open.
        late_ns: by how much later floor puts events than the tube's estimate; null where floor
            places none.
    """

    at_most_ns: Count | None
    at_ns: int
    median_ns: Count | None
    late_ns: Shift | None


@dataclass(slots=True)
class _Noted:
    """The bars of one clock: how many, the width of the widest, its reading, and some widths."""

    events: int = 0
    width: int = -1
    at: int = 0
    sample: list[Widths] = field(default_factory=list)
    late: Shift | None = None


class EventBars:
    """A measure of the bars of placed events, by clock.

    Attributes:
        beyond_tubes: how many clocks have none because they take more tubes than are allowed.
        beyond_most: how many have none because so many others are measured.
    """

    def __init__(self) -> None:
        self.beyond_tubes = self.beyond_most = 0
        self._of: defaultdict[ClockId, _Noted] = defaultdict(_Noted)
        self._stride = 1
        self._kept = 0

    def bound(self, clock: ClockId, read: Values, earliest: Values, latest: Values) -> None:
        """Note the bars of events of one clock."""
        if not len(read):
            return
        self.widest(clock, read, earliest, latest)
        noted = self._of[replace(clock, file=0)]
        some = _widths(earliest, latest)[-noted.events % self._stride :: self._stride]
        noted.events += len(read)
        noted.sample.append(some)
        self._kept += len(some)
        while self._kept > MOST_SAMPLED:
            self._stride *= 2
            for one in self._of.values():
                one.sample = [np.concatenate(one.sample)[::2]] if one.sample else []
            self._kept = sum(len(one.sample[0]) for one in self._of.values() if one.sample)

    def widest(self, clock: ClockId, read: Values, earliest: Values, latest: Values) -> None:
        """Note the widest of the bars that readings of a clock have, or may have."""
        widths, noted = _widths(earliest, latest), self._of[replace(clock, file=0)]
        k = int(widths.argmax())
        if int(widths[k]) > noted.width:
            noted.width, noted.at = int(widths[k]), int(read[k])

    def shift(self, clock: ClockId, floor: Values, estimate: Values) -> None:
        """Note two places of the same events of one clock."""
        if not len(floor):
            return
        late = np.minimum(distances(floor, estimate), np.uint64(INT64_MAX)).astype(np.int64)
        late[floor < estimate] *= -1
        least, greatest = int(late.min()), int(late.max())
        noted = self._of[replace(clock, file=0)]
        before = noted.late
        if before is not None:
            least, greatest = min(least, before.least), max(greatest, before.greatest)
        noted.late = Shift(least, greatest)

    def has(self, clock: ClockId) -> bool:
        """Whether the bars of a clock are known."""
        return replace(clock, file=0) in self._of

    def of(self, clocks: Iterable[ClockId]) -> ClockBars | None:
        """Return the bars of the events of some clocks; None where none is known."""
        # Events know no files.
        keys = {replace(clock, file=0) for clock in clocks}
        noted = [self._of[key] for key in keys & self._of.keys()]
        known = [one for one in noted if one.width >= 0]
        if not known:
            return None
        widest = max(known, key=lambda one: one.width)
        sample = np.concatenate([np.empty(0, np.uint64), *(w for one in known for w in one.sample)])
        late = [one.late for one in noted if one.late is not None]
        return ClockBars(
            half_width(widest.width),
            widest.at,
            _median(np.sort(sample)),
            Shift(min(one.least for one in late), max(one.greatest for one in late))
            if late
            else None,
        )


def half_width(width: int) -> int | None:
    """Return half the width of a bar, rounded up; None of an open one."""
    return None if width == _OPEN else (width + 1) // 2


def _widths(earliest: Values, latest: Values) -> Widths:
    widths: Widths = latest.view(np.uint64) - earliest.view(np.uint64)
    widths[(earliest == INT64_MIN) | (latest == INT64_MAX)] = _OPEN
    return widths


def _median(widths: Widths) -> int | None:
    """Return the median half-width of sorted widths, rounded up; None: open, or there are none."""
    if not len(widths) or widths[len(widths) // 2] == _OPEN:
        return None
    both = int(widths[(len(widths) - 1) // 2]) + int(widths[len(widths) // 2])
    return -(-both // 4)


_SAMPLED: Final = ("source_ns", "trace_time", "status", "snapshots", "clock", "sequence", "machine")
_IN_PART: Final = (CUT_OFF, EARLY, SOURCE_TIME, SOURCE_STATUS)
"""The columns that `ErrorBars.place` takes; the latter where there are any."""


class EventSample:
    """A sample of at most 10,000 rows, evenly spaced, of the batches of `Trace.columns`.

    Attributes:
        rows: how many rows there were.
    """

    def __init__(self) -> None:
        self.rows = 0
        self._stride = 1
        self._batches: list[Columns] = []

    @property
    def is_whole(self) -> bool:
        """Whether every row is in the sample."""
        return self._stride == 1

    def add(self, columns: Columns) -> None:
        """Take in a batch."""
        before, self.rows = self.rows, self.rows + len(columns["status"])
        while self.rows > MOST_SAMPLED * self._stride:
            self._stride *= 2
            kept = {name: column[::2] for name, column in self.columns().items()}
            self._batches = [kept] if kept else []
        names = [*_SAMPLED, *(name for name in _IN_PART if name in columns)]
        some = slice(-before % self._stride, None, self._stride)
        # Copies: a batch is not to be held for a few of its rows.
        self._batches.append({name: columns[name][some].copy() for name in names})

    @property
    def is_cut_off(self) -> bool:
        """Whether the file has only parts of readings."""
        return any(CUT_OFF in one for one in self._batches)

    def columns(self) -> Columns:
        """Return the rows of the sample."""
        names = self._batches[0] if self._batches else ()
        return {name: np.concatenate([one[name] for one in self._batches]) for name in names}


_MOST_GAPS: Final = 1024
"""Gaps between snapshots in which the widest bar is looked for: the longest."""

_PARTS: Final = 16
_ROUNDS: Final = 6
"""The gaps beside the widest bars are divided into parts, again and again: 16^6 is above 1e7."""

_WIDEST: Final = 2
"""Of the widest bars of a round so many have the gaps beside them divided."""

_CLOSE_NS: Final = 64
"""Between readings this close no bar changes by as much as 1 ns."""

Readings = tuple[int, int]
"""The least and the greatest reading of a clock: ns, or ticks."""


def note_widest(
    graph: Graph,
    home: ClockId,
    noted: EventBars,
    spans: Mapping[ClockId, Readings],
    bars: Bars = "estimated",
) -> None:
    """Note the widest bars on a clock that readings of others have; of those without a way, none.

    They are at snapshots, between them, or at the ends of what was read.

    Args:
        graph: with all snapshots.
        home: the clock to convert to.
        noted: takes the bars.
        spans: the readings of each clock.
        bars: "estimated" or "guaranteed".
    """
    for clock, span in spans.items():
        if clock == home:
            noted.widest(clock, *(np.array([span[0]]),) * 3)
            continue
        with suppress(TracetimeError):
            if graph.tubes.pairs.counter(clock) is not None:
                # What a reading of it can be depends on where it is in the file.
                continue
            points = _first_points(graph, clock, home, span)
            for _ in range(_ROUNDS):
                reached = graph.tubes.convert(points, clock, home, bars)[0]
                points = points[barred := is_any_of(reached.status, BARRED)]
                if not len(points):
                    break
                low, high = reached.earliest[barred], reached.latest[barred]
                noted.widest(clock, points, low, high)
                points = _beside_widest(points, _widths(low, high))
                if not len(points):
                    break


def _first_points(graph: Graph, clock: ClockId, home: ClockId, span: Readings) -> Values:
    """Return readings of a clock: the ends of what was read, snapshots, and parts of the gaps.

    Of a clock that was read once, that reading.
    """
    path = graph.path(clock, home, policy="tube")
    _, ours, _ = graph.shared(clock, path[1])
    inside = ours[(ours > span[0]) & (ours < span[1])]
    ends = ascending(np.append(inside, span))
    gaps: Widths = ends[1:].view(np.uint64) - ends[:-1].view(np.uint64)
    longest = np.sort(np.argsort(gaps, kind="stable")[-_MOST_GAPS:])
    return _divided(ends[longest], gaps[longest]) if len(gaps) else ends


def _divided(starts: Values, gaps: Widths) -> Values:
    """Return the ends of some gaps, and what divides them into parts."""
    parts = np.arange(_PARTS, dtype=np.uint64)
    inside = starts.view(np.uint64)[:, None] + (gaps // np.uint64(_PARTS))[:, None] * parts
    points = np.append(inside.ravel(), starts.view(np.uint64) + gaps)
    return ascending(points.view(np.int64)) if len(starts) else starts


def _beside_widest(points: Values, widths: Widths) -> Values:
    """Return readings in the gaps beside the widest bars; none where all are close."""
    widest = np.argsort(widths, kind="stable")[-_WIDEST:]
    starts = ascending(np.append(widest, widest - 1).clip(0, max(len(points) - 2, 0)))
    gaps: Widths = points[1:].view(np.uint64) - points[:-1].view(np.uint64)
    starts = starts[gaps[starts] > _CLOSE_NS] if len(gaps) else starts[:0]
    return _divided(points[starts], gaps[starts])


def note_sample(
    trace: Trace,
    sample: EventSample,
    noted: PlacementObserver,
    clocks: Collection[ClockId],
    bars: Bars = "estimated",
) -> None:
    """Place the rows of a sample that are of some clocks by the tube, and note their bars."""
    columns = sample.columns()
    if not columns:
        return
    every = np.arange(len(columns["status"]))
    rows = [
        rows
        for clock, rows in by_clock(columns, every, machine_indexes(trace.machines))
        if clock in clocks
    ]
    if rows:
        chosen = np.sort(np.concatenate(rows))
        placer = ErrorBars(inner(trace.clocks), trace.trace_clock, trace.machines, bars, {}, noted)
        with suppress(TracetimeError):
            placer.place({name: column[chosen] for name, column in columns.items()})


def to_measure(
    clocks: Sequence[ClockId], likely: Sequence[float], events: Sequence[int]
) -> list[ClockId]:
    """Return clocks in the order in which to measure their bars.

    Of each number the one whose bar is likely the widest, then the one with the most events, and so
    on: clocks of one number on many sequences are shown as one.
    """
    alike: dict[tuple[int, int], list[int]] = defaultdict(list)
    for k, clock in enumerate(clocks):
        alike[clock.clock, clock.machine].append(k)
    orders: list[list[int]] = []
    for those in alike.values():
        wide = sorted(those, key=lambda k: -likely[k])
        busy = sorted(those, key=lambda k: -events[k])
        both = zip(wide, busy, strict=True)
        orders.append(list(dict.fromkeys(k for pair in both for k in pair)))
    return [clocks[k] for turn in zip_longest(*orders) for k in turn if k is not None]


_LIKELY_DRIFT: Final = (1e-3, 1e-5)
"""About how fast a bar grows beyond one snapshot, and beyond several: it orders clocks."""


def growth_ns(info: ClockInfo, events: Readings) -> float:
    """Return about how wide bars are beyond the snapshots of a clock, by where its events are."""
    if info.first_ns is None or info.last_ns is None:
        return 0.0
    away_ns = max(info.first_ns - events[0], events[1] - info.last_ns, 0)
    return away_ns * _LIKELY_DRIFT[info.snapshots > 1]


MOST_MEASURED: Final = 40
"""Clocks whose widest bar is looked for where no events are: each takes a tube."""


def widest_in_trace(graph: Graph, home: ClockId, events: Mapping[ClockId, Readings]) -> EventBars:
    """Return the widest bars of clocks on another, of at most `MOST_MEASURED` of them.

    Args:
        graph: with all snapshots.
        home: the trace clock.
        events: the readings of the events of each clock; of others the whole time of the snapshots
            of the trace clock is taken.
    """
    noted, infos = EventBars(), {info.clock: info for info in graph.clocks()}
    if home not in infos:
        return noted
    likely = [
        growth_ns(info, events[clock]) if clock in events else -float(info.snapshots)
        for clock, info in infos.items()
    ]
    order = to_measure(list(infos), likely, [clock in events for clock in infos])
    noted.beyond_most = len(order[MOST_MEASURED:])
    for clock in order[:MOST_MEASURED]:
        try:
            span = events.get(clock) or _while_traced(graph, infos[home], infos[clock])
            note_widest(graph, home, noted, {clock: span})
        except TraceError:
            noted.beyond_tubes += 1
        except TracetimeError:
            pass
    return noted


def _while_traced(graph: Graph, home: ClockInfo, info: ClockInfo) -> Readings:
    """Return the readings of a clock from the first snapshot of the trace clock to its last."""
    ends = [ns for ns in (home.first_ns, home.last_ns) if ns is not None]
    there = graph.tubes.convert(np.array(ends), home.clock, info.clock, "estimated")[0]
    known = there.estimate[there.status == RESOLVED].tolist()
    every = [*known, *(ns for ns in (info.first_ns, info.last_ns) if ns is not None)]
    return min(every), max(every)
