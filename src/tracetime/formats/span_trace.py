"""A trace of records that are spans: `RecordTrace` with slices."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tracetime._kernels.slices import in_lanes
from tracetime.clocks.int_arrays import is_any_of
from tracetime.clocks.snapshot import INT64_MAX
from tracetime.columns.arrays import known_of
from tracetime.errors import AS_IS
from tracetime.errors import PLACED as PLACED_STATUSES
from tracetime.formats.record_trace import RecordTrace
from tracetime.formats.replayed_slices import Entries, ReplayedSlices, go_on
from tracetime.graph.clock_graph import inner
from tracetime.graph.tube.results import Bars
from tracetime.graph.values import Mask
from tracetime.trace.error_bars import ErrorBars
from tracetime.trace.event_clocks import ClockNumbers
from tracetime.trace.events_table import CUT_OFF, EARLY, Columns
from tracetime.trace.placement import placed_by_floor
from tracetime.trace.slice_ends import PLACED, SliceEnds
from tracetime.trace.slices_table import NO_NUMBER, OPEN, Owners, SliceReading, Strings

if TYPE_CHECKING:
    from tracetime.trace.trace import Trace

Rows = npt.NDArray[np.int64]
Codes = npt.NDArray[np.int32]

MOST_SPANS: Final = 1 << 25
"""Spans that are kept until all are known: some 5 GB of them."""

_NONE: Final = -1


@dataclass(frozen=True, eq=False, slots=True)
class SpanTable:
    """The spans of a trace, one row each, in file order.

    Attributes:
        begins, ends: where they begin and end: timestamp, clock, and maybe sequence and machine,
            as `placed_by_floor` takes them; maybe `events_table.CUT_OFF`, of both,
            and `EARLY`.
        ended: whether they have an end.
        parent: int64, the row of each one's parent, -1 without one; None where the file has none.
        group: int32, from 0: whose they are. Those of a group share tracks.
        name, category: texts.
        args: JSON texts; None where they are not requested.
        owners: of each group, by column of `SLICES_SCHEMA`: track_name, thread_name and
            process_name (texts), tid and pid (numbers); null where it has none. Columns that are
            not there are null.
        groups: how many there are.
        left_out, names_left_out: how many spans, and names or arguments, there was no room for.
    """

    begins: Columns
    ends: Columns
    ended: Mask
    parent: Rows | None
    group: Codes
    name: pa.Array
    category: pa.Array
    args: pa.Array | None
    owners: Mapping[str, pa.Array]
    groups: int
    left_out: int = 0
    names_left_out: int = 0

    def __len__(self) -> int:
        return len(self.group)


class SpanReadings:
    """The readings where spans begin (entry 2 n of span n) and end (2 n + 1), placed by floor.

    Attributes:
        clocks: as `replayed_slices.Readings` has them.
        placed: the columns `PLACED` of the begins, and of the ends; `CUT_OFF` and `EARLY` where
            they have them.
    """

    def __init__(self, trace: Trace, table: SpanTable) -> None:
        numbers = ClockNumbers((), trace.machines)
        clocks, home, machines = trace.clocks, trace.trace_clock, trace.machines
        sides = [
            placed_by_floor(side, clocks, home, machines) for side in (table.begins, table.ends)
        ]
        self._numbers = [numbers.of_rows(side).astype(np.int32) for side in sides]
        names = [name for name in (*PLACED, CUT_OFF, EARLY) if name in sides[0]]
        begins, ends = ({name: side[name] for name in names} for side in sides)
        self.placed = begins, ends
        self.clocks = numbers.clocks

    def numbers(self, entries: Entries) -> Codes:
        """The number of the clock of some entries; -1: of none."""
        begin, end = (side[entries >> 1] for side in self._numbers)
        return np.where(entries < 0, np.int32(_NONE), np.where(entries & 1 == 1, end, begin))

    def begins(self, entries: Entries) -> Columns:
        """The columns `placed` of some entries."""
        begin, end = self.placed
        rows, is_end = entries >> 1, entries & 1 == 1
        return {name: np.where(is_end, end[name][rows], begin[name][rows]) for name in begin}

    def ends(self, entries: Entries) -> Columns:
        """The columns `placed` of some entries; -1: of none."""
        columns = self.begins(entries)
        columns["status"][entries < 0] = AS_IS
        return columns


class SpanTrace(RecordTrace):
    """A `RecordTrace` whose format also gives `_read_spans`."""

    rows_are_of_slices = True

    @abstractmethod
    def _read_spans(self, args: bool, progress: Callable[[int], None] | None) -> SpanTable:
        """Read the file from its start: its spans, with their arguments or without."""

    def slice_ends(self, progress: Callable[[int], None] | None = None) -> SliceEnds | None:
        """Read where spans begin and end; see `Trace.slice_ends`."""
        self.check_open()
        table = self._read_spans(False, progress)
        nested = nested_spans(self, table, "estimated", SliceReading())
        if len([clock for clock in nested.readings.clocks if clock.clock]) < 2:
            return None
        return nested.slices.ends(self, nested.readings)

    def _slice_batches(
        self,
        reading: SliceReading,
        bars: Bars | None,
        args: bool,
        progress: Callable[[int], None] | None,
    ) -> Generator[pa.RecordBatch, None, None]:
        nested = nested_spans(self, self._read_spans(args, progress), bars, reading)
        go_on(self)
        found = {}
        if bars is not None or reading.wants_arrows:
            ends = nested.slices.ends(self, nested.readings)
            found = nested.slices.bounds_of(ends, self, bars, reading)
        yield from nested.slices.batches(found, nested.args_of if args else None)


# Spans as slices: they nest by their parents where the file has them, else by containment.
#
# They nest as their own clocks read, whatever the policy; those that overlap share out tracks.

_NO_ROW: Final = np.int32(-1)
_TEXTS: Final = ("track_name", "thread_name", "process_name")


@dataclass(frozen=True, eq=False, slots=True)
class NestedSpans:
    """Spans as slices, in the order in which they begin.

    Attributes:
        slices: by floor's times; of those that only the tube places, by the tube's.
        readings: of their entries.
        args: of the spans, by row of their table.
    """

    slices: ReplayedSlices
    readings: SpanReadings
    args: pa.Array | None

    def args_of(
        self, begin: Entries, end: Entries, most: int
    ) -> tuple[Mask, Codes, npt.NDArray[np.uint8]]:
        """The arguments of slices; see `replayed_slices.ArgsOf`."""
        assert self.args is not None
        _, offsets, data = self.args.buffers()
        ends = np.frombuffer(offsets, np.int64, len(self.args) + 1, self.args.offset * 8)
        rows = begin >> 1
        lengths = (ends[1:] - ends[:-1])[rows]
        total = np.cumsum(lengths)
        count = max(int(np.searchsorted(total, most, side="right")), 1)
        rows, stops = rows[:count], total[:count]
        starts = stops - lengths[:count]
        text = np.empty(0, np.uint8) if data is None else np.frombuffer(data, np.uint8)
        within = np.arange(int(stops[-1]) if count <= len(total) else 0, dtype=np.int64)
        taken = text[within + np.repeat(ends[:-1][rows] - starts, lengths[:count])]
        return lengths[:count] > 0, stops.astype(np.int32), taken


def nested_spans(
    trace: Trace, table: SpanTable, bars: Bars | None, reading: SliceReading
) -> NestedSpans:
    """Nest spans, and put those that have a time in order.

    Args:
        trace: whose they are.
        table: the spans.
        bars: those of the tube, which places them; None for floor's rule.
        reading: gets the counts of what is left out.
    """
    readings = SpanReadings(trace, table)
    begin, end = readings.placed
    by_floor = is_any_of(begin["status"], PLACED_STATUSES)
    ended = table.ended & (is_any_of(end["status"], PLACED_STATUSES) == by_floor)
    ts, known = begin["trace_time"], by_floor
    if bars is not None:
        graph, home = inner(trace.clocks), trace.trace_clock
        placed = ErrorBars(graph, home, trace.machines, bars, {}).place(begin)
        ts, known = placed["trace_time"], is_any_of(placed["status"], PLACED_STATUSES)
    rows = np.flatnonzero(known)
    rows = rows[np.argsort(ts[rows], kind="stable")]
    # What only the tube places has readings of its own clock for trace times.
    lasted = np.where(ended, np.maximum(end["trace_time"] - begin["trace_time"], 0), OPEN)[rows]
    lane, depth, above = _lanes(table, begin["trace_time"], end["trace_time"])
    number = np.full(len(table) + 1, _NO_ROW)
    number[rows] = np.arange(len(rows), dtype=np.int32)
    entry = (2 * rows).astype(np.int32)
    # What begins and ends in one tick need not be an instant.
    has_end_of_its_own = (lasted > 0) | (CUT_OFF in end)
    strings, (name, category, *owners) = _encode_texts(table)
    columns = {
        "ts": ts[rows],
        "dur": lasted,
        "depth": depth[rows],
        "parent": number[above[rows]],
        "track": lane[rows],
        "name": name[rows],
        "category": category[rows],
        "begin": entry,
        "end": np.where(lasted == OPEN, _NO_ROW, entry + has_end_of_its_own).astype(np.int32),
    }
    reading.left_out += table.left_out
    reading.names_left_out += table.names_left_out
    reading.unresolved += int(np.count_nonzero(~known) + np.count_nonzero(table.ended & ~ended))
    group = np.zeros(int(lane.max(initial=-1)) + 1, np.int32)
    group[lane] = table.group
    slices = ReplayedSlices(columns, _owners(table, group, *owners), strings)
    return NestedSpans(slices, readings, table.args)


def _lanes(table: SpanTable, begin: Rows, end: Rows) -> tuple[Codes, Codes, Rows]:
    """The track, the depth there and the parent of each span."""
    n = len(table)
    end = np.where(table.ended, np.maximum(begin, end), INT64_MAX)
    parent = np.full(n, -1, np.int64) if table.parent is None else table.parent
    order = np.lexsort((_generations(parent), ~end, begin))
    place = np.full(n + 1, -1, np.int64)
    place[order] = np.arange(n)
    found = in_lanes(
        begin[order], end[order], table.group[order], place[parent][order], table.parent is not None
    )
    lane, depth, above = (np.empty(n, np.int32) for _ in range(3))
    for column, sorted_column in zip((lane, depth, above), found, strict=True):
        column[order] = sorted_column
    if table.parent is not None:
        return lane, depth, parent
    return lane, depth, np.append(order, -1)[above]


def _generations(parent: Rows) -> Rows:
    """The number of ancestors of each span; of those in loops, some number."""
    above = np.append(parent, -1)
    count = (above >= 0).astype(np.int64)
    for _ in range(len(parent).bit_length()):
        if not (above >= 0).any():
            break
        count += np.where(above >= 0, count[above], 0)
        above = above[above]
    return count[:-1]


def _encode_texts(table: SpanTable) -> tuple[Strings, list[Codes]]:
    """All texts, each once; the numbers of names, categories and owners, -1 for none."""
    missing = pa.nulls(table.groups, pa.string())
    texts = [table.name, table.category, *(table.owners.get(name, missing) for name in _TEXTS)]
    encoded = [
        one if pa.types.is_dictionary(one.type) else one.dictionary_encode() for one in texts
    ]
    every = pa.concat_arrays([one.dictionary.cast(pa.string()) for one in encoded])
    every = every.dictionary_encode()
    numbers, _ = known_of(every.indices)
    codes, start = [], 0
    for one in encoded:
        local = numbers[start : start + len(one.dictionary)]
        start += len(one.dictionary)
        which, known = known_of(one.indices)
        codes.append(np.append(local, _NO_ROW)[np.where(known, which, -1)].astype(np.int32))
    _, offsets, data = every.dictionary.buffers()
    ends = np.frombuffer(offsets, np.int32, len(every.dictionary) + 1)[1:]
    text = np.empty(0, np.uint8) if data is None else np.frombuffer(data, np.uint8)
    return (ends, text), codes


def _owners(
    table: SpanTable, group: Codes, track_name: Codes, thread_name: Codes, process_name: Codes
) -> Owners:
    """The owners of each track; a group is a process, and a thread where it has a tid."""
    missing = pa.nulls(table.groups, pa.int64())
    (tid, has_tid), (pid, has_pid) = (
        known_of(table.owners.get(name, missing).cast(pa.int64())) for name in ("tid", "pid")
    )
    of_group = np.arange(table.groups, dtype=np.int32)
    has_thread = has_tid | (thread_name >= 0)
    has_process = has_pid | (process_name >= 0)
    process = np.where(has_process, of_group, _NO_ROW)
    thread = np.where(has_thread, of_group, _NO_ROW)
    return Owners(
        (track_name[group], thread[group], process[group]),
        (np.where(has_tid, tid, NO_NUMBER), thread_name, process),
        (np.where(has_pid, pid, NO_NUMBER), process_name),
    )
