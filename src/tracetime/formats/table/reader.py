"""A table file as a trace: its rows are events, or snapshots of its clocks."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Final

import numpy as np
import pyarrow as pa

from tracetime.clocks.snapshot import INT64_MIN
from tracetime.columns.arrow_tables import CLOCK_KEY
from tracetime.columns.time_columns import WrittenUnits, learn_units
from tracetime.errors import TraceError, UsageError
from tracetime.formats.record_trace import FileClocks, Records, RecordTrace
from tracetime.formats.table.event_rows import EventColumnTable, EventRowTable
from tracetime.formats.table.given_places import Tally, barred, is_mapped, placed
from tracetime.formats.table.layouts import (
    EventColumns,
    EventRows,
    Layout,
    ReadingRows,
    SnapshotRows,
    layout_of,
)
from tracetime.formats.table.row_columns import EARLIER, TO_CONVERT, Rows
from tracetime.formats.table.slices import TableSlices
from tracetime.formats.table.snapshot_tables import clocks_of_columns, clocks_of_rows
from tracetime.formats.table.stored_tables import StoredTable, errors_of, stored_table
from tracetime.formats.trace_file import TraceFile
from tracetime.graph.arguments import PolicyName, check_policy
from tracetime.graph.tube.results import Bars, check_bars
from tracetime.text import printable
from tracetime.trace.error_bars import PlacementObserver
from tracetime.trace.events_table import NAMES_SCHEMA, TEXTS, Columns, Kind, Vocabulary
from tracetime.trace.notes import Note
from tracetime.trace.open_options import OpenOptions
from tracetime.trace.slices_table import Slices, slices_schema
from tracetime.trace.trace import TraceReading

_SIDES: Final = ("_earliest", "_latest")

_WRITTEN: Final = ("trace_time", "sequence", "machine", "offset", "packet_sequence")
_CSV_TYPES: Final[dict[str, pa.DataType]] = {
    **{field.name: field.type for field in NAMES_SCHEMA if field.name != "value"},
    **dict.fromkeys((*TEXTS, "args", "type", "kind", "payload", "status"), pa.string()),
    **dict.fromkeys(_WRITTEN, pa.int64()),
}
"""Columns of CSV whose type is known: others are inferred from the first megabyte."""


class TableTrace(RecordTrace):
    """A trace in a table; `layouts.py` says which."""

    KINDS = (Kind("event"),)
    FORMAT = "table"

    def __init__(self, file: TraceFile, options: OpenOptions) -> None:
        super().__init__(file, options)
        self._events: EventRowTable | EventColumnTable | None = None
        self._position = 0
        self._units = WrittenUnits()
        self._counted: Tally | None = None
        self.on_read.append(self._note_position)

    @property
    def vocabulary(self) -> Vocabulary:
        """The meanings of the codes in the columns, as the table names them."""
        _ = self._clocks
        return super().vocabulary if self._events is None else self._events.vocabulary

    def notes(self, code: str) -> Iterator[Note]:
        """Rows that are no events or no slices, the placing of times, and their resolution.

        Reads the file if necessary.
        """
        _ = self._clocks
        if code == "placed-before":
            policy = None if self._events is None else self._events.placed_by
            if policy is not None:
                yield Note(code, policy, values={"policy": policy})
        elif code == "events-without-time":
            yield from self._tally.timeless.notes()
        elif code == "ends-before-begins":
            yield from self._tally.reversed.notes()
        elif code == "times-rounded" and self._units.longest_ns:
            yield Note(code, "kept", size_ns=self._units.longest_ns)

    @property
    def _tally(self) -> Tally:
        _ = self._clocks
        if self._counted is None:
            for _ in self._until_damage(self._read_records(names=False)):
                pass
        return self._counted or Tally()

    def _read_clocks(self) -> FileClocks:
        with self._open_table() as table:
            layout = _layout_of(table.schema, self.path)
            if isinstance(layout, EventRows):
                self._events = EventRowTable(table.schema, self.options.max_clocks)
                self._learn_units(table, ["timestamp"])
                for rows in self._rows(table, self._events.columns(names=False)):
                    self._events.learn(rows)
                return self._events.clocks()
            if isinstance(layout, EventColumns):
                self._events = EventColumnTable(table.schema, layout)
                self._learn_units(table, list(layout.clocks))
                return self._events.clocks()
            names = _columns_of(layout, table.schema)
            batches = [rows.batch for rows in self._rows(table, names)]
            fields = [table.schema.field(name) for name in names]
            with errors_of(self.path):
                snapshots = pa.Table.from_batches(batches, pa.schema(fields))
        if isinstance(layout, SnapshotRows):
            return clocks_of_columns(snapshots, layout)
        return clocks_of_rows(snapshots, layout)

    def _read_records(self, names: bool) -> Iterator[Records]:
        if self._events is None:
            return
        tally = Tally()
        try:
            with self._open_table() as table:
                for rows in _number_rows(table, self._events.columns(names), self._units):
                    yield self._events.records(rows, names, self._position, tally)
        finally:
            self._counted = tally

    def slices(
        self,
        policy: PolicyName = "floor",
        progress: Callable[[int], None] | None = None,
        *,
        bars: Bars = "estimated",
        args: bool = True,
    ) -> Slices:
        """The slices of rows that have a begin and an end; see `Trace.slices`.

        They have no arguments. Those of one thread, process and track name are nested by where
        they begin.
        """
        self.check_open()
        check_policy(policy)
        check_bars(bars)
        _ = self._clocks
        events = self._events
        found = events.slices() if isinstance(events, EventColumnTable) else None
        if found is None or not isinstance(events, EventColumnTable):
            raise UsageError(
                f"no slices are read of {printable(self.path)}: its rows have no begin and end, "
                "such as begin:MONOTONIC and end:MONOTONIC"
            )
        clocks = events.slice_clocks() if policy == "tube" else None
        made = self._slices(found, events, clocks, progress)
        return Slices(slices_schema(policy), found.reading, made)

    def _slices(
        self,
        found: TableSlices,
        events: EventColumnTable,
        clocks: tuple[str, str] | None,
        progress: Callable[[int], None] | None,
    ) -> Generator[pa.RecordBatch, None, None]:
        with self._open_table() as table:
            for rows in self._rows(table, events.columns(names=True)):
                found.add(rows)
                if progress is not None:
                    progress(self._position)
        yield from found.batches(clocks, None if self.placing is None else self.placing.times)

    def _open_table(self) -> AbstractContextManager[StoredTable]:
        return stored_table(self._file, self.options.max_expansion, known=_CSV_TYPES)

    def _rows(self, table: StoredTable, columns: Sequence[str]) -> Iterator[Rows]:
        return self._until_damage(_number_rows(table, columns, self._units))

    def _learn_units(self, table: StoredTable, columns: list[str]) -> None:
        batches = self._until_damage(table.batches(columns))
        try:
            learn_units(self._units, columns, batches)
        except UsageError as error:
            raise TraceError(f"{error}{TO_CONVERT}") from error

    def _placed(
        self, reading: TraceReading, progress: Callable[[int], None] | None, names: bool
    ) -> Iterator[Columns]:
        for columns in super()._placed(reading, progress, names):
            yield placed(columns)

    def _bounded(
        self,
        reading: TraceReading,
        batches: Iterator[Columns],
        names: bool,
        bars: Bars,
        observer: PlacementObserver | None,
    ) -> Iterator[Columns]:
        for columns in super()._bounded(reading, batches, names, bars, observer):
            before, earliest = columns.pop(EARLIER), columns["earliest"]
            has_bar = earliest <= columns["latest"]
            earlier = np.maximum(earliest, INT64_MIN + before) - before
            columns["earliest"] = np.where(has_bar, earlier, earliest)
            yield barred(columns)

    def _note_position(self, position: int) -> None:
        self._position = position


def _number_rows(table: StoredTable, columns: Sequence[str], units: WrittenUnits) -> Iterator[Rows]:
    first = 0
    for batch in table.batches(columns):
        yield Rows(batch, first, units)
        first += batch.num_rows


def _layout_of(schema: pa.Schema, path: str) -> Layout:
    """The layout of a table.

    Raises:
        UsageError: nothing says in which clocks its times were read.
    """
    layout = layout_of(schema.names, _clocks_in_metadata(schema), mapped=is_mapped(schema))
    if layout is None:
        raise UsageError(
            f"{path!r} is a table, and does not say which of its columns are times, and of which "
            "clock: tracetime convert --map COLUMN:CLOCK does (convert_table in Python), or name a "
            "column COLUMN:CLOCK, as in ts:MONOTONIC"
        )
    for name in schema.names:
        if len(schema.get_all_field_indices(name)) > 1:
            raise TraceError(f"there are several columns {printable(name)!r}: rename all but one")
    return layout


def _clocks_in_metadata(schema: pa.Schema) -> dict[str, str]:
    """The clocks of columns, in the metadata of their fields; bars are no events."""
    said = {
        field.name: field.metadata[CLOCK_KEY].decode(errors="replace")
        for field in schema
        if CLOCK_KEY in (field.metadata or {})
    }
    bars = {name + side for name in said for side in _SIDES}
    return {name: clock for name, clock in said.items() if name not in bars}


def _columns_of(layout: SnapshotRows | ReadingRows, schema: pa.Schema) -> list[str]:
    """The columns of a table of snapshots that are read."""
    if isinstance(layout, SnapshotRows):
        used = {*layout.clocks, layout.width}
    else:
        used = {"snapshot", layout.clock, layout.reading, layout.width, "sequence", "machine"}
    return [name for name in schema.names if name in used]
