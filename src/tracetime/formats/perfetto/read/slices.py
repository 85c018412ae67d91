"""The slices of a Perfetto trace, as its own importer makes them.

The kernels log what packets say (`slice_reader`), put it in order of time and replay it; here that
becomes a table, and by the tube policy both ends of each slice get their error bars.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tracetime._kernels.perfetto.slice_log import SliceLog
from tracetime._kernels.perfetto.slice_reader import SliceReader
from tracetime._kernels.perfetto.slice_replay import replay
from tracetime._kernels.slices.order import in_order
from tracetime.arrays import arrow_of
from tracetime.clocks.snapshot import INT64_MAX, INT64_MIN
from tracetime.errors import AS_IS
from tracetime.events_table import Columns
from tracetime.formats.perfetto.chrome_names import PROCESS_NAMES, THREAD_NAMES
from tracetime.formats.perfetto.read.slice_readings import SliceReadings
from tracetime.slice_ends import SliceEnds
from tracetime.slices_table import OPEN, SLICES_SCHEMA, Owners, SliceReading, slice_batches

if TYPE_CHECKING:
    from tracetime._kernels.perfetto.observer import PacketObserver
    from tracetime.clocks.ids import ClockId
    from tracetime.graph.tube.bars import Bars
    from tracetime.trace import Trace

Slices: TypeAlias = dict[str, npt.NDArray[Any]]
Read: TypeAlias = "Callable[[PacketObserver], Iterator[Columns]]"

NAMES_LIMIT: Final = 64 << 20
"""Bytes that names may take; so may interned data, and descriptors of tracks."""

MOST_ENTRIES: Final = 1 << 26
"""Events of slices that are kept until all are known: about 5 GB of them."""

ARGS_LIMIT: Final = 1 << 30
"""Bytes of arguments that are kept: each event may refer to 64 KiB of interned ones."""

_MOST_ARGS: Final = 1 << 25
"""Bytes of arguments in one batch, or a little more."""

_OPEN: Final = (("earliest", INT64_MIN), ("latest", INT64_MAX))
"""What stands for a side of a bar that nothing bounds."""


def read_slices(
    trace: Trace,
    read: Read,
    reading: SliceReading,
    bars: Bars | None,
    with_args: bool,
) -> Generator[pa.RecordBatch, None, None]:
    """Read a trace from its start, and yield its slices as batches.

    Args:
        trace: an open one.
        read: reads it from its start, and gives each packet to an observer.
        reading: gets the counts of what was left out at the end.
        bars: those of the tube, None for Perfetto's own rule.
        with_args: read debug annotations, too.
    """
    readings = None if bars is None else SliceReadings(trace.machines)
    log = _logged(read, reading, readings, ARGS_LIMIT if with_args else 0)
    slices = _replayed(trace, log, reading)
    found: Mapping[str, pa.Array] = {}
    if readings is not None and bars is not None:
        ends = _ends(trace, log, readings, slices)
        _go_on(trace)
        found = _bounded(slices, ends, trace.trace_clock, bars)
    args = None
    if with_args:
        begin, end = slices["begin"], slices["end"]

        def args(rows: slice) -> Any:
            return log.args_of(begin[rows], end[rows], _MOST_ARGS)

    yield from slice_batches(slices, _owners(log), log.strings.arrays(), found, args)


def read_slice_ends(trace: Trace, read: Read) -> SliceEnds | None:
    """Read a trace from its start, and return where its slices begin and end.

    None where their events name one clock, or none.
    """
    readings = SliceReadings(trace.machines)
    reading = SliceReading()
    log = _logged(read, reading, readings, 0)
    if len([clock for clock in readings.clocks if clock.clock]) < 2:
        return None
    return _ends(trace, log, readings, _replayed(trace, log, reading))


def _go_on(trace: Trace) -> None:
    """Let who watches the reading stop it: here, too, where the file has been read."""
    for watch in trace.on_read:
        watch(trace.size)


def _logged(
    read: Read, reading: SliceReading, readings: SliceReadings | None, args_limit: int
) -> SliceLog:
    """Read a trace, and return its entries."""
    log = SliceLog(PROCESS_NAMES, THREAD_NAMES, NAMES_LIMIT, MOST_ENTRIES, args_limit)
    base = 0
    for columns in read(SliceReader(log)):
        if readings is not None:
            readings.add(log, base, columns)
        base += len(columns["packet"])
        reading.unresolved += int(np.count_nonzero(columns["status"] > AS_IS))
        log.next_batch(len(columns["packet"]))
    if readings is not None:
        readings.add_rest(log)
    return log


def _replayed(trace: Trace, log: SliceLog, reading: SliceReading) -> Slices:
    """The slices that the entries make."""
    order = in_order(*log.order())
    _go_on(trace)
    replay(log, order, len(trace.machines))
    _go_on(trace)
    reading.left_out = log.left_out + log.slices.left_out
    reading.names_left_out = log.names_left_out
    slices: Slices = log.slices.columns()
    return slices


def _owners(log: SliceLog) -> Owners:
    return Owners(log.tracks.columns(), *log.processes.columns())


def _ends(trace: Trace, log: SliceLog, readings: SliceReadings, slices: Slices) -> SliceEnds:
    """Both ends of the slices; of the log only names and tracks are kept."""
    owners, strings = _owners(log), log.strings.arrays()

    def table(rows: npt.NDArray[np.intp]) -> pa.Table:
        chosen = {name: column[rows] for name, column in slices.items()}
        made = slice_batches(chosen, owners, strings, {}, None)
        return pa.Table.from_batches(made, SLICES_SCHEMA)

    begin, end = slices["begin"], slices["end"]
    return SliceEnds(
        graph=trace.clocks,
        machines=trace.machines,
        begins=readings.begins(begin),
        ends=readings.ends(end),
        clocks=readings.clocks,
        begin_clock=readings.numbers(begin),
        end_clock=np.where(slices["dur"] == OPEN, -1, readings.numbers(end)),
        table=table,
    )


def _bounded(
    slices: Slices, ends: SliceEnds, trace_clock: ClockId, bars: Bars
) -> dict[str, pa.Array]:
    """The columns of bars; ts and dur of `slices` become the estimates.

    A slice whose begin the tube does not place keeps its time, without bars.
    """
    first, last = ends.place(trace_clock, None, bars)
    began, ended = (end["earliest"] <= end["latest"] for end in (first, last))
    slices["ts"] = np.where(began, first["trace_time"], slices["ts"])
    both = began & ended & ends.ended
    duration = np.maximum(last["trace_time"] - first["trace_time"], 0)
    instant = (slices["begin"] == slices["end"]) & (slices["dur"] == 0)
    slices["dur"] = np.where(both, duration, slices["dur"])
    error = np.maximum(
        last["latest"] - first["earliest"] - duration,
        duration - (last["earliest"] - first["latest"]),
    )
    error[instant] = 0
    sides = [(end[side] == open_end) for end in (first, last) for side, open_end in _OPEN]
    closed = both & (instant | ~np.logical_or.reduce(sides))
    clock, end_clock = ends.clock_columns()
    return {
        "earliest": arrow_of(first["earliest"], ~began | sides[0]),
        "latest": arrow_of(first["latest"], ~began | sides[1]),
        "end_earliest": arrow_of(last["earliest"], ~ended | sides[2]),
        "end_latest": arrow_of(last["latest"], ~ended | sides[3]),
        "dur_error_ns": arrow_of(error, ~closed),
        "clock": clock,
        "end_clock": end_clock,
    }
