"""Columns of a table that are readings of clocks, converted batch by batch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tracetime.clocks.ids import ClockId
from tracetime.clocks.instants import FloatUnit
from tracetime.clocks.int_arrays import is_any_of
from tracetime.clocks.snapshot import INT64_MAX, INT64_MIN
from tracetime.columns.arrays import arrow_of, values_of
from tracetime.columns.time_columns import CLOCK_KEY, TimeColumn, WrittenUnits, time_column
from tracetime.errors import (
    BARRED,
    OVERFLOW,
    PLACED,
    UNKNOWN_SOURCE_CLOCK,
    UsageError,
)
from tracetime.graph.arguments import PolicyName
from tracetime.graph.clock_lookup import clock_named
from tracetime.graph.conversion import with_reasons
from tracetime.graph.graph import Graph
from tracetime.graph.ticks import refuse_floor_of_ticks
from tracetime.graph.tube.bars import Bars
from tracetime.graph.tube.results import Reached
from tracetime.tables.coarse_times import CoarseTimes
from tracetime.text import printable
from tracetime.trace.event_clocks import run_starts
from tracetime.trace.events_table import EVENTS_SCHEMA, statuses

_MOST_CLOCKS: Final = 100_000
"""Clocks that a column of clocks may name."""

Rows = npt.NDArray[np.intp]
Values = npt.NDArray[np.int64]


def name_of(column: str, names: Mapping[str, str] | None) -> str:
    """What a column is called where it is converted."""
    return (names or {}).get(column) or f"{column}_time"


class AddedColumns:
    """The columns that a table gets for one of its own.

    Args:
        column: of the table.
        clock: that it was read in, or the name of the column that says so in each row.
        name: of the converted times.
        target: the clock that they are on.
        bounds: whether earliest and latest are added.
    """

    def __init__(
        self, column: str, clock: ClockId | str, name: str, target: ClockId, bounds: bool
    ) -> None:
        self.column = column
        self.clock = clock
        self.bounds = bounds
        sides = ("_earliest", "_latest") if bounds else ()
        time = pa.field(name, pa.int64(), metadata={CLOCK_KEY: str(target)})
        self.fields = [
            time,
            pa.field(f"{name}_status", EVENTS_SCHEMA.field("status").type),
            *(time.with_name(name + side) for side in sides),
        ]


class ColumnConversion:
    """Converts columns to one clock; see `convert_table`.

    Args:
        units: in which the columns were written, as far as that is known.
    """

    def __init__(
        self,
        graph: Graph,
        target: ClockId,
        policy: PolicyName,
        bars: Bars,
        float_unit: FloatUnit | None,
        units: WrittenUnits,
    ) -> None:
        self._graph = graph
        self._target = target
        self._policy = policy
        self._bars = bars
        self._float_unit = float_unit
        self._named: dict[object, ClockId | None] = {}
        self._coarse: dict[ClockId, CoarseTimes] = {}
        self._units = units

    def arrays(self, batch: pa.RecordBatch, added: AddedColumns, first_row: int) -> list[pa.Array]:
        """The new columns of a batch, whose first row is that one of its table."""
        name = added.column
        given = time_column(batch[name], name, self._float_unit)
        if added.bounds:
            given = self._units.read(name, given)
        if isinstance(added.clock, ClockId):
            reached = self._reached(given, added.clock, added)
        else:
            reached = self._by_row(given, batch[added.clock], added, first_row)
        estimate, earliest, latest, status = reached
        missing = given.is_missing()
        unplaced = missing | ~is_any_of(status, PLACED)
        arrays = [arrow_of(estimate, unplaced), statuses(status, missing)]
        if added.bounds:
            # Two instants have no estimate, but a bar that holds both.
            none = missing | ~is_any_of(status, BARRED)
            no_earliest, no_latest = reached.open_sides()
            arrays += [arrow_of(earliest, none | no_earliest), arrow_of(latest, none | no_latest)]
        return arrays

    def _reached(self, given: TimeColumn, clock: ClockId, added: AddedColumns) -> Reached:
        """Convert readings of one clock."""
        graph = self._graph
        if given.is_ns and graph.counts_ticks(clock):
            raise UsageError(
                f"column {printable(added.column)!r} holds times, and {graph.name(clock)} "
                "counts ticks: give the ticks, as whole numbers"
            )
        if graph.counts_ticks(clock):
            given = given._replace(standing_on=None)
        reached = with_reasons(graph, given.values, clock, self._target, self._policy, self._bars)
        if added.bounds and not given.is_exact:
            if clock not in self._coarse:
                self._coarse[clock] = CoarseTimes(graph, clock, self._target, self._bars)
            reached = self._coarse[clock].widened(reached, *_sides(given))
        if given.beyond is not None:
            known = is_any_of(reached.status, BARRED)
            status = np.where(given.beyond & known, np.uint8(OVERFLOW), reached.status)
            reached = reached._replace(status=status)
        return reached

    def _by_row(
        self, given: TimeColumn, clocks: pa.Array, added: AddedColumns, first_row: int
    ) -> Reached:
        """Convert each row from the clock that it names; null names none."""
        n = len(given.values)
        estimate, earliest, latest = (np.zeros(n, np.int64) for _ in range(3))
        status = np.full(n, UNKNOWN_SOURCE_CLOCK, np.uint8)
        for name, rows in _by_value(clocks):
            if name == "":
                # CSV does not tell it from null.
                continue
            clock = self._clock(name, added, first_row + int(rows[0]))
            if clock is None:
                continue
            part = self._reached(given.rows(rows), clock, added)
            estimate[rows], status[rows] = part.estimate, part.status
            earliest[rows], latest[rows] = part.earliest, part.latest
        return Reached(estimate, earliest, latest, status)

    def _clock(self, name: object, added: AddedColumns, row: int) -> ClockId | None:
        """The clock that a row names; None where no clock is called so."""
        if name not in self._named:
            where = f"row {row} of column {printable(str(added.clock))!r}"
            if not isinstance(name, (str, int)):
                raise UsageError(f"{where} is {type(name).__name__}, no name of a clock")
            if len(self._named) == _MOST_CLOCKS:
                raise UsageError(f"{where}: more than {_MOST_CLOCKS} clocks")
            try:
                found = clock_named(self._graph, name)
            except UsageError:
                self._named[name] = None
                return None
            if self._policy == "floor":
                refuse_floor_of_ticks(self._graph, found, self._target)
            self._named[name] = found
        return self._named[name]


def _sides(given: TimeColumn) -> tuple[Values, Values]:
    """The least and the greatest reading that each may have been, within int64."""
    before, after = given.margins_ns()
    low: Values = np.maximum(given.values, INT64_MIN + before) - before
    high: Values = np.minimum(given.values, INT64_MAX - after) + after
    return low, high


def _by_value(column: pa.Array) -> Iterator[tuple[object, Rows]]:
    """The different values of a column, each with its rows in order; nulls have none.

    Raises:
        UsageError: of lists, or of other values that have parts.
    """
    if pa.types.is_nested(column.type) or pa.types.is_run_end_encoded(column.type):
        raise UsageError(f"a column of clocks is {column.type}: give names or numbers")
    encoded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
    codes, missing = values_of(encoded.indices)
    rows = np.arange(len(codes)) if missing is None else np.flatnonzero(~missing)
    order = rows[np.argsort(codes[rows], kind="stable")]
    for part in np.split(order, run_starts(codes[order])[1:]):
        if len(part):
            yield encoded.dictionary[int(codes[part[0]])].as_py(), part
