"""Record batches to table files: Parquet, Arrow IPC and CSV, chosen by the ending of the name.

Each writer takes batches one after the other and is told the metadata at the end, because a trace
says its trace clock only once it has been read. Where the file goes, under which temporary name,
and on which thread it is written, is the verb's to say (`convert.py`).
"""

from __future__ import annotations

import base64
import contextlib
import secrets
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import BinaryIO, Final, Protocol

import pyarrow as pa

from tracetime.errors import UsageError

ROW_GROUP_ROWS: Final = 131_072
"""Rows of one Parquet row group: few enough to hold in memory, enough to scan fast."""

METADATA_MAX_BYTES: Final = 96
"""The longest metadata value an Arrow file has room for; a written ClockId takes 57 at most."""


class TableWriter(Protocol):
    """A table file being written to `path`.

    Args:
        path: the file, which is made or overwritten.
        schema: of every batch to come.
        keys: of the metadata that `finish` will be given.
    """

    def __init__(self, path: Path, schema: pa.Schema, keys: Collection[str]) -> None: ...

    def write(self, batch: pa.RecordBatch) -> None:
        """Append `batch`. A dictionary is the same in every batch, as Arrow files ask for."""

    def finish(self, metadata: Mapping[str, str]) -> None:
        """Write what is left, put `metadata` into the file's own, and close it."""

    def abandon(self) -> None:
        """Let go of a file that will not be finished. May follow any failure."""


def table_writer(path: Path) -> type[TableWriter]:
    """Return the writer for the ending of `path`: .parquet, .arrow or .csv, in any case.

    Raises:
        UsageError: another ending.
    """
    writer = _WRITERS.get(path.suffix.lower())
    if writer is None:
        endings = ", ".join(_WRITERS)
        raise UsageError(f"cannot tell the format of {str(path)!r}: let it end in one of {endings}")
    return writer


class ParquetTable:
    """Parquet: zstd, delta encodings for what grows, dictionaries for what repeats."""

    _DELTA: Final = frozenset(
        {"packet", "item", "timestamp", "trace_time", "earliest", "latest", "to_time", "offset"}
    )
    # Statistics pay where somebody filters by range; elsewhere they are only bytes.
    _STATISTICS: Final = ("packet", "timestamp", "trace_time", "to_time")

    def __init__(self, path: Path, schema: pa.Schema, keys: Collection[str]) -> None:
        import pyarrow.parquet as pq

        self._schema = schema
        delta = [name for name in schema.names if name in self._DELTA]
        self._writer = pq.ParquetWriter(
            path,
            schema,
            compression="zstd",
            use_dictionary=[name for name in schema.names if name not in self._DELTA],
            column_encoding=dict.fromkeys(delta, "DELTA_BINARY_PACKED"),
            write_statistics=[name for name in self._STATISTICS if name in schema.names],
        )
        self._waiting: list[pa.RecordBatch] = []
        self._rows = 0

    def write(self, batch: pa.RecordBatch) -> None:
        while self._rows + batch.num_rows >= ROW_GROUP_ROWS:
            room = ROW_GROUP_ROWS - self._rows
            self._waiting.append(batch.slice(0, room))
            batch = batch.slice(room)
            self._write_row_group()
        if batch.num_rows:
            self._waiting.append(batch)
            self._rows += batch.num_rows

    def _write_row_group(self) -> None:
        waiting, self._waiting, self._rows = self._waiting, [], 0
        self._writer.write_table(pa.Table.from_batches(waiting), row_group_size=ROW_GROUP_ROWS)

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

    Its schema, metadata included, stands at the head and again in the footer, and the format has
    no place for late additions. So both are written with stand-ins of the greatest length, which
    make way for the values at the end.
    """

    def __init__(self, path: Path, schema: pa.Schema, keys: Collection[str]) -> None:
        self._path = path
        self._stand_ins = {key: secrets.token_bytes(METADATA_MAX_BYTES // 2).hex() for key in keys}
        metadata = dict(schema.metadata or {}) | self._stand_ins
        self._file = pa.OSFile(str(path), "wb")
        self._writer = pa.ipc.new_file(self._file, schema.with_metadata(metadata))

    def write(self, batch: pa.RecordBatch) -> None:
        self._writer.write_batch(batch)

    def finish(self, metadata: Mapping[str, str]) -> None:
        body = self._file.tell()
        self._writer.close()
        end = self._file.tell()
        self._file.close()
        with self._path.open("r+b") as file:
            # "ARROW1", two bytes of padding, 0xffffffff, the length of the schema's message.
            start = file.read(16)
            head = 16 + int.from_bytes(start[12:], "little")
            self._fill_in(file, 16, head, metadata)
            self._fill_in(file, body, end, metadata)

    def _fill_in(self, file: BinaryIO, start: int, stop: int, metadata: Mapping[str, str]) -> None:
        file.seek(start)
        block = bytearray(file.read(stop - start))
        for key, stand_in in self._stand_ins.items():
            value = metadata[key].encode()
            if len(value) > METADATA_MAX_BYTES:
                raise UsageError(f"metadata {key} is longer than {METADATA_MAX_BYTES} bytes")
            at = block.index(stand_in.encode())
            # A FlatBuffers string: its length as uint32, its bytes, a zero. Shortening it in
            # place leaves unused bytes behind, which nothing refers to.
            block[at - 4 : at] = len(value).to_bytes(4, "little")
            block[at : at + METADATA_MAX_BYTES] = value.ljust(METADATA_MAX_BYTES, b"\0")
        file.seek(start)
        file.write(block)

    def abandon(self) -> None:
        for part in (self._writer, self._file):
            with contextlib.suppress(Exception):
                part.close()


class CsvTable:
    """CSV with a header line; a null is an empty field. The format has no place for metadata."""

    def __init__(self, path: Path, schema: pa.Schema, keys: Collection[str]) -> None:
        import pyarrow.csv as csv

        self._schema = pa.schema([(field.name, _plain(field.type)) for field in schema])
        options = csv.WriteOptions(quoting_style="none", quoting_header="none")
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


def _plain(kind: pa.DataType) -> pa.DataType:
    return kind.value_type if pa.types.is_dictionary(kind) else kind


_WRITERS: Final[Mapping[str, type[TableWriter]]] = {
    ".parquet": ParquetTable,
    ".arrow": ArrowTable,
    ".csv": CsvTable,
}
