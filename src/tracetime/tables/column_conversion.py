"""Columns of a table that are readings of clocks, converted batch by batch."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tracetime.clocks.ids import ClockId
from tracetime.clocks.int_arrays import is_any_of
from tracetime.clocks.snapshot import INT64_MAX, INT64_MIN
from tracetime.clocks.wall_time import FloatUnit
from tracetime.columns.arrays import arrow_of, values_of
from tracetime.columns.arrow_tables import CLOCK_KEY
from tracetime.columns.time_columns import TimeColumn, WrittenUnits, time_column
from tracetime.errors import (
    BARRED,
    ONE_SIDED,
    OVERFLOW,
    PLACED,
    RESOLVED,
    UNKNOWN_SOURCE_CLOCK,
    ConversionError,
    UsageError,
)
from tracetime.graph.arguments import PolicyName
from tracetime.graph.conversion import with_reasons
from tracetime.graph.facts import clock_named
from tracetime.graph.graph import Graph
from tracetime.graph.ticks import refuse_floor_of_ticks
from tracetime.graph.tube.results import Bars, Reached
from tracetime.graph.values import Values
from tracetime.text import printable
from tracetime.trace.event_clocks import run_starts
from tracetime.trace.events_table import EVENTS_SCHEMA, statuses

# Bars of times that were cut off or rounded: they hold what all readings in between convert to.
#
# While one clock moves from a reading to the next, another moves as far, give or take its drift,
# unless it is set. So the bar at one end, moved by the distance, bounds the rest; and where a clock
# on the way was set, the bars there do the same for what lies before and after.

_JUMPS: Final = ("suspend", "step", "reset", "possible_step")
_MOST_TICKS: Final = 16
"""No clock counts more ticks in a nanosecond."""


class CoarseTimes:
    """Readings of a clock, each of which may have been a later or an earlier one, on another clock.

    Args:
        graph, source, target, bars: of the conversion, by the tube.
    """

    def __init__(self, graph: Graph, source: ClockId, target: ClockId, bars: Bars) -> None:
        self._graph = graph
        self._source = source
        self._target = target
        self._bars = bars
        self._speed = self._greatest_speed()
        self._jumps = self._converted_jumps()

    def widen(self, reached: Reached, low: Values, high: Values) -> Reached:
        """The results with bars of all readings between a lower and a higher one.

        Args:
            reached: what the readings themselves convert to.
            low, high: the readings that they may have been, within int64.
        """
        if self._source == self._target:
            # What it reads is the time itself.
            return reached._replace(earliest=low.copy(), latest=high.copy())
        away = np.ceil((high - low) * self._speed).astype(np.int64) + 1
        first, last, jumps = self._at(low), self._at(high), self._jumps
        earliest = np.minimum(reached.earliest, first.earliest)
        earliest = np.minimum(earliest, _less(last.earliest, away))
        latest = np.maximum(reached.latest, last.latest)
        latest = np.maximum(latest, _more(first.latest, away))
        begin = np.searchsorted(jumps.at, low)
        end = np.searchsorted(jumps.at, high, side="right")
        within = np.flatnonzero(end > begin)
        if len(within):
            rows = np.stack([begin[within], end[within]], axis=1).ravel()
            least = np.minimum.reduceat(np.append(jumps.earliest, INT64_MAX), rows)[::2]
            most = np.maximum.reduceat(np.append(jumps.latest, INT64_MIN), rows)[::2]
            earliest[within] = np.minimum(earliest[within], _less(least, away[within]))
            latest[within] = np.maximum(latest[within], _more(most, away[within]))
        return _open_bars(reached, earliest, latest, (first, last))

    def _at(self, readings: Values) -> Reached:
        return with_reasons(self._graph, readings, self._source, self._target, "tube", self._bars)

    def _hops(self) -> list[tuple[ClockId, ClockId]]:
        try:
            return list(pairwise(self._graph.tubes.path(self._source, self._target)))
        except ConversionError:
            return []

    def _greatest_speed(self) -> float:
        """The greatest speed of the target against the source."""
        if any(self._graph.domain(end).ns_per_tick != 1 for end in (self._source, self._target)):
            return float(_MOST_TICKS)
        tubes = self._graph.tubes
        return math.prod(1.0 + tubes.pairs.limits(*hop).drift for hop in self._hops())

    def _converted_jumps(self) -> _JumpBars:
        """The jumps of a clock on the way, by readings of the source."""
        graph, found = self._graph, [np.empty(0, dtype=np.int64)]
        for one, other in self._hops():
            pair = graph.tubes.pair(one, other)
            jumps = pair.tube.discontinuities
            jumps = jumps.take(jumps.kind_is(*_JUMPS))
            ends = np.append(jumps.a_from, jumps.a_to)
            if len(ends):
                there = with_reasons(graph, ends, pair.a, self._source, "tube", self._bars)
                found += [there.estimate, there.earliest, there.latest]
        at = np.sort(np.concatenate(found))
        reached = self._at(at)
        known = is_any_of(reached.status, BARRED)
        return _JumpBars(at[known], reached.earliest[known], reached.latest[known])


class _JumpBars(NamedTuple):
    """Readings of the source, ascending, and the bars there: int64 of one length."""

    at: Values
    earliest: Values
    latest: Values


def _less(values: Values, by: Values) -> Values:
    less: Values = np.maximum(values, INT64_MIN + by) - by
    return less


def _more(values: Values, by: Values) -> Values:
    more: Values = np.minimum(values, INT64_MAX - by) + by
    return more


def _open_bars(
    reached: Reached, earliest: Values, latest: Values, ends: tuple[Reached, Reached]
) -> Reached:
    """Results with bars opened where an end's bar is open, or the end does not convert."""
    status = reached.status.copy()
    placed = (status == RESOLVED) | (status == ONE_SIDED)
    for end in ends:
        no_earliest, no_latest = end.open_sides()
        lost = ~is_any_of(end.status, BARRED)
        earliest[lost | no_earliest] = INT64_MIN
        latest[lost | no_latest] = INT64_MAX
        status[placed & (lost | no_earliest | no_latest)] = ONE_SIDED
    return Reached(reached.estimate, earliest, latest, status)


