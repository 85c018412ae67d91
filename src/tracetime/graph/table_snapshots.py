"""Snapshots from a table: a row for each, with a column a clock, or a row for each reading."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping
from typing import Final, NamedTuple, SupportsIndex

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tracetime.clocks.ids import ClockId, ClockLike
from tracetime.clocks.snapshot import Reading, Snapshot
from tracetime.clocks.wall_time import FloatUnit
from tracetime.columns.arrow_tables import (
    SupportsArrowStream,
    batches_of,
    check_column,
    check_columns_of,
)
from tracetime.columns.time_columns import TimeColumn, refuse_beyond, time_column
from tracetime.errors import UsageError
from tracetime.graph.values import Values
from tracetime.text import printable

_MOST_WIDTH_NS: Final = 10**18

Rows = npt.NDArray[np.intp]


class TableShape(NamedTuple):
    """The columns of a table that hold snapshots; see `ClockGraph.from_table`."""

    readings: Mapping[str, ClockLike] | str
    clock: str | None
    snapshot: str | None
    reference: ClockId | None
    half_width_ns: Mapping[str, int | str] | int | str | None
    float_unit: FloatUnit | None
    counts_ticks: Callable[[ClockId], bool]
    take_names: Callable[..., None]


class _ReadingRun(NamedTuple):
    """Readings of one clock in snapshots that follow each other.

    Attributes:
        half_width_ns: None where not given.
        slack_ns: how far each may be off because it was rounded or cut off.
        is_ns: whether the type of its column says that these are ns.
    """

    clock: ClockId
    values: Values
    half_width_ns: Values | None
    slack_ns: Values
    is_ns: bool


def snapshots_of(table: SupportsArrowStream, shape: TableShape) -> Iterator[Snapshot]:
    """The snapshots of a table, in its order, those of the same clocks at once.

    Raises:
        UsageError: as `ClockGraph.from_table`.
    """
    by_row = isinstance(shape.readings, str)
    if not by_row:
        check_columns_of(shape.readings, "readings", "clock")
    columns = _Columns(batches_of(table).read_all(), shape.float_unit)
    read = _by_row if by_row else _by_column
    for group in read(columns, shape):
        for one in group:
            if one.is_ns and shape.counts_ticks(one.clock):
                raise UsageError(f"{one.clock} counts ticks: give these, as whole numbers")
        yield _snapshot(group, shape.reference)


class _Columns:
    """The columns of a table."""

    def __init__(self, table: pa.Table, float_unit: FloatUnit | None) -> None:
        self._table = table
        self._float_unit = float_unit

    def array(self, name: str) -> pa.Array:
        check_column(name, self._table.column_names)
        return self._table[name].combine_chunks()

    def encoded(self, name: str) -> pa.DictionaryArray:
        """A column of names or numbers, each value once in its dictionary."""
        array = self.array(name)
        if pa.types.is_dictionary(array.type):
            # Its own dictionary may have a value twice, or null among them.
            array = array.dictionary_decode()
        if pa.types.is_nested(array.type) or pa.types.is_run_end_encoded(array.type):
            raise UsageError(f"column {printable(name)!r} is {array.type}: give names or numbers")
        encoded = array.dictionary_encode()
        if encoded.null_count:
            raise UsageError(f"column {printable(name)!r} has nulls: each reading needs one")
        return encoded

    def times(self, name: str) -> TimeColumn:
        return refuse_beyond(time_column(self.array(name), name, self._float_unit), name)

    def widths(self, width: int | str | None) -> TimeColumn | None:
        """The half-widths in ns: of a column, or one for all rows."""
        if width is None:
            return None
        if isinstance(width, str):
            return refuse_beyond(time_column(self.array(width), width), width)
        if isinstance(width, bool) or not isinstance(width, SupportsIndex):
            raise UsageError(f"half_width_ns is {width!r}: give whole ns, or the name of a column")
        if not 0 <= operator.index(width) <= _MOST_WIDTH_NS:
            raise UsageError(f"half_width_ns is {width}: give 0 to {_MOST_WIDTH_NS} ns")
        return TimeColumn(np.full(self._table.num_rows, operator.index(width), np.int64), None)


def _by_column(columns: _Columns, shape: TableShape) -> Iterator[list[_ReadingRun]]:
    """The snapshots of a table with a row for each; a null is a clock that it lacks."""
    assert isinstance(shape.readings, Mapping)
    widths = shape.half_width_ns or {}
    clocks = [ClockId.parse(clock) for clock in shape.readings.values()]
    shape.take_names(*shape.readings.values())
    if not clocks:
        raise UsageError("no column of readings: say which, and of which clock")
    if shape.reference is not None and shape.reference not in clocks:
        raise UsageError(f"the reference, {shape.reference}, has no column of readings")
    if not isinstance(widths, Mapping):
        raise UsageError("half_width_ns is a dict by column, where each clock has a column")
    unread = [name for name in widths if name not in shape.readings]
    if unread:
        raise UsageError(f"half_width_ns names {printable(unread[0])!r}, no column of readings")
    read = {name: columns.times(name) for name in shape.readings}
    half = {name: columns.widths(widths.get(name)) for name in read}
    there = np.array([~column.is_missing() for column in read.values()])
    for rows in _runs(there):
        yield [
            _taken(ClockId.parse(clock), read[name], half[name], rows)
            for (name, clock), has in zip(shape.readings.items(), there[:, rows[0]], strict=True)
            if has
        ]


def _by_row(columns: _Columns, shape: TableShape) -> Iterator[list[_ReadingRun]]:
    """The snapshots of a table with a row for each reading; a snapshot's rows may lie apart."""
    assert isinstance(shape.readings, str)
    if shape.clock is None or shape.snapshot is None:
        raise UsageError("say which columns have the clock and the snapshot of each reading")
    if isinstance(shape.half_width_ns, Mapping):
        raise UsageError("half_width_ns is a column or a number, where each reading has a row")
    times, half = columns.times(shape.readings), columns.widths(shape.half_width_ns)
    snapshots = columns.encoded(shape.snapshot).indices
    names = columns.encoded(shape.clock)
    clocks = [ClockId.parse(name) for name in names.dictionary.to_pylist()]
    shape.take_names(*names.dictionary.to_pylist())
    number, which = np.asarray(snapshots), np.asarray(names.indices)
    rows = np.flatnonzero(~times.is_missing())
    rows = rows[np.argsort(number[rows], kind="stable")]
    starts = np.flatnonzero(np.diff(number[rows], prepend=-1))
    groups = np.split(rows, starts[1:]) if len(rows) else []
    at = 0
    while at < len(groups):
        same, end = which[groups[at]].tobytes(), at + 1
        while end < len(groups) and which[groups[end]].tobytes() == same:
            end += 1
        every = np.array(groups[at:end])
        yield [
            _taken(clocks[which[column[0]]], times, half, column)
            for column in np.ascontiguousarray(every.T)
        ]
        at = end


