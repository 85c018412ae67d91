"""The batches of slices of every format that has them, and by the tube the bars of both ends.

A format logs the events of slices in a kernel, and replays them in order of time into tables of
the kernels (`slices.tables`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tracetime.clocks.snapshot import INT64_MAX, INT64_MIN
from tracetime.columns.arrays import arrow_of
from tracetime.graph.clock_graph import inner
from tracetime.trace.events_table import CUT_OFF, EARLY, Columns
from tracetime.trace.slice_ends import SliceEnds
from tracetime.trace.slices_table import OPEN, SLICES_SCHEMA, Args, Owners, Strings, slice_batches

if TYPE_CHECKING:
    from tracetime._kernels.slices import SliceTables
    from tracetime.clocks.ids import ClockId
    from tracetime.graph.tube.results import Bars
    from tracetime.trace.slices_table import SliceReading
    from tracetime.trace.trace import Trace

Entries: TypeAlias = npt.NDArray[np.int32]
"""Events of slices, by their number in the log; -1: none."""

NAMES_LIMIT: Final = 64 << 20
"""Bytes that names may take."""

MOST_ENTRIES: Final = 1 << 26
"""Events of slices that are kept until all are known: about 5 GB of them."""

ARGS_LIMIT: Final = 1 << 30
"""Bytes of arguments that are kept."""

_MOST_ARGS: Final = 1 << 25
"""Bytes of arguments in one batch, or a little more."""

_OPEN: Final = (("earliest", INT64_MIN), ("latest", INT64_MAX))
"""What stands for a side of a bar that nothing bounds."""


class Readings(Protocol):
    """The readings of clocks at the events of slices."""

    @property
    def clocks(self) -> list[ClockId]:
        """The clocks that the events name, by number; those that name none have clock 0."""

    def numbers(self, entries: Entries) -> npt.NDArray[np.int32]:
        """The number of the clock of some entries; -1: of none."""

    def begins(self, entries: Entries) -> Columns:
        """The columns `PLACED` of some entries."""

    def ends(self, entries: Entries) -> Columns:
        """The columns `PLACED` of some entries, where they end slices; -1: none does."""


class ArgsOf(Protocol):
    """The arguments of slices, by the entries they begin and end with; see `slice_log`."""

    def __call__(
        self, begin: Entries, end: Entries, most: int
    ) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.int32], npt.NDArray[np.uint8]]:
        """The arguments of the first slices, until there are `most` bytes."""


@dataclass(frozen=True, eq=False, slots=True)
class ReplayedSlices:
    """The slices of a trace, by floor's times.

    Attributes:
        columns: ts, dur, depth, parent, track, name, category, and the entries that each begins
            and ends with.
        owners, strings: of its tracks and names.
    """

    columns: dict[str, npt.NDArray[Any]]
    owners: Owners
    strings: Strings

    @classmethod
    def of(cls, tables: SliceTables) -> ReplayedSlices:
        """The slices that the tables hold."""
        owners = Owners(tables.tracks.columns(), *tables.processes.columns())
        return cls(tables.slices.columns(), owners, tables.strings.arrays())

    def ends(self, trace: Trace, readings: Readings) -> SliceEnds:
        """Both ends of the slices."""
        begin, end = self.columns["begin"], self.columns["end"]
        return SliceEnds(
            graph=inner(trace.clocks),
            machines=trace.machines,
            begins=readings.begins(begin),
            ends=readings.ends(end),
            clocks=readings.clocks,
            begin_clock=readings.numbers(begin),
            end_clock=np.where(self.columns["dur"] == OPEN, -1, readings.numbers(end)),
            table=self._table,
        )

    def _table(self, rows: npt.NDArray[np.intp]) -> pa.Table:
        chosen = {name: column[rows] for name, column in self.columns.items()}
        made = slice_batches(chosen, self.owners, self.strings, {}, None)
        return pa.Table.from_batches(made, SLICES_SCHEMA)

    def bounds_of(
        self, ends: SliceEnds, trace: Trace, bars: Bars | None, reading: SliceReading
    ) -> dict[str, pa.Array]:
        """The columns of bars, none by floor; who bakes the slices gets their ends, too."""
        if reading.wants_arrows:
            reading.ends = ends
        return {} if bars is None else self._bounded(ends, trace, bars)

    def _bounded(self, ends: SliceEnds, trace: Trace, bars: Bars) -> dict[str, pa.Array]:
        """The columns of bars; ts and dur become the estimates.

        A slice whose begin the tube does not place keeps its time, without bars.
        """
        slices = self.columns
        first, last = ends.place_by(trace._error_bars(bars, {}))
        began, ended = (end["earliest"] <= end["latest"] for end in (first, last))
        ended &= ends.ended
        slices["ts"] = np.where(began, first["trace_time"], slices["ts"])
        both = began & ended
        duration = np.maximum(last["trace_time"] - first["trace_time"], 0)
        instant = (slices["begin"] == slices["end"]) & (slices["dur"] == 0)
        if CUT_OFF in ends.ends:
            # A complete event of no duration may have had one that is cut off.
            instant &= ends.begins[CUT_OFF] == ends.ends[CUT_OFF]
        slices["dur"] = np.where(both, duration, slices["dur"])
        error = np.maximum(
            last["latest"] - first["earliest"] - duration,
            duration - (last["earliest"] - first["latest"]),
        )
        at_one, drifted = _at_one_offset(ends, trace, first, last)
        error = np.where(at_one, np.ceil(duration * drifted).astype(np.int64) + 1, error)
        for of_begin, of_end in ((EARLY, CUT_OFF), (CUT_OFF, EARLY)):
            rest = ends.begins.get(of_begin, 0) + ends.ends.get(of_end, 0)
            error += np.where(at_one, rest, 0)
        error[instant] = 0
        sides = [(end[side] == open_end) for end in (first, last) for side, open_end in _OPEN]
        closed = both & (instant | at_one | ~np.logical_or.reduce(sides))
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

    def batches(
        self, bars: Mapping[str, pa.Array], args_of: ArgsOf | None
    ) -> Iterator[pa.RecordBatch]:
        """The slices as batches; bars: as `bounded` gives them, or none; args_of: None for none."""
        begin, end, parent = (self.columns[name] for name in ("begin", "end", "parent"))
        # What ends with the slice that it lies in has no arguments of that end.
        end = np.where((parent >= 0) & (end == end[parent]), np.int32(-1), end)
        args: Args | None = None
        if args_of is not None:

            def args(rows: slice) -> Any:
                return args_of(begin[rows], end[rows], _MOST_ARGS)

        return slice_batches(self.columns, self.owners, self.strings, bars, args)


def _at_one_offset(
    ends: SliceEnds, trace: Trace, first: Columns, last: Columns
) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.float64]]:
    """Which slices have both ends at one offset of a clock that a program put on the trace's.

    However far off it is, their durations are right but for the drift: ns per ns, of each slice.
    """
    graph, own = inner(trace.clocks), trace.trace_clock
    placed = [graph.domain(clock).is_placed for clock in ends.clocks]
    drifts = [
        graph.tubes.pairs.limits(clock, own).drift if chosen else 0.0
        for clock, chosen in zip(ends.clocks, placed, strict=True)
    ]
    # One more for the number -1.
    clock = ends.begin_clock
    found = np.array([*placed, False])[clock] & (clock == ends.end_clock)
    begun, ended = (
        placed_at["trace_time"] - given["source_ns"]
        for placed_at, given in ((first, ends.begins), (last, ends.ends))
    )
    return found & (begun == ended), np.array([*drifts, 0.0])[clock]


def go_on(trace: Trace) -> None:
    """Let who watches the reading stop it: also where the file has been read."""
    for watch in trace.on_read:
        watch(trace.size)
