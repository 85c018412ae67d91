"""Results of statements as bytes: CSV, JSON and Parquet, batch by batch."""

from __future__ import annotations

import io
import json
import math
from collections.abc import Mapping
from decimal import Decimal
from typing import IO, Any, Final, Protocol

import pyarrow as pa

from tracetime.atomic_file import file_target, whole_file
from tracetime.errors import UsageError
from tracetime.sql.session import Result
from tracetime.text import json_text


class ResultWriter(Protocol):
    """Writes a result to `out`, which the caller closes."""

    def __init__(self, out: IO[bytes], schema: pa.Schema) -> None: ...

    def write(self, batch: pa.RecordBatch) -> None:
        """Append rows."""

    def finish(self) -> None:
        """Write the end of the output."""


class CsvResult:
    """CSV with a header line. A null is an empty field, an empty string is quoted."""

    def __init__(self, out: IO[bytes], schema: pa.Schema) -> None:
        self._out = out
        self._schema = pa.schema(
            [(c.name, c.type if is_plain(c.type) else pa.string()) for c in schema]
        )
        self._write(self._schema.empty_table().to_batches(), header=True)

    def write(self, batch: pa.RecordBatch) -> None:
        columns = [
            column if is_plain(column.type) else _as_text(column).cast(pa.string())
            for column in batch.columns
        ]
        self._write([pa.RecordBatch.from_arrays(columns, schema=self._schema)], header=False)

    def _write(self, batches: list[pa.RecordBatch], *, header: bool) -> None:
        import pyarrow.csv as csv

        # Through memory, so that errors of `out` are raised unchanged.
        made = io.BytesIO()
        options = csv.WriteOptions(include_header=header, quoting_style="needed")
        csv.write_csv(pa.Table.from_batches(batches, schema=self._schema), made, options)
        self._out.write(made.getvalue())

    def finish(self) -> None:
        pass


class JsonResult:
    """A JSON array with one object on a line for each row; nan and infinity are null."""

    def __init__(self, out: IO[bytes], schema: pa.Schema) -> None:
        self._out = out
        self._lead = "[\n"

    def write(self, batch: pa.RecordBatch) -> None:
        lines = []
        for row in batch.to_pylist():
            lines.append(self._lead + json_text(plain(row)))
            self._lead = ",\n"
        self._out.write("".join(lines).encode())

    def finish(self) -> None:
        self._out.write(b"[]\n" if self._lead == "[\n" else b"\n]\n")


class ParquetResult:
    """Parquet, compressed with zstd."""

    def __init__(self, out: IO[bytes], schema: pa.Schema) -> None:
        import pyarrow.parquet as pq

        if not schema.names:
            raise UsageError("the statement has no result to write")
        self._writer = pq.ParquetWriter(out, schema, compression="zstd")

    def write(self, batch: pa.RecordBatch) -> None:
        self._writer.write_batch(batch)

    def finish(self) -> None:
        self._writer.close()


WRITERS: Final[Mapping[str, type[ResultWriter]]] = {
    "csv": CsvResult,
    "json": JsonResult,
    "parquet": ParquetResult,
}
"""Writers by format; a format is also the ending of its files."""


def save(result: Result, out: str, kind: str) -> int:
    """Write a result to a file, which appears when it is complete; return the number of rows.

    Args:
        out: the file.
        kind: of `WRITERS`.

    Raises:
        UsageError: `out` cannot be written, or is a trace; and any error of reading the result.
    """
    target = file_target(out)
    rows = 0
    try:
        with whole_file(target) as part, part.open("wb") as file:
            writer = WRITERS[kind](file, result.schema)
            for batch in result.batches:
                writer.write(batch)
                rows += batch.num_rows
            writer.finish()
    except pa.ArrowException as error:
        raise UsageError(f"{kind} cannot hold this result: {error}") from error
    return rows


def is_plain(kind: pa.DataType) -> bool:
    """Whether Arrow can write the type to CSV."""
    return not (pa.types.is_nested(kind) or pa.types.is_binary(kind))


def _as_text(column: pa.Array) -> pa.Array:
    return pa.array([None if value is None else text(value) for value in column.to_pylist()])


def text(value: Any) -> str:
    """Return a value of a result as text: numbers and strings as they are, others as JSON."""
    if isinstance(value, str):
        return value
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, Decimal):
        return format(value, "f")
    value = plain(value, finite=False)
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def plain(value: Any, *, finite: bool = True) -> Any:
    """Return a value of a result in the types of JSON.

    Whole numbers stay exact, whatever their size. A decimal that is not a float becomes text. With
    `finite`, nan and infinity become null, as JSON has neither.
    """
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) or not finite else None
    if isinstance(value, Decimal):
        if value == value.to_integral_value():
            return int(value)
        near = float(value)
        return near if Decimal(repr(near)) == value else format(value, "f")
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, dict):
        return {str(key): plain(item, finite=finite) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item, finite=finite) for item in value]
    return str(value)
