"""Table files as batches of Arrow: Parquet, Arrow files and streams, and CSV, by their first bytes.

Their bytes are hostile: what a file declares is checked before it is read, and what comes out of it
before it is used.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Protocol

import pyarrow as pa

from tracetime.errors import TraceError
from tracetime.formats.table.layouts import ARROW_FILE, ARROW_STREAM, PARQUET, delimiter_of
from tracetime.formats.trace_file import Budget, TraceFile
from tracetime.text import printable
from tracetime.trace.open_options import MAX_EXPANSION

_MOST_COLUMNS: Final = 10_000
_MOST_ROWS: Final = 131_072
_LEAST_ROWS: Final = 64
_BATCH_BYTES: Final = 1 << 23
"""Rows that are read at once: so many, or fewer where they are wide."""

_BUFFER: Final = 1 << 16
"""Bytes that are read ahead of each column of Parquet."""

_CSV_BLOCK: Final = 1 << 20
_MOST_EXPANSION: Final = 1000
"""Bytes of columns for a byte of a file, where that is more than `MAX_EXPANSION`: what repeats is
stored once."""

_LEAST_MESSAGE: Final = 1 << 28
_MESSAGE_EXPANSION: Final = 20
"""Bytes of one message of a stream: so many, or so many times the file."""

_REFUSALS: Final = (pa.ArrowException, OSError, MemoryError, ValueError, IndexError, OverflowError)
"""What Arrow raises for a damaged file."""


class StoredTable(Protocol):
    """A table in a file.

    Attributes:
        schema: of its columns.
    """

    schema: pa.Schema

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        """Read the table from its start; columns: their names, which are unique, by default all."""


@contextlib.contextmanager
def stored_table(
    file: TraceFile,
    max_expansion: int = MAX_EXPANSION,
    typed: Collection[str] | None = None,
    known: Mapping[str, pa.DataType] | None = None,
) -> Iterator[StoredTable]:
    """Open a table; only what Parquet and Arrow say of themselves is read at once.

    Args:
        file: plain or compressed; it stays open.
        max_expansion: how many bytes decompression may yield.
        typed: of CSV, the columns whose types are inferred, by default all; the others stay text as
            it is written.
        known: of CSV, the types of columns that are not inferred; a text that is empty and not
            quoted is then null. Texts of Parquet are dictionaries then.

    Raises:
        TraceError: it is no table, or damaged; also while batches are read.
    """
    beginning = file.beginning(8)
    with contextlib.ExitStack() as stack:
        with errors_of(file.path):
            if beginning.startswith((PARQUET, ARROW_FILE)):
                content: Any = _Anywhere(file)
                if file.compressed:
                    content = file.uncompressed(Budget(max_expansion), partial=False)
                    stack.callback(content.close)
                parquet = beginning.startswith(PARQUET)
                table: StoredTable
                table = _Parquet(content, known is not None) if parquet else _ArrowFile(content)
            elif beginning.startswith(ARROW_STREAM):
                table = _ArrowStream(file, max_expansion)
            else:
                table = _Csv(file, max_expansion, typed, known)
                stack.callback(table.close)
            # Names that are no UTF-8 fail here.
            _check_columns(len(table.schema.names))
        yield _CheckedFile(table, file, max_expansion)


class _CheckedFile:
    """A table whose batches are valid, and not much larger than its file."""

    def __init__(self, table: StoredTable, file: TraceFile, max_expansion: int) -> None:
        self.schema = table.schema
        self._table = table
        self._path = file.path
        self._most_bytes = max(max_expansion, file.size * _MOST_EXPANSION)

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        with errors_of(self._path):
            yield from _join_batches(self._sound(columns))

    def _sound(self, columns: Sequence[str] | None) -> Iterator[pa.RecordBatch]:
        budget = Budget(self._most_bytes)
        for batch in self._table.batches(columns):
            # First of all: what Arrow does with offsets that lead astray is a crash.
            batch.validate(full=True)
            budget.spend(batch.nbytes)
            yield batch


def _join_batches(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The same rows in fewer batches, where they are small: each costs as much as many rows."""
    few: list[pa.RecordBatch] = []
    rows = size = 0
    try:
        for batch in batches:
            if rows + batch.num_rows > _MOST_ROWS or size + batch.nbytes > _BATCH_BYTES:
                yield from _as_one(few)
                few, rows, size = [], 0, 0
            few.append(batch)
            rows, size = rows + batch.num_rows, size + batch.nbytes
    except (TraceError, *_REFUSALS):
        # What comes before the damage.
        yield from _as_one(few)
        raise
    yield from _as_one(few)


def _as_one(batches: list[pa.RecordBatch]) -> list[pa.RecordBatch]:
    if len(batches) < 2:
        return batches
    joined: list[pa.RecordBatch] = pa.Table.from_batches(batches).combine_chunks().to_batches()
    return joined


