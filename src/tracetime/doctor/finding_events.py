"""The events that findings are about, named one by one, with how far off floor places each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tracetime.analysis.groups import places_of
from tracetime.columns.arrays import arrow_of, known_of
from tracetime.doctor.finding import EventSelection, Finding
from tracetime.errors import REASONS, RESOLVED, TraceError
from tracetime.graph.clock_graph import inner
from tracetime.graph.values import distances
from tracetime.trace.error_bars import ErrorBars
from tracetime.trace.event_clocks import ClockNumbers, Rows
from tracetime.trace.events_table import FINDING_EVENTS, Columns, record_batch

if TYPE_CHECKING:
    from tracetime.clocks.ids import ClockId
    from tracetime.trace.trace import Trace

Mask = npt.NDArray[np.bool_]


def finding_events(trace: Trace, findings: Mapping[int, Finding]) -> Iterator[pa.RecordBatch]:
    """Read a trace, and yield batches of `FINDING_EVENTS`: a row for each event of each finding.

    Findings without selections have no rows.

    Args:
        findings: those of the trace, by their number in the order of the report.
    """
    chosen = [(number, one) for number, one in findings.items() if one.selections]
    if not chosen:
        return
    reading, home = trace.placed_columns(names=True), trace.trace_clock
    clocks = ClockNumbers((info.clock for info in trace.clocks.clocks()), trace.machines)
    bars = ErrorBars(inner(trace.clocks), trace.trace_clock, trace.machines, "estimated", {})
    for columns in reading:
        rows_of = {
            clocks.clocks[number]: rows
            for number, rows in places_of(clocks.of_rows(columns)).items()
        }
        by_snapshots = columns["status"] == RESOLVED
        if home in rows_of:
            by_snapshots[rows_of[home]] = False
        found = [
            (number, finding, _selected(trace, columns, rows_of, by_snapshots, finding.selections))
            for number, finding in chosen
        ]
        found = [one for one in found if len(one[2])]
        if found:
            batch = record_batch(columns, trace.vocabulary)
            off = _off(columns, bars)
            for number, finding, rows in found:
                yield _batch(number, finding.code, batch, off, rows)


def _batch(
    number: int, code: str, batch: pa.RecordBatch, off: pa.Array, rows: Rows
) -> pa.RecordBatch:
    taken = pa.array(rows)
    arrays = []
    for column in FINDING_EVENTS:
        if column.name == "finding":
            arrays.append(pa.repeat(pa.scalar(number, column.type), len(rows)))
        elif column.name == "code":
            arrays.append(pa.repeat(pa.scalar(code, column.type), len(rows)))
        elif column.name == "off_ns":
            arrays.append(off.take(taken))
        elif column.name in batch.schema.names:
            arrays.append(batch[column.name].take(taken))
        else:
            # The format does not say what events are.
            arrays.append(pa.nulls(len(rows), column.type))
    return pa.RecordBatch.from_arrays(arrays, schema=FINDING_EVENTS)


def _selected(
    trace: Trace,
    columns: Columns,
    rows_of: Mapping[ClockId, Rows],
    by_snapshots: Mask,
    selections: Sequence[EventSelection],
) -> Rows:
    """Return the rows that any of the selections has, in order.

    Args:
        by_snapshots: which events snapshots placed: not those of the trace clock.
    """
    selected = np.zeros(len(columns["packet"]), dtype=bool)
    for selection in selections:
        rows = np.arange(len(selected))
        if selection.clock is not None:
            rows = rows_of.get(selection.clock, rows[:0])
        fits = _fits(columns, rows, selection)
        if selection.placed_in is not None:
            fits &= by_snapshots[rows] & _within(columns["packet"][rows], selection.placed_in)
        if selection.moved_ns is not None and selection.clock is not None:
            rows, fits = rows[fits], fits[fits]
            fits &= _moved(trace, columns, rows, selection.clock, selection.moved_ns)
        selected[rows[fits]] = True
    return np.flatnonzero(selected)


def _fits(columns: Columns, rows: Rows, selection: EventSelection) -> Mask:
    fits = np.ones(len(rows), dtype=bool)
    if selection.reason:
        fits &= columns["status"][rows] == REASONS.index(selection.reason)
    if selection.before_zero:
        fits &= (columns["status"][rows] == RESOLVED) & (columns["trace_time"][rows] < 0)
    if selection.spans is not None:
        fits &= _within(columns["source_ns"][rows], selection.spans)
    if selection.readings is not None:
        fits &= np.isin(columns["source_ns"][rows], selection.readings)
    if selection.packets is not None:
        fits &= np.isin(columns["packet"][rows].astype(np.int64), selection.packets)
    if selection.sequence is not None:
        fits &= columns["packet_sequence"][rows] == selection.sequence
    return fits


def _moved(trace: Trace, columns: Columns, rows: Rows, clock: ClockId, by_ns: int) -> Mask:
    """Return which events of a clock floor would place farther off with all snapshots."""
    graph = trace.clocks
    unit_ns = next(info.unit_ns for info in graph.clocks() if info.clock == clock)
    readings = columns["source_ns"][rows] // unit_ns
    better, known = known_of(graph.convert(readings, clock, trace.trace_clock, errors="mask"))
    off = distances(columns["trace_time"][rows], better)
    moved: Mask = (columns["status"][rows] == RESOLVED) & known & (off > by_ns)
    return moved


def _within(values: npt.NDArray[Any], spans: Iterable[Sequence[int | None]]) -> Mask:
    """Return which values are within any of some spans, ends included; None: without an end."""
    within = np.zeros(len(values), dtype=bool)
    for low, high in spans:
        within |= (values >= low) & (True if high is None else values <= high)
    return within


def _off(columns: Columns, bars: ErrorBars) -> pa.Array:
    """Return floor's trace time less the tube's; null where either has none."""
    try:
        placed = bars.place(columns)
    except TraceError:
        # More clocks than may have tubes: the events can be named nevertheless.
        return pa.nulls(len(columns["trace_time"]), pa.int64())
    floor, tube = columns["trace_time"], placed["trace_time"]
    off = floor - tube
    fits = (floor ^ tube) & (floor ^ off) >= 0
    known = (columns["status"] == RESOLVED) & (placed["status"] == RESOLVED) & fits
    return arrow_of(off, ~known)
