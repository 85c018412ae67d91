"""The verb `convert_table`: columns of any table that are readings of clocks, on one clock.

A table is what Arrow can read: of pyarrow, pandas, polars or DuckDB. Batches are converted one by
one, so that a stream stays one.
"""

from __future__ import annotations

import functools
import pickle
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, TypeVar

import pyarrow as pa

from tracetime.clocks.ids import ClockId, ClockLike
from tracetime.clocks.wall_time import FloatUnit
from tracetime.columns.arrow_tables import (
    SupportsArrowStream,
    batches_of,
    check_column,
    check_columns_of,
    check_name,
    exact_in_pandas,
)
from tracetime.columns.time_columns import WrittenUnits, learn_units
from tracetime.errors import UsageError
from tracetime.graph.arguments import PolicyName, check_policy
from tracetime.graph.clock_graph import ClockGraph, from_bytes, inner, to_bytes
from tracetime.graph.ticks import refuse_floor_of_ticks
from tracetime.graph.tube.results import Bars, check_bars
from tracetime.tables.column_conversion import AddedColumns, ColumnConversion, name_of
from tracetime.text import did_you_mean, printable
from tracetime.trace.events_table import BATCH_ROWS
from tracetime.trace.trace import Trace

CLOCK_COLUMN: Final = "@"
"""Before the name of a column that says, row by row, in which clock another was read."""


def convert_table(  # noqa: PLR0913  the options of the command
    table: SupportsArrowStream,
    graph: ClockGraph | Trace,
    columns: Mapping[str, ClockLike],
    *,
    to: ClockLike | None = None,
    policy: PolicyName = "floor",
    bars: Bars = "estimated",
    bounds: bool = False,
    float_unit: FloatUnit | None = None,
    names: Mapping[str, str] | None = None,
) -> pa.Table | pa.RecordBatchReader:
    """Add conversions of a table's columns of times to another clock.

    Whole numbers are readings of the column's clock, in its unit. Timestamps and durations of any
    unit, with a time zone or without (then UTC), are ns since their epoch; floats are taken with
    `float_unit` alone. The bar of a time in us, of which the rest was cut off, holds all of that
    us; the bar of a float holds what rounding cost. Where clearly more times than by chance have
    a longer resolution (whole ms, ticks, few digits), their bars hold that, cut off or rounded.

    Args:
        table: a table or batch of pyarrow, a frame of pandas or polars, a relation of DuckDB, or
            anything with `__arrow_c_stream__`; or a `pyarrow.RecordBatchReader`.
        graph: with the snapshots of the clocks; or an open trace, for those of its `clocks`.
        columns: in which clock each column was read: a clock, or "@" and the name of a column that
            names one in each row (by text, or by number).
        to: the clock to convert to; by default the trace clock.
        policy, bars: as of `ClockGraph.convert`.
        bounds: add the earliest and latest possible times, by the tube.
        float_unit: what 1.0 of a float is: "s", "ms", "us" or "ns".
        names: what the new columns of a column are called: by default its name and "_time".

    Returns:
        The table with, for each of `columns`, at its end, NAME (int64 ns of `to`, null where it
        does not convert; its clock is in the field's metadata), NAME_status (a reason of `status`,
        resolved where it does; null where the column is null), and with `bounds` NAME_earliest and
        NAME_latest (null where nothing bounds them): a pyarrow.Table, or for a reader a reader of
        as many batches.

    Raises:
        UsageError: no table, column, clock, policy or bars of these; a column of another type;
            bounds of floor. From a reader, also while it is read.
        ConversionError: no snapshot and no order has `to`.
    """
    return convert_in_units(
        table,
        _graph_of(graph),
        columns,
        to=to,
        policy=policy,
        bars=bars,
        bounds=bounds,
        float_unit=float_unit,
        names=names,
        units=None,
    )