def _runs(there: npt.NDArray[np.bool_]) -> Iterator[Rows]:
    """The runs of neighbouring rows that have the same clocks, at least one."""
    n = there.shape[1]
    starts = np.flatnonzero(np.append(True, (there[:, 1:] != there[:, :-1]).any(axis=0))[:n])
    for rows in np.split(np.arange(n), starts[1:]):
        if len(rows) and there[:, rows[0]].any():
            yield rows


def _taken(
    clock: ClockId, column: TimeColumn, widths: TimeColumn | None, rows: Rows
) -> _ReadingRun:
    own = column.rows(rows)
    slack = np.full(len(rows), own.resolution_ns - 1, np.int64)
    if own.half_width_ns is not None:
        slack += own.half_width_ns
    if widths is not None and widths.is_missing()[rows].any():
        raise UsageError(f"a half-width of {clock} is null: give one for each of its readings")
    return _ReadingRun(
        clock, own.values, None if widths is None else widths.values[rows], slack, own.is_ns
    )


def _snapshot(group: list[_ReadingRun], reference: ClockId | None) -> Snapshot:
    """The snapshot of readings; a half-width also holds the error of cutting off or rounding."""
    readings = {one.clock: Reading(one.values) for one in group}
    if len(readings) != len(group):
        twice = next(one.clock for one in group if [o.clock for o in group].count(one.clock) > 1)
        raise UsageError(f"clock {twice} is in a snapshot twice")
    ours = next((one for one in group if one.clock == reference), None)
    if (
        ours is None
        and reference is not None
        and all(one.half_width_ns is not None for one in group)
    ):
        return _without_reference(group)
    widths = {}
    for one in group:
        slack = one.slack_ns if ours is None or one is ours else one.slack_ns + ours.slack_ns
        if one is not ours and one.half_width_ns is not None and ours is not None:
            widths[one.clock] = one.half_width_ns + slack
        elif slack.any() and (ours is None or one is not ours):
            raise UsageError(
                f"{one.clock} is read in steps of {int(slack.max()) + 1} ns, or from floats: give "
                "a reference, and the half_width_ns of each other clock, which is widened by that"
            )
    if reference is None and any(one.half_width_ns is not None for one in group):
        raise UsageError("half_width_ns is relative to a reference clock: give reference=")
    if ours is None:
        return Snapshot(readings)
    return Snapshot(readings, reference=reference, half_width_ns=widths)


def _without_reference(group: list[_ReadingRun]) -> Snapshot:
    """The snapshots that lack the reference: the first clock stands in for it, with both widths."""
    first, *others = group
    widths = {
        one.clock: one.half_width_ns + one.slack_ns + first.half_width_ns + first.slack_ns
        for one in others
        if one.half_width_ns is not None and first.half_width_ns is not None
    }
    readings = {one.clock: Reading(one.values) for one in group}
    return Snapshot(readings, reference=first.clock, half_width_ns=widths)
