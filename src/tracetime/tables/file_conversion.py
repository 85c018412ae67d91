"""The verb `convert` for a table file: its columns of times on one clock, in another table file."""

from __future__ import annotations

import contextlib
import os
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Final, TypeGuard

import numpy as np
import pyarrow as pa

from tracetime.atomic_file import file_target
from tracetime.clocks.ids import ClockId, ClockLike
from tracetime.clocks.json_facts import Document
from tracetime.clocks.wall_time import NS_OF_UNIT, FloatUnit
from tracetime.columns.arrays import values_of
from tracetime.columns.arrow_tables import check_column
from tracetime.columns.time_columns import WrittenUnits
from tracetime.errors import (
    ONE_SIDED,
    REASONS,
    RESOLVED,
    UNKNOWN_SOURCE_CLOCK,
    TraceError,
    UsageError,
)
from tracetime.graph.arguments import PolicyName
from tracetime.graph.clock_graph import ClockGraph, inner
from tracetime.graph.facts import clock_named
from tracetime.graph.ticks import why_floor_may_be_wrong
from tracetime.graph.tube.results import Bars
from tracetime.tables.column_conversion import name_of
from tracetime.tables.conversion import CLOCK_COLUMN, convert_in_units, target_of
from tracetime.tables.inputs import TableSource
from tracetime.tables.output import TableOutput, table_metadata
from tracetime.tables.writers import CsvTable, table_writer
from tracetime.text import duration, printable

if TYPE_CHECKING:
    from tracetime.clocks.json_types import Count, NotEmpty, Status

_FAR_NS: Final = 24 * 3600 * 10**9
"""A day: a trace, and what was logged beside it, may be that long."""

_FAR_SPANS: Final = 10
_UNITS: Final = ("s", "ms", "us")
_LEAST_RATIO: Final = 100
"""How much greater times are, at least, that were taken for another unit's."""


@dataclass(frozen=True, slots=True)
class ConvertedColumn:
    """The outcome for one column of a table.

    Attributes:
        column: its name in the table.
        name: the name of the new column.
        clock: the clock it was read in, or @ and the column that names it.
        statuses: how many times there are with each status.
        nulls: how many rows have no time.
        warning: what is odd about its times, if anything is.
    """

    column: str
    name: str
    clock: ClockId | str
    statuses: dict[Status, Count]
    nulls: Count
    warning: str | None


@dataclass(frozen=True, slots=True)
class TableSummary(Document):
    """The outcome of converting a table file.

    Attributes:
        table: the table, as it was named.
        out: the file that was written.
        to: the clock that the new columns count in.
        policy: how times came to that clock.
        bars: the error bars of the tube policy; null with floor, which has none.
        rows: how many rows there are.
        columns: the columns of --map.
        truncated: with --partial, the error after which the rest was not read; null if all was
            read.
    """

    table: str
    out: str
    to: ClockId
    policy: PolicyName
    bars: Bars | None
    rows: Count
    columns: Annotated[tuple[ConvertedColumn, ...], NotEmpty]
    truncated: TraceError | None

    @property
    def unresolved(self) -> int:
        """The number of times that did not convert."""
        return sum(
            n
            for column in self.columns
            for status, n in column.statuses.items()
            if status not in (REASONS[RESOLVED], REASONS[ONE_SIDED])
        )


# long: half of it says what it takes, or passes it on
def convert_table_file(  # noqa: PLR0913  the options of the command
    table: TableSource,
    graph: ClockGraph,
    columns: Mapping[str, ClockLike],
    out: str | os.PathLike[str],
    *,
    to: ClockLike | None = None,
    policy: PolicyName = "floor",
    bars: Bars = "estimated",
    float_unit: FloatUnit | None = None,
    names: Mapping[str, str] | None = None,
    kind: str | None = None,
) -> TableSummary:
    """Write a table file with its times on another clock; by the tube also their bars.

    Args:
        table: what `open_table` gives.
        out, kind: as of `convert`.
        graph, columns, to, policy, bars, float_unit, names: as of `convert_table`.

    Raises:
        UsageError, ConversionError: as `convert_table`; `out` cannot be written, or is the table.
        TraceError: the file is no table, or damaged. Whatever is raised, nothing is left of `out`.
    """
    clock = target_of(graph, to)
    rows, counts = 0, {column: Counter[str | None]() for column in columns}
    ranges = {column: _TimeRange() for column in columns}
    unknown: dict[str, str] = {}
    taken = {column: _TakenForNs(graph, clock, policy) for column in columns}
    metadata = table_metadata(clock, policy, bars)
    with contextlib.ExitStack() as stack:
        writer_class = table_writer(file_target(out), kind)
        typed = _typed_columns(columns) if writer_class is CsvTable else None
        for column in columns:
            check_column(column, table.columns)
        units = WrittenUnits()
        if policy == "tube":
            units = table.units(columns, typed, float_unit)
        given = stack.enter_context(table.batches(typed))
        # Once more: it refuses a file that is open.
        target = file_target(out)
        output = stack.enter_context(TableOutput(target))
        converted = convert_in_units(
            given,
            graph,
            columns,
            to=clock,
            policy=policy,
            bars=bars,
            bounds=policy == "tube",
            float_unit=float_unit,
            names=names,
            units=units,
        )
        output.start(writer_class, converted.schema, metadata)
        for batch in converted:
            output.put(batch)
            rows += batch.num_rows
            for column, count in counts.items():
                ranges[column].add(batch[column])
                status = batch[f"{name_of(column, names)}_status"]
                for one in status.value_counts().to_pylist():
                    count[one["values"]] += one["counts"]
                read_in = columns[column]
                if _is_column(read_in):
                    clocks = batch[read_in[1:]]
                    taken[column].add(clocks)
                    if column not in unknown:
                        unknown |= _missing_ties(column, clocks, status)
        output.finish(metadata)
    made = []
    for column, read_in in columns.items():
        source = read_in if _is_column(read_in) else graph.clock(read_in)
        made.append(
            ConvertedColumn(
                column,
                name_of(column, names),
                source,
                {status: n for status, n in counts[column].items() if status is not None},
                counts[column][None],
                _why_odd(graph, source, clock, policy, ranges[column])
                if isinstance(source, ClockId)
                else "; ".join(filter(None, (taken[column].why, unknown.get(column)))) or None,
            )
        )
    return TableSummary(
        table.name,
        os.fspath(out),
        clock,
        policy,
        bars if policy == "tube" else None,
        rows,
        tuple(made),
        table.truncated,
    )