def convert_in_units(  # noqa: PLR0913  those of convert_table
    table: SupportsArrowStream,
    graph: ClockGraph,
    columns: Mapping[str, ClockLike],
    *,
    to: ClockLike | None,
    policy: PolicyName,
    bars: Bars,
    bounds: bool,
    float_unit: FloatUnit | None,
    names: Mapping[str, str] | None,
    units: WrittenUnits | None,
) -> pa.Table | pa.RecordBatchReader:
    """Convert as `convert_table`, with units of times that are given, or learnt from the table."""
    check_policy(policy)
    check_bars(bars)
    if bounds and policy != "tube":
        raise UsageError("only the tube has bounds: convert with policy='tube'")
    check_columns_of(columns, "columns", "clock")
    _check_names(names, columns)
    target = target_of(graph, to)
    batches = batches_of(table)
    own = batches.schema
    for column in columns:
        check_column(column, own.names)
    added = [
        AddedColumns(column, _clock(graph, clock, own), name_of(column, names), target, bounds)
        for column, clock in columns.items()
    ]
    _check_columns(added, own)
    if policy == "floor":
        for one in added:
            if isinstance(one.clock, ClockId):
                refuse_floor_of_ticks(inner(graph), one.clock, target)
    fields = [field for one in added for field in one.fields]
    schema = exact_in_pandas(pa.schema([*own, *fields], metadata=own.metadata))
    given: Iterable[pa.RecordBatch] = batches
    if not isinstance(table, pa.RecordBatchReader):
        given = list(batches)
    if units is None:
        units = _units_of(given if bounds else None, columns, float_unit)
    conversion = ColumnConversion(inner(graph), target, policy, bars, float_unit, units)

    def converted() -> Iterator[pa.RecordBatch]:
        row = 0
        for batch in given:
            for start in range(0, batch.num_rows, BATCH_ROWS):
                part = batch.slice(start, BATCH_ROWS)
                new = [array for one in added for array in conversion.arrays(part, one, row)]
                yield pa.RecordBatch.from_arrays([*part.columns, *new], schema=schema)
                row += part.num_rows

    if isinstance(table, pa.RecordBatchReader):
        return pa.RecordBatchReader.from_batches(schema, converted())
    return pa.Table.from_batches(converted(), schema=schema)


def _units_of(
    given: Iterable[pa.RecordBatch] | None, columns: Iterable[str], float_unit: FloatUnit | None
) -> WrittenUnits:
    """The units of columns of times, of batches that can be read twice."""
    units = WrittenUnits()
    if isinstance(given, list):
        learn_units(units, columns, given, float_unit)
    return units


def _graph_of(given: ClockGraph | Trace) -> ClockGraph:
    return given.clocks if isinstance(given, Trace) else given


def target_of(graph: ClockGraph, to: ClockLike | None) -> ClockId:
    """The clock to convert to: one of the graph, by default its trace clock."""
    if not isinstance(graph, ClockGraph):
        raise UsageError(
            f"a {type(graph).__name__} is no graph of clocks: give a ClockGraph, as `clocks` of an "
            "open trace is one"
        )
    if to is not None:
        return graph.clock(to, known=True)
    if graph.trace_clock is None:
        raise UsageError("the graph has no trace clock: say which clock to convert to (to)")
    return graph.trace_clock


def _clock(graph: ClockGraph, clock: ClockLike, schema: pa.Schema) -> ClockId | str:
    """The clock of a column, or the name of the column that has it."""
    if not (isinstance(clock, str) and clock.startswith(CLOCK_COLUMN)):
        return graph.clock(clock)
    check_column(clock[1:], schema.names)
    return clock[1:]


def _check_names(names: Mapping[str, str] | None, columns: Mapping[str, ClockLike]) -> None:
    """Check the names of new columns."""
    if names is None:
        return
    check_columns_of(names, "names", "new name")
    for column, name in names.items():
        check_name(name)
        if column not in columns:
            raise UsageError(
                f"names has {printable(column)!r}, which is not converted"
                f"{did_you_mean(column, columns)}"
            )