class _Parquet:
    """A Parquet file; encoded: texts stay dictionaries, as a long one may stand for many rows."""

    def __init__(self, content: Any, encoded: bool) -> None:
        import pyarrow.parquet as pq

        # Else all of the file is read ahead, and stays, and all of a row group's columns.
        facts = pq.read_metadata(pa.PythonFile(content, "r"))
        _check_columns(facts.num_columns)
        groups = [facts.row_group(n) for n in range(facts.num_row_groups)]
        if facts.num_rows != sum(group.num_rows for group in groups):
            raise pa.ArrowInvalid("its row groups have another number of rows than it says")
        schema = facts.schema.to_arrow_schema()
        texts = [field.name for field in schema if pa.types.is_string(field.type)]
        self._file = pq.ParquetFile(
            pa.PythonFile(content, "r"),
            metadata=facts,
            pre_buffer=False,
            buffer_size=_BUFFER,
            read_dictionary=texts if encoded else None,
        )
        self.schema = self._file.schema_arrow
        self._groups = [(group.num_rows, group.total_byte_size) for group in groups]

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        for number, (rows, size) in enumerate(self._groups):
            if rows:
                at_once = min(_BATCH_BYTES * rows // max(size, 1), _MOST_ROWS)
                found = self._file.iter_batches(
                    max(at_once, _LEAST_ROWS), row_groups=[number], columns=columns
                )
                yield from _select_columns(found, columns)


class _ArrowFile:
    def __init__(self, content: Any) -> None:
        self._content = content
        self.schema = pa.ipc.open_file(pa.PythonFile(content, "r")).schema

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        self._content.seek(0)
        arrow = pa.ipc.open_file(
            pa.PythonFile(self._content, "r"), options=_included(self.schema, columns)
        )
        every = (arrow.get_batch(number) for number in range(arrow.num_record_batches))
        return _select_columns(every, columns)


class _ArrowStream:
    def __init__(self, file: TraceFile, max_expansion: int) -> None:
        self._file = file
        self._max_expansion = max_expansion
        with contextlib.closing(self._open(None)) as stream:
            self.schema = stream.schema

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        with contextlib.closing(self._open(columns)) as stream:
            yield from _select_columns(stream, columns)

    def _open(self, columns: Sequence[str] | None) -> pa.RecordBatchReader:
        options = None if columns is None else _included(self.schema, columns)
        content = pa.PythonFile(_FromStart(self._file, self._max_expansion), "r")
        return pa.ipc.open_stream(content, options=options)


class _Csv:
    def __init__(
        self,
        file: TraceFile,
        max_expansion: int,
        typed: Collection[str] | None,
        known: Mapping[str, pa.DataType] | None,
    ) -> None:
        self._file = file
        self._max_expansion = max_expansion
        self._streams: list[pa.RecordBatchReader] = []
        self._types: dict[str, pa.DataType] = {}
        self._options: dict[str, Any] = {}
        header = file.beginning(_CSV_BLOCK).partition(b"\n")[0]
        self._delimiter = delimiter_of(header)
        _check_columns(header.count(self._delimiter.encode()) + 1)
        self.schema = self._schema()
        if typed is not None:
            self._types = {name: pa.string() for name in self.schema.names if name not in typed}
        if known is not None:
            self._types = {name: known[name] for name in self.schema.names if name in known}
            self._options = {
                "strings_can_be_null": True,
                "quoted_strings_can_be_null": False,
                "null_values": [""],
            }
        if typed is not None or known is not None:
            self.schema = self._schema()

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        lines = _Lines(self._file, self._max_expansion)
        with contextlib.closing(self._open(columns, lines)) as stream:
            self._streams.append(stream)
            yield from stream
        if lines.error is not None:
            raise lines.error

    def close(self) -> None:
        """Stop what reads ahead, in threads that must not outlive the interpreter."""
        for stream in self._streams:
            stream.close()

    def _schema(self) -> pa.Schema:
        lines = _Lines(self._file, self._max_expansion)
        try:
            with contextlib.closing(self._open(None, lines)) as stream:
                return stream.schema
        except pa.ArrowInvalid as error:
            # Of a file that is damaged at its start, that says more than that it is empty.
            raise lines.error or error from None

    def _open(self, columns: Sequence[str] | None, lines: _Lines) -> pa.RecordBatchReader:
        import pyarrow.csv as csv

        return csv.open_csv(
            pa.PythonFile(lines, "r"),
            read_options=csv.ReadOptions(block_size=_CSV_BLOCK),
            parse_options=csv.ParseOptions(delimiter=self._delimiter),
            convert_options=csv.ConvertOptions(
                column_types=self._types, include_columns=list(columns or ()), **self._options
            ),
            # Arrow's own keeps what reading took, as much again as a table of 10 MB.
            memory_pool=pa.system_memory_pool(),
        )


def _check_columns(columns: int) -> None:
    if columns > _MOST_COLUMNS:
        raise pa.ArrowInvalid(f"it has {columns} columns, and may have {_MOST_COLUMNS}")


def _included(schema: pa.Schema, columns: Sequence[str] | None) -> pa.ipc.IpcReadOptions:
    fields = None if columns is None else [schema.get_field_index(name) for name in columns]
    return pa.ipc.IpcReadOptions(included_fields=fields)


def _select_columns(
    batches: Iterator[pa.RecordBatch], columns: Sequence[str] | None
) -> Iterator[pa.RecordBatch]:
    return batches if columns is None else (batch.select(list(columns)) for batch in batches)


class _Anywhere:
    """A plain file read at any place, by a position of its own."""

    closed = False

    def __init__(self, file: TraceFile) -> None:
        self._file = file
        self._at = 0

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        self._at = offset + {os.SEEK_SET: 0, os.SEEK_CUR: self._at}.get(whence, self._file.size)
        return self._at

    def read(self, n: int) -> bytes:
        # No more than there is: a damaged file asks for any number.
        into = bytearray(max(min(n, self._file.size - self._at), 0))
        done = self._file.read(memoryview(into), self._at)
        self._at += done
        return bytes(into[:done])

    def close(self) -> None:
        """Do nothing: the file belongs to another reader, and stays open."""


class _FromStart:
    """The content of a file, decompressed, from its start on."""

    closed = False

    def __init__(self, file: TraceFile, max_expansion: int) -> None:
        self._pieces = file.chunks(Budget(max_expansion))
        self._left = bytearray()
        self._most = max(_LEAST_MESSAGE, _MESSAGE_EXPANSION * file.size)

    def read(self, n: int) -> bytes:
        # All of it, unless the file ends: Arrow takes less for the end.
        while len(self._left) < min(n, self._most) and (piece := next(self._pieces, (b"", 0))[0]):
            self._left += piece
        if len(self._left) > self._most:
            raise ValueError(f"a message of {n} bytes is too long")
        found = bytes(self._left[:n])
        del self._left[:n]
        return found

    def close(self) -> None:
        """Do nothing: the file belongs to another reader, and stays open."""


class _Lines:
    """The lines of a text file, decompressed, from its start to where it is damaged.

    Arrow reads ahead, and would not give what comes before an error.

    Attributes:
        error: what is damaged; the line that it cuts off is left out.
    """

    closed = False

    def __init__(self, file: TraceFile, max_expansion: int) -> None:
        self.error: TraceError | None = None
        self._pieces = file.chunks(Budget(max_expansion))
        self._left = bytearray()
        self._is_over = False

    def read(self, n: int) -> bytes:
        end = self._end(n)
        while not end and not self._is_over:
            self._read_on()
            end = self._end(n)
        found = bytes(self._left[:end])
        del self._left[:end]
        return found

    def _end(self, n: int) -> int:
        """The length of the part of the rest that can be given."""
        if self._is_over and self.error is None:
            return min(n, len(self._left))
        lines = self._left.rfind(b"\n") + 1
        # A line that is longer than a block is refused.
        return min(n, lines or (len(self._left) if len(self._left) > _CSV_BLOCK else 0))

    def _read_on(self) -> None:
        try:
            piece = next(self._pieces, (b"", 0))[0]
        except TraceError as error:
            self.error = error.with_traceback(None)
            piece = b""
        self._left += piece
        self._is_over = not piece

    def close(self) -> None:
        """Do nothing: the file belongs to another reader, and stays open."""


_LONGEST_LINE: Final = 1 << 20


@contextlib.contextmanager
def errors_of(path: str) -> Iterator[None]:
    """Raise what Arrow says of a damaged file as TraceError."""
    try:
        yield
    except _REFUSALS as error:
        row, at = _not_utf8(path) if "UTF8" in str(error) else (0, None)
        if at is not None:
            raise TraceError(
                f"cannot read {path!r} as a table: line {row} is no UTF-8: save it as UTF-8 (of "
                "Windows and Excel: iconv -f CP1252 -t UTF-8)",
                at,
            ) from error
        why = printable(str(error).partition("\n")[0], 200)
        raise TraceError(
            f"cannot read {path!r} as a table: {why}; it is to be Parquet, Arrow or CSV with a "
            "header"
        ) from error


def _not_utf8(path: str) -> tuple[int, int | None]:
    """The line, from 1, and the first byte of a file that is no UTF-8; (0, None) of others."""
    at = 0
    with contextlib.suppress(OSError), Path(path).open("rb") as file:
        for number, line in enumerate(iter(lambda: file.readline(_LONGEST_LINE), b""), 1):
            try:
                line.decode()
            except UnicodeDecodeError as error:
                return number, at + error.start
            at += len(line)
    return 0, None
