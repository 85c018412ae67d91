"""Table files as streams of batches: Parquet, Arrow and CSV, by their first bytes."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import IO, Any, Final

import pyarrow as pa

from tracetime.atomic_file import open_to_read, protect
from tracetime.errors import TraceError
from tracetime.table_files import ROW_GROUP_ROWS
from tracetime.text import printable

_PARQUET: Final = b"PAR1"
_ARROW_FILE: Final = b"ARROW1"
_ARROW_STREAM: Final = b"\xff\xff\xff\xff"
_COMPRESSIONS: Final = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd", b"BZh": "bz2"}


@contextlib.contextmanager
def open_table(
    path: str | os.PathLike[str], typed: Collection[str] | None = None
) -> Iterator[pa.RecordBatchReader]:
    """Open a table file; the batches are read as they are taken.

    Categories become plain values: each batch of a file may have others.

    Args:
        path: of a Parquet file, an Arrow file or stream, or CSV with a header (plain, or compressed
            by gzip, zstd or bzip2).
        typed: of CSV, the columns whose types are inferred, by default all; the others stay text as
            it is written.

    Raises:
        UsageError: the file cannot be read.
        TraceError: it is none of these, or damaged; also while batches are taken.
    """
    name = os.fspath(path)
    with open_to_read(path) as file:
        protect(file)
        beginning = file.read(8)
        file.seek(0)
        with _errors_of(name):
            batches = _batches(file, beginning, typed)
        schema = pa.schema(map(_plain, batches.schema), metadata=batches.schema.metadata)
        yield pa.RecordBatchReader.from_batches(schema, _checked(batches, schema, name))


def _batches(
    file: IO[bytes], beginning: bytes, typed: Collection[str] | None
) -> pa.RecordBatchReader:
    if beginning.startswith(_PARQUET):
        import pyarrow.parquet as pq

        # Else all of the file is read ahead, and stays.
        parquet = pq.ParquetFile(file, pre_buffer=False)
        return pa.RecordBatchReader.from_batches(
            parquet.schema_arrow, parquet.iter_batches(ROW_GROUP_ROWS)
        )
    if beginning.startswith(_ARROW_FILE):
        arrow = pa.ipc.open_file(file)
        every = (arrow.get_batch(number) for number in range(arrow.num_record_batches))
        return pa.RecordBatchReader.from_batches(arrow.schema, every)
    if beginning.startswith(_ARROW_STREAM):
        return pa.ipc.open_stream(file)
    return _csv(file, beginning, typed)


def _csv(file: IO[bytes], beginning: bytes, typed: Collection[str] | None) -> pa.RecordBatchReader:
    import pyarrow.csv as csv

    found = [kind for magic, kind in _COMPRESSIONS.items() if beginning.startswith(magic)]

    def opened(of: IO[bytes], **options: Any) -> pa.RecordBatchReader:
        stream = pa.CompressedInputStream(of, found[0]) if found else of
        return csv.open_csv(stream, convert_options=csv.ConvertOptions(**options))

    # A stream closes its file. Names that are no UTF-8 fail here.
    with Path(file.name).open("rb") as probe:
        names = opened(probe).schema.names
    if typed is None:
        return opened(file)
    return opened(file, column_types={name: pa.string() for name in names if name not in typed})


def _plain(field: pa.Field) -> pa.Field:
    return field.with_type(field.type.value_type) if _is_encoded(field) else field


def _is_encoded(field: pa.Field) -> bool:
    return bool(pa.types.is_dictionary(field.type))


def _checked(
    batches: pa.RecordBatchReader, schema: pa.Schema, name: str
) -> Iterator[pa.RecordBatch]:
    with _errors_of(name):
        for batch in batches:
            columns = [
                column.dictionary_decode() if _is_encoded(field) else column
                for field, column in zip(batch.schema, batch.columns, strict=True)
            ]
            yield pa.RecordBatch.from_arrays(columns, schema=schema)


@contextlib.contextmanager
def _errors_of(name: str) -> Iterator[None]:
    """Raise what Arrow says of a damaged file as TraceError."""
    try:
        yield
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, OSError, UnicodeDecodeError) as error:
        why = printable(str(error).partition("\n")[0], 200)
        raise TraceError(
            f"cannot read {name!r} as a table: {why}; it is to be Parquet, Arrow or CSV with a "
            "header"
        ) from error