_MOST_CLOCKS: Final = 100_000
"""Clocks that a column of clocks may name."""

Rows = npt.NDArray[np.intp]


def name_of(column: str, names: Mapping[str, str] | None) -> str:
    """The name of a column's conversion."""
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
            reached = self._convert(given, added.clock, added)
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

    def _convert(self, given: TimeColumn, clock: ClockId, added: AddedColumns) -> Reached:
        """Convert readings of one clock."""
        graph = self._graph
        if given.is_ns and graph.counts_ticks(clock):
            raise UsageError(
                f"column {printable(added.column)!r} holds times, and {graph.name(clock)} "
                "counts ticks: give the ticks, as whole numbers"
            )
        if graph.counts_ticks(clock):
            given = given._replace(resolutions=None)
        reached = with_reasons(graph, given.values, clock, self._target, self._policy, self._bars)
        if added.bounds and not given.is_exact:
            if clock not in self._coarse:
                self._coarse[clock] = CoarseTimes(graph, clock, self._target, self._bars)
            reached = self._coarse[clock].widen(reached, *_sides(given))
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
            part = self._convert(given.rows(rows), clock, added)
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
    """The least and the greatest reading that each value may stand for, within int64."""
    before, after = given.margins_ns()
    low: Values = np.maximum(given.values, INT64_MIN + before) - before
    high: Values = np.minimum(given.values, INT64_MAX - after) + after
    return low, high


def _by_value(column: pa.Array) -> Iterator[tuple[object, Rows]]:
    """The distinct values of a column, each with its rows in order; nulls have none.

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
