"""The slices of Chrome's JSON and of systrace's text, as Perfetto's importer makes them.

By floor times are rounded as there, and complete events that only that rounding lets cross others
of their thread go on a track beside it; by the tube the same slices have the times of the text.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tracetime._kernels.chrome_json.slices import JsonSliceLog, replay
from tracetime._kernels.slices import Flows, SliceTables
from tracetime.columns.arrays import arrow_of
from tracetime.errors import AS_IS, RESOLVED
from tracetime.formats.replayed_slices import (
    ARGS_LIMIT,
    MOST_ENTRIES,
    NAMES_LIMIT,
    Entries,
    ReplayedSlices,
    go_on,
)
from tracetime.text import count
from tracetime.trace.events_table import CUT_OFF, EARLY, Columns
from tracetime.trace.notes import Note
from tracetime.trace.slice_ends import PLACED
from tracetime.trace.slices_table import OPEN, Arrows, SliceReading, Strings, texts_by_number

if TYPE_CHECKING:
    from tracetime._kernels.chrome_json.reader import EventObserver
    from tracetime.clocks.ids import ClockId
    from tracetime.formats.chrome_json.devices import Device
    from tracetime.formats.chrome_json.odd_times import Resolutions
    from tracetime.graph.tube.results import Bars
    from tracetime.trace.trace import Trace

Read: TypeAlias = "Callable[[EventObserver], object]"

_COMPLETE, _LINE = 1, 2
"""Kinds of entries, as `JsonSliceLog.times` has them."""

_SEED = 0
"""Of the hashes of tables: their keys are numbers of the log, whose own seed is random."""


class EntryReadings:
    """The readings of clocks at the entries of a log: their times as they are written.

    own: the clocks of events, and of lines; devices: those whose events a GPU's clock has stamped.
    """

    def __init__(
        self,
        log: JsonSliceLog,
        own: tuple[ClockId, ClockId],
        devices: list[Device],
        resolutions: Resolutions,
    ) -> None:
        self.clocks = [*own, *(device.clock for device in devices)]
        self._resolutions = resolutions
        times, durations, kinds = log.times()
        # One more for the number -1.
        self._times, self._durations = np.append(times, 0), np.append(durations, 0)
        self._kinds = np.append(kinds, np.uint8(0))
        clock = (kinds == _LINE).astype(np.int32)
        if devices:
            pids = log.device_pids()
            for number, device in enumerate(devices, len(own)):
                clock[pids == device.pid] = number
        self._clocks = np.append(clock, np.int32(-1))

    def numbers(self, entries: Entries) -> npt.NDArray[np.int32]:
        """The number of the clock of each entry: 0 of an event, 1 of a line, -1 of none."""
        return self._clocks[entries]

    def moves(self, trace: Trace, bars: Bars) -> npt.NDArray[np.int64]:
        """How far each entry is from where the file has it, by the tube, ns."""
        moved = np.zeros(len(self._times) - 1, np.int64)
        for number in range(2, len(self.clocks)):
            entries = np.flatnonzero(self._clocks[:-1] == number).astype(np.int32)
            placed = trace._error_bars(bars, {}).place(self.begins(entries))
            moved[entries] = placed["trace_time"] - self._times[entries]
        return moved

    def begins(self, entries: Entries) -> Columns:
        """The columns `PLACED` of some entries."""
        return self._place(entries, self._times[entries], entries >= 0)

    def ends(self, entries: Entries) -> Columns:
        """The columns `PLACED` where they end slices; a complete event lasts its duration."""
        times, durations = self._times[entries], self._durations[entries]
        ends = times + durations
        known = (entries >= 0) & ((ends >= times) | (durations <= 0))
        columns = self._place(entries, ends, known)
        if CUT_OFF in columns:
            lasts = self._kinds[entries] == _COMPLETE
            shorter, longer = self._resolutions.duration_margins(times, durations)
            columns[EARLY] += np.where(lasts, shorter, 0)
            columns[CUT_OFF] += np.where(lasts, longer, 0)
        return columns

    def _place(
        self, entries: Entries, times: npt.NDArray[np.int64], known: npt.NDArray[np.bool_]
    ) -> Columns:
        is_line = self._kinds[entries] == _LINE
        columns = {name: np.zeros(len(times), kind) for name, kind in PLACED.items()}
        columns["trace_time"] = columns["source_ns"] = times
        columns["clock"] = np.array([one.clock for one in self.clocks], np.uint32)[
            np.maximum(self._clocks[entries], 0)
        ]
        columns["status"] = np.where(known, RESOLVED, AS_IS).astype(np.uint8)
        if not self._resolutions.is_exact:
            begun = self._times[entries]
            columns[EARLY], columns[CUT_OFF] = self._resolutions.margins(begun, is_line)
        return columns


def read_slices(
    trace: Trace,
    read: Read,
    reading: SliceReading,
    bars: Bars | None,
    with_args: bool,
    readings: Callable[[JsonSliceLog], EntryReadings],
) -> Generator[pa.RecordBatch, None, None]:
    """Read a trace from its start, and yield its slices as batches.

    Args:
        trace: an open one.
        read: reads it from its start, and gives each event to an observer.
        reading: gets the counts of what was left out at the end.
        bars: those of the tube, None for Perfetto's own rule.
        with_args: read arguments, too.
        readings: returns those of the entries.
    """
    args_limit = ARGS_LIMIT if with_args else 0
    log = JsonSliceLog(NAMES_LIMIT, MOST_ENTRIES, args_limit, reading.wants_arrows)
    read(log)
    entries, is_moved = None, False
    if bars is not None:
        entries = readings(log)
        moves = entries.moves(trace, bars)
        # Arrows are bound at the times that the tube gives: rounded ones may be back in time.
        is_moved = bool(moves.any())
        log.move(moves)
    tables = SliceTables(log.strings, _SEED, MOST_ENTRIES)
    flows = Flows(tables.slices, _SEED) if reading.wants_arrows else None
    _replay(trace, log, tables, is_moved, flows)
    reading.left_out = log.left_out + tables.slices.left_out
    reading.names_left_out = log.names_left_out
    reading.unresolved = log.untimed
    reading.not_nested = tables.slices.not_nested
    reading.unmatched = tables.slices.unmatched
    slices = ReplayedSlices.of(tables)
    if flows is not None:
        reading.arrows = _arrows(flows, slices.strings)
    found: Mapping[str, pa.Array] = {}
    if entries is not None:
        ends = slices.ends(trace, entries)
        go_on(trace)
        found = slices.bounds_of(ends, trace, bars, reading)
    yield from slices.batches(found, log.args_of if with_args else None)


def overlaps_by_rounding(trace: Trace, read: Read) -> int:
    """The number of complete events that cross others only as trace_processor rounds times.

    By their exact times they lie within the others, or beside them.
    """
    log = JsonSliceLog(NAMES_LIMIT, MOST_ENTRIES, 0)
    read(log)
    if not log.n_moved:
        return 0
    _, rounded = _replay_slices(trace, log, exact=False)
    _, exact = _replay_slices(trace, log, exact=True)
    return len(np.setdiff1d(rounded, exact))


def halves(trace: Trace, read: Read) -> Iterator[Note]:
    """Yield a note where events end a slice that has not begun, or slices do not end."""
    log = JsonSliceLog(NAMES_LIMIT, MOST_ENTRIES, 0)
    read(log)
    tables, _ = _replay_slices(trace, log, exact=False)
    still_open = np.count_nonzero(ReplayedSlices.of(tables).columns["dur"] == OPEN)
    ends, begins = tables.slices.unmatched, int(still_open)
    parts = []
    if ends:
        parts.append(f"{count(ends, 'slice end')} without a begin: in no slice")
    if begins:
        parts.append(f"{count(begins, 'slice')} that did not end: dur is -1")
    if parts:
        values = {"what": "; ".join(parts), "ends": ends, "begins": begins}
        yield Note("parts-passed-over", "halves", values=values)


def _replay_slices(
    trace: Trace, log: JsonSliceLog, exact: bool
) -> tuple[SliceTables, npt.NDArray[np.int32]]:
    """The slices that the entries make, and a mask of entries that cross others."""
    tables = SliceTables(log.strings, _SEED, MOST_ENTRIES)
    return tables, _replay(trace, log, tables, exact, None)


def _replay(
    trace: Trace, log: JsonSliceLog, tables: SliceTables, exact: bool, flows: Flows | None
) -> npt.NDArray[np.int32]:
    """Make slices of the entries; returns a mask of those that cross others."""
    go_on(trace)
    order = log.order(exact)
    go_on(trace)
    spilled = replay(log, tables, order, exact, flows)
    go_on(trace)
    return spilled


def _arrows(flows: Flows, strings: Strings) -> Arrows:
    found = flows.columns()
    columns = {name: arrow_of(found[name]) for name in ("out", "into", "named")}
    columns |= {name: texts_by_number(found[name], strings) for name in ("name", "category")}
    lost = {
        "flow_outside_slices": flows.outside,
        "flow_begun_before": flows.begun_twice,
        "flow_not_begun": flows.not_begun,
        "flow_without_id": flows.without_id,
        "flow_without_direction": flows.without_direction,
    }
    return Arrows(columns, lost)
