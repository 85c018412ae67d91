"""Tables of other libraries, as Arrow reads them: through the Arrow PyCapsule interface.

https://arrow.apache.org/docs/format/CDataInterface/PyCapsuleInterface.html
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import pyarrow as pa

from tracetime.errors import UsageError
from tracetime.text import did_you_mean, printable


class SupportsArrowStream(Protocol):
    """A table, frame, relation or reader that gives its batches to Arrow."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object: ...


def batches_of(table: SupportsArrowStream) -> pa.RecordBatchReader:
    """Return the batches of a table; a reader is read as it is.

    Raises:
        UsageError: it is no table.
    """
    if isinstance(table, pa.RecordBatchReader):
        return table
    if not hasattr(table, "__arrow_c_stream__"):
        raise UsageError(
            f"cannot read a {type(table).__name__} as a table: give one of pyarrow, pandas (2.2 or "
            "later), polars or DuckDB"
        )
    return pa.RecordBatchReader.from_stream(table)


def check_column(name: str, names: Sequence[str]) -> None:
    """Check that a table has one column of a name.

    Raises:
        UsageError: it has none, or several.
    """
    found = names.count(name)
    if found > 1:
        raise UsageError(f"there are {found} columns {printable(name)!r}")
    if not found:
        near = did_you_mean(name, names)
        known = ", ".join(printable(one, 30) for one in names[:20])
        raise UsageError(f"there is no column {printable(name)!r}{near or f'; it has {known}'}")
