"""Tables to convert, as streams of plain columns: files, and queries of DuckDB."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Collection, Iterator
from contextlib import AbstractContextManager
from typing import Protocol

import pyarrow as pa

from tracetime.clocks.wall_time import FloatUnit
from tracetime.columns.time_columns import WrittenUnits, learn_units
from tracetime.errors import TraceError, UsageError
from tracetime.formats.table.stored_tables import StoredTable, errors_of, stored_table
from tracetime.formats.trace_file import TraceFile
from tracetime.tables import QUERY
from tracetime.text import printable
from tracetime.trace.events_table import BATCH_ROWS
from tracetime.trace.open_options import MAX_EXPANSION


class TableSource(Protocol):
    """A table whose batches are read once.

    Attributes:
        name: what it is called.
        columns: the names of its columns.
        truncated: the error after which the rest was not read, where that is asked for.
    """

    name: str
    columns: list[str]
    truncated: TraceError | None

    def batches(
        self, typed: Collection[str] | None = None
    ) -> AbstractContextManager[pa.RecordBatchReader]:
        """Read it; typed: as of `stored_table`."""

    def units(
        self,
        columns: Collection[str],
        typed: Collection[str] | None = None,
        float_unit: FloatUnit | None = None,
    ) -> WrittenUnits:
        """The units of columns of times, where the table can be read twice."""


@contextlib.contextmanager
def open_table(
    table: str | os.PathLike[str], max_expansion: int = MAX_EXPANSION, partial: bool = False
) -> Iterator[TableSource]:
    """Open a table; its batches are read as they are taken.

    Args:
        table: the path of a Parquet file, an Arrow file or stream, or CSV with a header (plain, or
            compressed as traces are), `-` for standard input, or `QUERY` and a SELECT of DuckDB,
            which may read files.
        max_expansion: as of `stored_table`.
        partial: keep what comes before the place where a file is cut off or damaged.

    Raises:
        UsageError: the file cannot be read; the query is refused.
        TraceError: it is no table, or damaged; also while batches are taken.
    """
    name = os.fspath(table)
    if name.startswith(QUERY):
        with contextlib.closing(_Query(name.removeprefix(QUERY))) as query:
            yield query
        return
    with contextlib.closing(TraceFile(table)) as file:
        yield _File(file, max_expansion, partial)


class _File:
    """A table file. Categories become plain values: each batch of a file may have others."""

    def __init__(self, file: TraceFile, max_expansion: int, partial: bool) -> None:
        self.name = file.path
        self.truncated: TraceError | None = None
        self._partial = partial
        self._file = file
        self._max_expansion = max_expansion
        with stored_table(file, max_expansion) as table:
            self.columns: list[str] = table.schema.names

    @contextlib.contextmanager
    def batches(self, typed: Collection[str] | None = None) -> Iterator[pa.RecordBatchReader]:
        with stored_table(self._file, self._max_expansion, typed) as table:
            own = table.schema
            schema = pa.schema(map(_plain, own), metadata=own.metadata)
            yield pa.RecordBatchReader.from_batches(schema, self._decode(table, schema))

    def units(
        self,
        columns: Collection[str],
        typed: Collection[str] | None = None,
        float_unit: FloatUnit | None = None,
    ) -> WrittenUnits:
        units, chosen = WrittenUnits(), list(columns)
        opened = stored_table(self._file, self._max_expansion, typed)
        # `batches` tells of the damage.
        with opened as table, contextlib.suppress(TraceError):
            learn_units(units, chosen, table.batches(chosen), float_unit)
        return units

    def _decode(self, table: StoredTable, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        try:
            with errors_of(self.name):
                for batch in table.batches():
                    yield _plain_batch(batch, schema)
        except TraceError as error:
            if not self._partial:
                raise
            self.truncated = error.with_traceback(None)


def _plain_batch(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    columns = [
        column.dictionary_decode() if pa.types.is_dictionary(column.type) else column
        for column in batch.columns
    ]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _plain(field: pa.Field) -> pa.Field:
    kind = field.type
    return field.with_type(kind.value_type) if pa.types.is_dictionary(kind) else field


class _Query:
    """The rows of a SELECT, computed while they are read."""

    name = "the query"
    truncated: TraceError | None = None

    def __init__(self, text: str) -> None:
        import duckdb

        from tracetime.tables.duckdb_files import OpenedFiles, uses_files

        self._refusal = duckdb.Error
        self._con = duckdb.connect(
            ":memory:",
            config={
                "python_enable_replacements": False,
                "autoinstall_known_extensions": False,
                "autoload_known_extensions": False,
            },
        )
        self._files = OpenedFiles(self._con)
        try:
            with self._errors():
                statements = self._con.extract_statements(text)
                select = [one.type for one in statements] == [duckdb.StatementType.SELECT]
                if not select or uses_files(self._con, statements[0].query)[1]:
                    raise UsageError(f"{printable(text, 60)!r} is not one SELECT: no other is run")
                self._reader = self._con.sql(statements[0].query).to_arrow_reader(BATCH_ROWS)
        except BaseException:
            self.close()
            raise
        self.columns: list[str] = self._reader.schema.names

    @contextlib.contextmanager
    def batches(self, typed: Collection[str] | None = None) -> Iterator[pa.RecordBatchReader]:
        schema = pa.schema(map(_plain, self._reader.schema))
        yield pa.RecordBatchReader.from_batches(schema, self._read(schema))

    def units(
        self,
        columns: Collection[str],
        typed: Collection[str] | None = None,
        float_unit: FloatUnit | None = None,
    ) -> WrittenUnits:
        return WrittenUnits()

    def _read(self, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        with self._errors():
            for batch in self._reader:
                yield _plain_batch(batch, schema)

    def close(self) -> None:
        self._files.close()
        self._con.close()

    @contextlib.contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except (self._refusal, pa.ArrowException, OSError) as error:
            why = printable(str(error).partition("\n")[0], 300)
            raise UsageError(f"DuckDB refuses the query: {why}") from error
