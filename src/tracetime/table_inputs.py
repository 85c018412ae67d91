"""Table files as streams of plain columns, for what converts them."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Collection, Iterator

import pyarrow as pa

from tracetime.formats.table.stored_tables import StoredTable, errors_of, stored_table
from tracetime.formats.trace_file import TraceFile
from tracetime.open_options import MAX_EXPANSION


@contextlib.contextmanager
def open_table(
    path: str | os.PathLike[str],
    typed: Collection[str] | None = None,
    max_expansion: int = MAX_EXPANSION,
) -> Iterator[pa.RecordBatchReader]:
    """Open a table file; the batches are read as they are taken.

    Categories become plain values: each batch of a file may have others.

    Args:
        path: of a Parquet file, an Arrow file or stream, or CSV with a header (plain, or compressed
            as traces are), or `-` for standard input.
        typed, max_expansion: as of `stored_table`.

    Raises:
        UsageError: the file cannot be read.
        TraceError: it is none of these, or damaged; also while batches are taken.
    """
    with (
        contextlib.closing(TraceFile(path)) as file,
        stored_table(file, max_expansion, typed) as table,
    ):
        own = table.schema
        schema = pa.schema(map(_plain, own), metadata=own.metadata)
        yield pa.RecordBatchReader.from_batches(schema, _decoded(table, schema, file.path))


def _decoded(table: StoredTable, schema: pa.Schema, path: str) -> Iterator[pa.RecordBatch]:
    with errors_of(path):
        for batch in table.batches():
            columns = [
                column.dictionary_decode() if _is_encoded(field) else column
                for field, column in zip(batch.schema, batch.columns, strict=True)
            ]
            yield pa.RecordBatch.from_arrays(columns, schema=schema)


def _plain(field: pa.Field) -> pa.Field:
    return field.with_type(field.type.value_type) if _is_encoded(field) else field


def _is_encoded(field: pa.Field) -> bool:
    return bool(pa.types.is_dictionary(field.type))
