"""Tables of other libraries, as Arrow reads them: through the Arrow PyCapsule interface.

https://arrow.apache.org/docs/format/CDataInterface/PyCapsuleInterface.html
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final, Protocol

import pyarrow as pa

from tracetime.errors import UsageError
from tracetime.text import did_you_mean, printable

CLOCK_KEY: Final = b"tracetime.clock"
"""What the metadata of an Arrow field calls the clock of its times."""

# Metadata of a schema that keep whole numbers whole in pandas.
#
# pandas reads a column of integers with nulls as floats, and rounds those beyond 2^53, unless the
# schema's metadata name an extension type. The format of the metadata:
#
# https://pandas.pydata.org/docs/development/developer.html#storing-pandas-dataframe-objects-in-apache-parquet-format

_KEY: Final = b"pandas"


def exact_in_pandas(schema: pa.Schema) -> pa.Schema:
    """Return `schema` with metadata that make its columns of integers Int64, UInt64, ... in pandas.

    Columns without nulls are integers of NumPy anyway. What pandas wrote of its own columns and of
    its index stays. pandas itself is not needed.
    """
    metadata = _pandas_metadata(schema)
    known = {column["field_name"] for column in metadata["columns"]}
    metadata["columns"] += [
        _column(field)
        for field in schema
        if field.nullable and pa.types.is_integer(field.type) and field.name not in known
    ]
    return schema.with_metadata({**(schema.metadata or {}), _KEY: json.dumps(metadata)})


def _pandas_metadata(schema: pa.Schema) -> dict[str, Any]:
    """The metadata that a schema has, or none where they are not as pandas writes them."""
    try:
        metadata = json.loads((schema.metadata or {})[_KEY])
        if all(isinstance(column["field_name"], str) for column in metadata["columns"]):
            # Labels become texts: what pandas wrote may say that they are numbers, or pairs.
            return {**metadata, "column_indexes": []}
    except (KeyError, TypeError, ValueError):
        pass
    return {"index_columns": [], "column_indexes": [], "columns": []}


def _column(field: pa.Field) -> dict[str, Any]:
    kind = str(field.type)
    return {
        "name": field.name,
        "field_name": field.name,
        "pandas_type": kind,
        "numpy_type": kind.replace("uint", "UInt") if kind[0] == "u" else kind.title(),
        "metadata": None,
    }


class SupportsArrowStream(Protocol):
    """A table, frame, relation or reader that gives its batches to Arrow."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object: ...


_NEXT_STEPS: Final = {
    "LazyFrame": "collect() it first",
    "Series": "it is one column: to_frame() makes a table of it",
    "ChunkedArray": "it is one column: pyarrow.table({name: column}) makes a table of it",
}
"""What makes a table of an object, by the name of its type."""

_REFUSALS: Final = (pa.ArrowException, OSError, TypeError, ValueError, OverflowError)
"""What libraries raise for a table that Arrow does not hold; UnicodeEncodeError is a ValueError."""


def batches_of(table: SupportsArrowStream) -> pa.RecordBatchReader:
    """Return the batches of a table; a reader is read as it is.

    Raises:
        UsageError: it is no table, or has columns that Arrow cannot hold.
    """
    if isinstance(table, pa.RecordBatchReader):
        return table
    kind = type(table).__name__
    if kind in _NEXT_STEPS or not hasattr(table, "__arrow_c_stream__"):
        advice = _NEXT_STEPS.get(
            kind, "give one of pyarrow, pandas (2.2 or later), polars or DuckDB"
        )
        raise UsageError(f"cannot read a {kind} as a table: {advice}")
    try:
        return pa.RecordBatchReader.from_stream(table)
    except _REFUSALS as error:
        why = printable(str(error).partition("\n")[0], 200)
        raise UsageError(
            f"cannot read this {kind} as a table of Arrow: {why}; cast or leave out what Arrow "
            "does not hold, such as whole numbers of 128 bits"
        ) from error


def check_columns_of(columns: object, what: str, values: str) -> None:
    """Check that an argument is a dict by the names of columns.

    Args:
        columns: the argument.
        what, values: its name, and what its values are, for the error.

    Raises:
        UsageError: it is none.
    """
    if not isinstance(columns, Mapping):
        raise UsageError(f"{what} is a {type(columns).__name__}: give a dict, {{column: {values}}}")
    for name in columns:
        check_name(name)


def check_name(name: object) -> None:
    """Check that a column can have a name.

    Raises:
        UsageError: it is no text, or none in UTF-8.
    """
    if not isinstance(name, str):
        raise UsageError(f"the name of a column is a str, not {name!r}")
    try:
        name.encode()
    except UnicodeEncodeError:
        raise UsageError(f"the name {printable(name)!r} cannot be written in UTF-8") from None


def check_column(name: str, names: Sequence[str]) -> None:
    """Check that a table has one column of a name.

    Raises:
        UsageError: it has none, or several.
    """
    check_name(name)
    found = names.count(name)
    if found > 1:
        raise UsageError(f"there are {found} columns {printable(name)!r}: rename all but one")
    if not found:
        near = did_you_mean(name, names)
        known = ", ".join(printable(one, 30) for one in names[:20])
        why = f"there is no column {printable(name)!r}{near or f'; it has {known}'}"
        if len(names) == 1 and (other := _separator(names[0])):
            why += f": in CSV columns are separated by commas, not by {other!r}"
        raise UsageError(why)


def _separator(header: str) -> str:
    """The separator of names in the only column of a header; None without one."""
    return next((one for one in (";", "\t", "|") if one in header), "")
