"""The slices of a Perfetto trace, as its own importer makes them.

The kernels log what packets say (`slice_reader`), put it in order of time and replay it; here that
becomes a table, and by the tube policy both ends of each slice get their error bars.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tracetime._kernels.perfetto.slice_log import SliceLog
from tracetime._kernels.perfetto.slice_reader import SliceReader
from tracetime._kernels.perfetto.slice_replay import replay
from tracetime._kernels.slices.order import in_order
from tracetime.error_bars import ErrorBars
from tracetime.errors import AS_IS
from tracetime.events_table import Columns
from tracetime.formats.perfetto.chrome_names import PROCESS_NAMES, THREAD_NAMES
from tracetime.slices_table import OPEN, Owners, SliceReading, slice_batches

if TYPE_CHECKING:
    from tracetime._kernels.perfetto.observer import PacketObserver
    from tracetime.graph.tube.bars import Bars
    from tracetime.trace import Trace

NAMES_LIMIT: Final = 64 << 20
"""Bytes that names may take; so may interned data, and descriptors of tracks."""

MOST_ENTRIES: Final = 1 << 26
"""Events of slices that are kept until all are known: about 5 GB of them."""

ARGS_LIMIT: Final = 1 << 30
"""Bytes of arguments that are kept: each event may refer to 64 KiB of interned ones."""

_MOST_ARGS: Final = 1 << 25
"""Bytes of arguments in one batch, or a little more."""

_PLACED: Final = frozenset(
    ("trace_time", "status", "source_ns", "clock", "sequence", "machine", "snapshots")
)
"""The columns of events that `ErrorBars.place` looks at."""

_BARS: Final = ("earliest", "latest", "end_earliest", "end_latest", "dur_error_ns")

Values = npt.NDArray[np.int64]


class _Ends:
    """The times of the entries of a log by the tube: three rows, estimate, earliest and latest.

    An entry with a duration has two times.
    """

    def __init__(self, bars: ErrorBars) -> None:
        self._bars = bars
        self._begins: list[Values] = []
        self._ends: list[Values] = []

    def add(self, log: SliceLog, start: int, base: int, columns: Columns) -> None:
        """Place the entries from number `start` on, which are of one batch of events.

        base: the number of its first event.
        """
        rows = log.rows(start) - base
        of_event = np.flatnonzero(rows >= 0)
        begins = np.zeros((3, len(rows)), np.int64)
        # No bar: earliest after latest.
        begins[1] = 1
        placed = self._bars.place(columns)
        names = ("trace_time", "earliest", "latest")
        for row, name in enumerate(names):
            begins[row, of_event] = placed[name][rows[of_event]]
        ends = begins.copy()
        durations = log.durations(start)
        lasting = np.flatnonzero((durations > 0) & (rows >= 0))
        if len(lasting):
            # A duration counts on the clock of its event: add it before converting.
            later = {name: columns[name][rows[lasting]] for name in _PLACED}
            fits = np.ones(len(lasting), np.bool_)
            for name in ("trace_time", "source_ns"):
                later[name] = later[name] + durations[lasting]
                fits &= later[name] >= columns[name][rows[lasting]]
            placed = self._bars.place(later)
            for row, name in enumerate(names):
                ends[row, lasting] = placed[name]
            ends[1:, lasting[~fits]] = [[1], [0]]
        self._begins.append(begins)
        self._ends.append(ends)

    def add_none(self, count: int) -> None:
        """Add entries without an event."""
        nothing = np.zeros((3, count), np.int64)
        nothing[1] = 1
        self._begins.append(nothing)
        self._ends.append(nothing)

    def bars(self, slices: dict[str, npt.NDArray[Any]]) -> dict[str, Values]:
        """The columns of bars; ts and dur of `slices` become the estimates.

        A slice whose begin the tube does not place keeps its time, without bars.
        """
        if not len(slices["ts"]):
            return {name: np.zeros(0, np.int64) for name in _BARS}
        begin, end = slices["begin"], slices["end"]
        first = [row[begin] for row in np.concatenate(self._begins, axis=1)]
        last = [row[end] for row in np.concatenate(self._ends, axis=1)]
        # A slice without an end has no bar of it.
        last[1][end < 0], last[2][end < 0] = 1, 0
        began, ended = first[1] <= first[2], last[1] <= last[2]
        slices["ts"] = np.where(began, first[0], slices["ts"])
        both = began & ended
        closed = slices["dur"] != OPEN
        duration = np.maximum(last[0] - first[0], 0)
        instant = (begin == end) & (slices["dur"] == 0)
        slices["dur"] = np.where(both & closed, duration, slices["dur"])
        error = np.maximum(last[2] - first[1] - duration, duration - (last[1] - first[2]))
        error[instant] = 0
        return {
            "earliest": first[1],
            "latest": first[2],
            "end_earliest": last[1],
            "end_latest": last[2],
            "dur_error_ns": np.where(both & closed, error, -1),
        }


def read_slices(
    trace: Trace,
    read: Callable[[PacketObserver], Iterator[Columns]],
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
    log = SliceLog(
        PROCESS_NAMES, THREAD_NAMES, NAMES_LIMIT, MOST_ENTRIES, ARGS_LIMIT if with_args else 0
    )
    ends = None
    if bars is not None:
        placed = ErrorBars(trace.clocks, trace.trace_clock, trace.machines, bars, {})
        ends = _Ends(placed)
    entries = base = 0
    for columns in read(SliceReader(log)):
        if ends is not None:
            ends.add(log, entries, base, columns)
        entries = len(log)
        base += len(columns["packet"])
        reading.unresolved += int(np.count_nonzero(columns["status"] > AS_IS))
        log.next_batch(len(columns["packet"]))
    if ends is not None and len(log) > entries:
        # Of packets after the last event.
        ends.add_none(len(log) - entries)
    replay(log, in_order(*log.order()), len(trace.machines))
    slices = log.slices.columns()
    found = {} if ends is None else ends.bars(slices)
    reading.left_out = log.left_out + log.slices.left_out
    reading.names_left_out = log.names_left_out
    owners = Owners(log.tracks.columns(), *log.processes.columns())
    args = None
    if with_args:
        begin, end = slices["begin"], slices["end"]

        def args(rows: slice) -> Any:
            return log.args_of(begin[rows], end[rows], _MOST_ARGS)

    yield from slice_batches(slices, owners, log.strings.arrays(), found, args)
