"""The begins and ends of slices, as their own clocks read them, and by the tube on any clock."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tracetime.clocks.ids import ClockId
from tracetime.columns.arrays import arrow_of, texts_of
from tracetime.graph.graph import Graph
from tracetime.graph.tube.results import Bars
from tracetime.trace.error_bars import ErrorBars
from tracetime.trace.events_table import Columns

PLACED: Final = {
    "trace_time": np.int64,
    "status": np.uint8,
    "source_ns": np.int64,
    "clock": np.uint32,
    "sequence": np.uint32,
    "machine": np.uint32,
    "snapshots": np.uint32,
}
"""The columns of events that `ErrorBars.place` looks at, and their types."""

_PLACES: Final = ("trace_time", "earliest", "latest")

_AT_ONCE: Final = 1 << 18
"""Slices that are placed at once: what that takes is tens of MB."""

Numbers = npt.NDArray[np.int32]
Rows = npt.NDArray[np.intp]


@dataclass(frozen=True, eq=False, slots=True)
class SliceEnds:
    """Both ends of the slices of a trace, one row a slice, in the order in which they begin.

    Attributes:
        graph: with every snapshot of the trace.
        machines: machine_id by index, as `Trace.machines` has them.
        begins, ends: the columns `PLACED` of either end, and maybe `CUT_OFF`.
        clocks: that they name; clock 0 stands for none.
        begin_clock, end_clock: int32, the number of the clock of either end; -1 where a slice
            does not end.
        table: gives some slices, by row, as a table of `SLICES_SCHEMA` without arguments.
    """

    graph: Graph
    machines: list[int]
    begins: Columns
    ends: Columns
    clocks: list[ClockId]
    begin_clock: Numbers
    end_clock: Numbers
    table: Callable[[Rows], pa.Table]

    @property
    def ended(self) -> npt.NDArray[np.bool_]:
        """A mask of the slices that have an end."""
        return self.end_clock >= 0

    def clock_columns(self) -> tuple[pa.Array, pa.Array]:
        """The name of the clock of each begin and end, null where it names none."""
        names = texts_of(map(self.graph.name, self.clocks))
        # One more for the number -1.
        unnamed = np.array([*(clock.clock == 0 for clock in self.clocks), True])
        begins, ends = (
            pa.DictionaryArray.from_arrays(arrow_of(numbers, unnamed[numbers]), names, safe=False)
            for numbers in (self.begin_clock, self.end_clock)
        )
        return begins, ends

    def place(
        self, target: ClockId, rows: Rows | None = None, bars: Bars = "estimated"
    ) -> tuple[Columns, Columns]:
        """Place both ends of some slices on a clock by the tube; None: of all.

        Each has the columns trace_time, earliest and latest, ns on `target`; without a bar,
        earliest is after latest.
        """
        return self.place_by(ErrorBars(self.graph, target, self.machines, bars, {}), rows)

    def place_by(self, to: ErrorBars, rows: Rows | None = None) -> tuple[Columns, Columns]:
        """Place both ends of some slices as `to` places rows; see `place`."""
        count = len(self.begin_clock) if rows is None else len(rows)
        begins, ends = self.begins, self.ends
        placed = [{name: np.empty(count, np.int64) for name in _PLACES} for _ in range(2)]
        for start in range(0, count, _AT_ONCE):
            part = slice(start, min(start + _AT_ONCE, count))
            which = part if rows is None else rows[part]
            for columns, out in zip((begins, ends), placed, strict=True):
                found = to.place({name: column[which] for name, column in columns.items()})
                for name in _PLACES:
                    out[name][part] = found[name]
        return placed[0], placed[1]
