"""Record batches to table files: Parquet, Arrow IPC and CSV, chosen by the ending of the name.

Each writer takes batches one after the other and, if it can, the metadata at the end, because a
trace says its trace clock only once it has been read. `convert.py` decides where the file goes,
under which temporary name, and on which thread it is written.
"""

from __future__ import annotations

import base64
import contextlib
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar, Final, Protocol

import pyarrow as pa

from tracetime.columns.arrow_tables import CLOCK_KEY
from tracetime.errors import UsageError
from tracetime.trace.events_table import BATCH_ROWS

ROW_GROUP_ROWS: Final = 131_072
"""Rows of one Parquet row group: few enough to hold in memory, enough to scan fast."""


ROW_GROUP_BYTES: Final = 1 << 26
"""Bytes of columns after which a row group ends where it has fewer rows: tables may be wide."""


class TableWriter(Protocol):
    """A table file being written to `path`.

    Args:
        path: the file, which is made or overwritten.
        schema: of every batch to come.
        metadata: of the file, where `metadata_first`; else it is only given to `finish`.

    Attributes:
        rows_at_once: how many rows to give to one `write`: Ctrl-C waits until they are written.
    """

    metadata_first: ClassVar[bool]
    rows_at_once: ClassVar[int]

    def __init__(self, path: Path, schema: pa.Schema, metadata: Mapping[str, str]) -> None: ...

    def write(self, batch: pa.RecordBatch) -> None:
        """Append `batch`. A dictionary is the same in every batch, as Arrow files require."""

    def finish(self, metadata: Mapping[str, str]) -> None:
        """Write what is left, put `metadata` into the file's own, and close it."""

    def abandon(self) -> None:
        """Close a file that will not be finished. May follow any failure."""


def table_writer(path: Path, kind: str | None = None) -> type[TableWriter]:
    """Return the writer of a format, by default that of the ending of `path`, in any case.

    Args:
        kind: parquet, arrow or csv.

    Raises:
        UsageError: another format or ending.
    """
    writer = _WRITERS.get(path.suffix.lower() if kind is None else f".{kind}")
    if writer is None:
        endings = ", ".join(_WRITERS)
        raise UsageError(f"cannot tell the format of {str(path)!r}: let it end in one of {endings}")
    return writer


class ParquetTable:
    """Parquet: zstd, delta encodings for what grows, dictionaries for what repeats."""

    metadata_first: ClassVar[bool] = False
    rows_at_once: ClassVar[int] = ROW_GROUP_ROWS
    _DELTA: Final = frozenset(
        {
            *("packet", "item", "timestamp", "trace_time", "earliest", "latest", "to_time"),
            *("offset", "id", "ts", "end_earliest", "end_latest"),
        }
    )
    # Columns that are filtered by range: for others, statistics are only bytes.
    _STATISTICS: Final = ("trace", "packet", "timestamp", "trace_time", "to_time", "ts")

    def __init__(self, path: Path, schema: pa.Schema, metadata: Mapping[str, str]) -> None:
        import pyarrow.parquet as pq

        self._schema = schema
        delta = [
            field.name
            for field in schema
            if pa.types.is_integer(field.type)
            and (field.name in self._DELTA or CLOCK_KEY in (field.metadata or {}))
        ]
        self._writer = pq.ParquetWriter(
            path,
            schema,
            compression="zstd",
            use_dictionary=[name for name in schema.names if name not in delta],
            column_encoding=dict.fromkeys(delta, "DELTA_BINARY_PACKED"),
            write_statistics=[name for name in self._STATISTICS if name in schema.names],
        )
        self._waiting: list[pa.RecordBatch] = []
        self._rows = self._bytes = 0
        self._changing = any(_changes(field.type) for field in schema)

    def write(self, batch: pa.RecordBatch) -> None:
        while self._rows + batch.num_rows >= ROW_GROUP_ROWS:
            room = ROW_GROUP_ROWS - self._rows
            self._waiting.append(batch.slice(0, room))
            batch = batch.slice(room)
            self._write_row_group()
        if batch.num_rows:
            self._waiting.append(batch)
            self._rows += batch.num_rows
            self._bytes += batch.nbytes
            if self._bytes >= ROW_GROUP_BYTES:
                self._write_row_group()

    def _write_row_group(self) -> None:
        waiting, self._waiting, self._rows, self._bytes = self._waiting, [], 0, 0
        table = pa.Table.from_batches(waiting)
        if self._changing:
            # Else the writer gives up its dictionary where the second batch comes.
            table = table.unify_dictionaries()
        self._writer.write_table(table, row_group_size=ROW_GROUP_ROWS)

    def finish(self, metadata: Mapping[str, str]) -> None:
        if self._waiting:
            self._write_row_group()
        # Once as Parquet's own metadata, for every reader; once in the Arrow schema, because
        # Arrow takes a schema's metadata from there where a file has one.
        schema = self._schema.with_metadata(dict(self._schema.metadata or {}) | dict(metadata))
        arrow = base64.b64encode(schema.serialize().to_pybytes()).decode()
        self._writer.add_key_value_metadata({**metadata, "ARROW:schema": arrow})
        self._writer.close()

    def abandon(self) -> None:
        self._waiting.clear()
        with contextlib.suppress(Exception):
            self._writer.close()