def _check_columns(added: list[AddedColumns], schema: pa.Schema) -> None:
    if not added:
        raise UsageError("no column to convert: say which, and in which clock it was read")
    taken = set(schema.names)
    for one in added:
        for field in one.fields:
            if field.name in taken:
                raise UsageError(
                    f"there is a column {printable(field.name)!r} already: choose another name"
                )
            taken.add(field.name)


# `convert_table` as a function of batches, which engines send to their workers.

Batch = TypeVar("Batch", pa.RecordBatch, pa.Table)


class TableConverter:
    """Converts the batches of a table that is spread over many machines.

    A callable for `map_batches` of Ray Data and `mapInArrow` of Spark. Pickled, it holds the graph
    as the bytes that `ClockGraph.save` writes; a process that gets it many times reads it once.
    No batch depends on another.

    Args:
        sample: of the table, some thousand rows: the units of its columns, and the resolution
            of its times, are learnt from these rows alone. Without `bounds` an empty table of the
            same columns will do.
        graph, columns, to, policy, bars, bounds, float_unit, names: as of `convert_table`.

    Attributes:
        schema: of what it returns, a `pyarrow.Schema`; each NAME_status is text.

    Raises:
        UsageError, ConversionError: as of `convert_table`; bounds of a sample without rows.
    """

    def __init__(  # noqa: PLR0913  those of convert_table
        self,
        sample: SupportsArrowStream,
        graph: ClockGraph | Trace,
        columns: Mapping[str, ClockLike],
        *,
        to: ClockLike | None = None,
        policy: PolicyName = "floor",
        bars: Bars = "estimated",
        bounds: bool = False,
        float_unit: FloatUnit | None = None,
        names: Mapping[str, str] | None = None,
    ) -> None:
        rows = batches_of(sample).read_all()
        if bounds and not rows.num_rows:
            raise UsageError("bounds need a sample with rows: give some thousand of the table")
        self._graph = _graph_of(graph)
        self._columns = dict(columns)
        self._options: dict[str, Any] = {
            "to": to,
            "policy": policy,
            "bars": bars,
            "bounds": bounds,
            "float_unit": float_unit,
            "names": names,
        }
        self._units = WrittenUnits()
        self.schema: pa.Schema = self._convert(rows.schema.empty_table()).schema
        learn_units(self._units, self._columns, rows.to_batches(), float_unit)
        self._saved = pickle.dumps((rows, to_bytes(self._graph), self._columns, self._options))

    def __call__(self, batch: Batch) -> Batch:
        """Return a batch, or a table, with the columns that `convert_table` adds.

        Raises:
            UsageError: it has other columns than the sample.
        """
        made = self._convert(batch)
        if made.schema != self.schema:
            raise UsageError("a batch has other columns than the sample: give one of its table")
        if isinstance(batch, pa.Table):
            return made
        columns = [column.combine_chunks() for column in made.columns]
        return pa.RecordBatch.from_arrays(columns, schema=self.schema)

    def _convert(self, rows: pa.Table | pa.RecordBatch) -> pa.Table:
        made = convert_in_units(
            rows, self._graph, self._columns, units=self._units.settled(), **self._options
        )
        # Dictionaries are for one process: Spark takes none, and blocks of Ray are joined.
        for k in range(rows.num_columns, made.num_columns):
            field = made.schema.field(k)
            if pa.types.is_dictionary(field.type):
                made = made.set_column(k, field.name, made[k].cast(field.type.value_type))
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        return _converter_of, (self._saved,)


@functools.lru_cache(maxsize=4)
def _converter_of(saved: bytes) -> TableConverter:
    """The converter of these bytes: the same object each time that a worker gets them."""
    sample, graph, columns, options = pickle.loads(saved)
    return TableConverter(sample, from_bytes(graph), columns, **options)