class _TakenForNs:
    """Why floor may be wrong about a clock that rows name: the first such clock."""

    def __init__(self, graph: ClockGraph, target: ClockId, policy: PolicyName) -> None:
        self._graph, self._target = inner(graph), target
        self._is_open = policy == "floor"
        self._known: set[object] = {None, ""}
        self.why: str | None = None

    def add(self, clocks: pa.Array) -> None:
        """Look at the clocks that more rows name."""
        if not self._is_open:
            return
        for name in clocks.unique().to_pylist():
            if self.why is None and name not in self._known:
                self._known.add(name)
                with contextlib.suppress(UsageError):
                    clock = clock_named(self._graph, name)
                    self.why = why_floor_may_be_wrong(self._graph, clock, self._target)


def _missing_ties(column: str, clocks: pa.Array, status: pa.Array) -> dict[str, str]:
    """The sentence on a column whose rows name a clock that nothing ties."""
    texts = status.dictionary.to_pylist()
    if REASONS[UNKNOWN_SOURCE_CLOCK] not in texts:
        return {}
    code = texts.index(REASONS[UNKNOWN_SOURCE_CLOCK])
    indices, missing = values_of(status.indices)
    found = np.flatnonzero((indices == code) & (True if missing is None else ~missing))
    names = (clocks[int(row)].as_py() for row in found)
    first = next((name for name in names if name not in (None, "")), None)
    if first is None:
        return {}
    return {column: f"some rows name a clock that nothing ties, such as {printable(str(first))!r}"}


def _is_column(clock: ClockLike) -> TypeGuard[str]:
    """Whether a column names the clock of each row."""
    return isinstance(clock, str) and clock.startswith(CLOCK_COLUMN)


def _typed_columns(columns: Mapping[str, ClockLike]) -> set[str]:
    """The columns that are read as times and clocks; the rest of CSV stays text in CSV."""
    clocks = {clock[1:] for clock in columns.values() if _is_column(clock)}
    return {*columns, *clocks}


class _TimeRange:
    """The least and the greatest whole number of a column."""

    def __init__(self) -> None:
        self.least: int | None = None
        self.most: int | None = None

    def add(self, column: pa.Array) -> None:
        """Look at more of the column; what holds no whole numbers has a unit of its own."""
        if not pa.types.is_integer(column.type):
            return
        import pyarrow.compute as pc

        found = pc.min_max(column).as_py()
        if found["min"] is not None:
            self.least = min(found["min"], found["min"] if self.least is None else self.least)
            self.most = max(found["max"], found["max"] if self.most is None else self.most)


def _why_odd(
    graph: ClockGraph, source: ClockId, target: ClockId, policy: PolicyName, times: _TimeRange
) -> str | None:
    """Return what is odd about times of a clock, a sentence; None: nothing."""
    taken = why_floor_may_be_wrong(inner(graph), source, target) if policy == "floor" else None
    return taken or _why_implausible(graph, source, times)


def _why_implausible(graph: ClockGraph, clock: ClockId, times: _TimeRange) -> str | None:
    """Return what is odd about times of a clock beside its snapshots, a sentence; None: nothing."""
    info = next((info for info in graph.clocks() if info.clock == clock), None)
    if times.least is None or times.most is None or info is None:
        return None
    if info.first_ns is None or info.last_ns is None or inner(graph).counts_ticks(clock):
        return None
    first, last = min(info.first_ns, info.last_ns), max(info.first_ns, info.last_ns)
    away = max(first - times.most, times.least - last)
    if away <= 0:
        return None
    side = "before" if times.most < first else "after"
    text = f"all times are {duration(away)} or more {side} the snapshots of {graph.name(clock)}"
    near = last - first + 60 * NS_OF_UNIT["s"]
    for unit in _UNITS:
        factor = NS_OF_UNIT[unit]
        fits = first - near <= times.least * factor and times.most * factor <= last + near
        if fits and times.most * _LEAST_RATIO < first:
            return f"{text}: as {unit} they would fit, so multiply them by {factor:,}"
    if away > max(_FAR_NS, _FAR_SPANS * (last - first)):
        return f"{text}: check their clock and their unit, which is ns"
    return None
