"""The slices of a Perfetto trace, as its own importer makes them.

The kernels log what packets say (`slice_reader`), put it in order of time and replay it.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import pyarrow as pa

from tracetime._kernels.perfetto.slices import SliceLog, SliceReader, replay
from tracetime._kernels.slices import in_order
from tracetime.errors import AS_IS
from tracetime.formats.perfetto.chrome_names import PROCESS_NAMES, THREAD_NAMES
from tracetime.formats.perfetto.read.slice_readings import SliceReadings
from tracetime.formats.replayed_slices import (
    ARGS_LIMIT,
    MOST_ENTRIES,
    NAMES_LIMIT,
    ReplayedSlices,
    go_on,
)
from tracetime.trace.events_table import Columns
from tracetime.trace.slice_ends import SliceEnds
from tracetime.trace.slices_table import SliceReading

if TYPE_CHECKING:
    from tracetime._kernels.perfetto.importer import PacketObserver
    from tracetime.graph.tube.bars import Bars
    from tracetime.trace.trace import Trace

Read: TypeAlias = "Callable[[PacketObserver], Iterator[Columns]]"


def read_slices(
    trace: Trace,
    read: Read,
    reading: SliceReading,
    bars: Bars | None,
    with_args: bool,
    baked: bool = False,
) -> Generator[pa.RecordBatch, None, None]:
    """Read a trace from its start, and yield its slices as batches.

    Args:
        trace: an open one.
        read: reads it from its start, and gives each packet to an observer.
        reading: gets the counts of what was left out at the end.
        bars: those of the tube, None for Perfetto's own rule.
        with_args: read debug annotations, too.
        baked: whether what is read has the readings of the source of a baked trace.
    """
    readings = None if bars is None else SliceReadings(trace.machines, baked)
    log = _logged(read, reading, readings, ARGS_LIMIT if with_args else 0)
    slices = _replayed(trace, log, reading)
    found: Mapping[str, pa.Array] = {}
    if readings is not None and bars is not None:
        ends = slices.ends(trace, readings)
        go_on(trace)
        found = slices.bounded(ends, trace, bars)
    yield from slices.batches(found, log.args_of if with_args else None)


def read_slice_ends(trace: Trace, read: Read) -> SliceEnds | None:
    """Read a trace from its start, and return where its slices begin and end.

    None where their events name one clock, or none.
    """
    readings = SliceReadings(trace.machines)
    reading = SliceReading()
    log = _logged(read, reading, readings, 0)
    if len([clock for clock in readings.clocks if clock.clock]) < 2:
        return None
    return _replayed(trace, log, reading).ends(trace, readings)


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


def _replayed(trace: Trace, log: SliceLog, reading: SliceReading) -> ReplayedSlices:
    """The slices that the entries make."""
    order = in_order(*log.order())
    go_on(trace)
    replay(log, order, len(trace.machines))
    go_on(trace)
    reading.left_out = log.left_out + log.slices.left_out
    reading.names_left_out = log.names_left_out
    reading.not_nested = log.slices.not_nested
    reading.unmatched = log.slices.unmatched
    return ReplayedSlices.of(log.tables)
