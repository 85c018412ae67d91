"""The places of the events of one of several files: on one clock of the graph of all."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import numpy as np
import numpy.typing as npt

from tracetime.clocks.ids import BUILTIN_IDS, ClockId
from tracetime.clocks.int_arrays import is_any_of
from tracetime.errors import AS_IS, PLACED, ConversionError
from tracetime.formats.perfetto.schema import KINDS
from tracetime.graph.tube.results import Bars, Reached
from tracetime.merging.merged_traces import MergedTraces
from tracetime.trace.error_bars import ErrorBars, TubeFaults
from tracetime.trace.events_table import BY_HOME, HOME_NS, NO_BAR, Columns

_BOOTTIME: Final = BUILTIN_IDS["BOOTTIME"]

Values = npt.NDArray[np.int64]


def target_of(traces: MergedTraces) -> ClockId:
    """The clock of the merged trace: BOOTTIME of the first file, else its trace clock.

    Where a manifest chooses one, that.
    """
    if traces.reference.is_given:
        return traces.timeline
    first = traces.files[0].home
    clock = traces.boots.clock(0, ClockId(_BOOTTIME, machine=first.machine))
    try:
        traces.graph.path(traces.home(0), clock, policy="tube")
    except ConversionError:
        return traces.home(0)
    return clock


class FilePlacing:
    """The placing of one file's events on the clock of the merged trace, by the graph of all files.

    Args:
        traces: the files.
        number: of the file.
        target: the clock of the merged trace.
    """

    def __init__(self, traces: MergedTraces, number: int, target: ClockId) -> None:
        self._traces = traces
        self._number = number
        self._target = target
        self._bars: list[MergedBars] = []

    def error_bars(self, bars: Bars, faults: TubeFaults) -> ErrorBars:
        """The error bars that place rows on the clock of the merged trace."""
        bars_of_all = MergedBars(self._traces, self._number, self._target, bars, faults)
        self._bars.append(bars_of_all)
        return bars_of_all

    def times(self, trace_time: Values) -> Values:
        """The times of the file's own trace clock on the clock of the merged trace."""
        return self.error_bars("estimated", {}).place(_on_trace_clock(trace_time))["trace_time"]

    def release(self) -> None:
        """Free the tubes of clocks of single sequences: those of all files take much memory."""
        boots, infos = self._traces.boots, self._traces.files[self._number].trace.clocks.clocks()
        own = (info.clock for info in infos if info.clock.sequence)
        graph = self._traces.graph
        with graph.lock:
            graph.tubes.pairs.drop({boots.clock(self._number, clock) for clock in own})

    @property
    def carried(self) -> int:
        """The number of events that keep their place against the file's own trace clock."""
        # What reads a file twice, for its events and for its slices, has two of these.
        return max((bars_of_all.carried for bars_of_all in self._bars), default=0)


def _on_trace_clock(times: Values) -> Columns:
    """Rows of times that the trace clock has read."""
    columns: Columns = {
        name: np.zeros(len(times), np.uint32)
        for name in ("clock", "sequence", "machine", "snapshots")
    }
    status = np.full(len(times), AS_IS, np.uint8)
    return {**columns, "trace_time": times, "source_ns": times, "status": status}


class MergedBars(ErrorBars):
    """`ErrorBars` on the graph of all files.

    What has a time in the file and is not placed by that graph goes with the file's trace clock,
    where no bar excludes that: what has no clock, and what no path leads from. Else it has no time.

    Attributes:
        carried: rows of the latter.
    """

    def __init__(
        self,
        traces: MergedTraces,
        number: int,
        target: ClockId,
        bars: Bars,
        faults: TubeFaults,
    ) -> None:
        super().__init__(traces.graph, target, traces.files[number].trace.machines, bars, faults)
        self._boots = traces.boots
        self._number = number
        self.home = traces.home(number)
        self._ready: set[ClockId] = set()
        self.carried = 0

    def _id(self, clock: ClockId) -> ClockId:
        return self._boots.clock(self._number, clock)

    def _expect(self, clocks: Iterable[ClockId]) -> None:
        with self._graph.lock:
            super()._expect(clocks)

    def _has_way(self, clock: ClockId) -> bool:
        with self._graph.lock:
            return super()._has_way(clock)

    def _convert(self, clock: ClockId, source_ns: Values, seen: npt.NDArray[np.uint32]) -> Reached:
        # Files are placed in several threads. The tubes of a clock are made when it first converts;
        # from then on they are only read, but for those of meshes, which orders make.
        graph = self._graph
        if clock in self._ready and not len(graph.state.orders):
            return super()._convert(clock, source_ns, seen)
        with graph.lock:
            reached = super()._convert(clock, source_ns, seen)
        self._ready.add(clock)
        return reached

    def place(self, columns: Columns) -> Columns:
        """Return the rows on the clock of the merged trace; see `ErrorBars.place`."""
        placed = super().place(columns)
        before = columns["status"]
        has_bar = placed["earliest"] <= placed["latest"]
        rows = np.flatnonzero(
            is_any_of(before, PLACED) & ~(is_any_of(placed["status"], PLACED) & has_bar)
        )
        if not len(rows):
            return placed
        there = self._convert(
            self.home, columns["trace_time"][rows], np.zeros(len(rows), np.uint32)
        )
        # The bar of a reading of a clock that was set back holds where that can be.
        low, high = placed["earliest"][rows], placed["latest"][rows]
        barred = has_bar[rows]
        allowed = ~barred | ((low <= there.estimate) & (there.estimate <= high))
        # The ends of slices have none: their events are counted.
        is_event = "kind" in columns and columns["kind"][rows] < len(KINDS)
        self.carried += int(np.count_nonzero(allowed & (before[rows] != AS_IS) & is_event))
        # A reading that the clock made twice is within its bar, too: slices need a place for it.
        known = is_any_of(there.status, PLACED) | (there.earliest <= there.latest)
        status = np.where(known, before[rows], there.status)
        for name, values in (
            ("trace_time", there.estimate),
            ("earliest", np.where(barred, low, there.earliest)),
            ("latest", np.where(barred, high, there.latest)),
            ("status", status),
        ):
            placed[name] = placed[name].copy()
            placed[name][rows[allowed]] = values[allowed]
        by_home = np.zeros(len(before), np.bool_)
        by_home[rows[allowed & ~barred]] = True
        placed |= {BY_HOME: by_home, HOME_NS: columns["trace_time"]}
        if NO_BAR in columns:
            for name, value in (("earliest", 1), ("latest", 0)):
                placed[name] = np.where(columns[NO_BAR], value, placed[name])
        return placed