class ArrowTable:
    """Arrow IPC file, uncompressed, so that it can be memory-mapped and read without a copy.

    The file begins with its schema, metadata included: the metadata must be known at the start. The
    format has one dictionary per column: a column with one per batch is written as plain strings.
    """

    metadata_first: ClassVar[bool] = True
    # Each batch stays one in the file.
    rows_at_once: ClassVar[int] = BATCH_ROWS

    def __init__(self, path: Path, schema: pa.Schema, metadata: Mapping[str, str]) -> None:
        self._schema = pa.schema(
            [
                field.with_type(_plain(field.type)) if _changes(field.type) else field
                for field in schema
            ]
        )
        self._file = pa.OSFile(str(path), "wb")
        every = dict(schema.metadata or {}) | dict(metadata)
        self._writer = pa.ipc.new_file(self._file, self._schema.with_metadata(every))

    def write(self, batch: pa.RecordBatch) -> None:
        if batch.schema != self._schema:
            columns = [
                column.dictionary_decode() if _changes(column.type) else column
                for column in batch.columns
            ]
            batch = pa.RecordBatch.from_arrays(columns, schema=self._schema)
        self._writer.write_batch(batch)

    def finish(self, metadata: Mapping[str, str]) -> None:
        self._writer.close()
        self._file.close()

    def abandon(self) -> None:
        for part in (self._writer, self._file):
            with contextlib.suppress(Exception):
                part.close()


class CsvTable:
    """CSV with a header line; a null is an empty field. The format has no place for metadata.

    Text is quoted where it may hold anything: where there are names.
    """

    metadata_first: ClassVar[bool] = False
    rows_at_once: ClassVar[int] = 8192

    def __init__(self, path: Path, schema: pa.Schema, metadata: Mapping[str, str]) -> None:
        import pyarrow.csv as csv

        self._schema = pa.schema([(field.name, _plain(field.type)) for field in schema])
        quoted = any(_changes(field.type) or _is_text(field.type) for field in schema)
        plain = not any(set(name) & set(',"\r\n') for name in schema.names)
        options = csv.WriteOptions(
            quoting_style="needed" if quoted else "none",
            quoting_header="none" if plain else "needed",
        )
        self._writer = csv.CSVWriter(path, self._schema, write_options=options)

    def write(self, batch: pa.RecordBatch) -> None:
        columns = [
            column.dictionary_decode() if pa.types.is_dictionary(column.type) else column
            for column in batch.columns
        ]
        self._writer.write_batch(pa.RecordBatch.from_arrays(columns, schema=self._schema))

    def finish(self, metadata: Mapping[str, str]) -> None:
        self._writer.close()

    def abandon(self) -> None:
        with contextlib.suppress(Exception):
            self._writer.close()


def _is_text(kind: pa.DataType) -> bool:
    """Whether values may hold anything. Those of dictionaries with small indices are words."""
    return not (pa.types.is_primitive(kind) or pa.types.is_dictionary(kind))


def _plain(kind: pa.DataType) -> pa.DataType:
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def _changes(kind: pa.DataType) -> bool:
    """Whether a column has a dictionary of its own in each batch: those of names, by int32."""
    return bool(pa.types.is_dictionary(kind) and kind.index_type == pa.int32())


_WRITERS: Final[Mapping[str, type[TableWriter]]] = {
    ".parquet": ParquetTable,
    ".arrow": ArrowTable,
    ".csv": CsvTable,
}
