"""Tables of other libraries, as Arrow reads them: through the Arrow PyCapsule interface.

https://arrow.apache.org/docs/format/CDataInterface/PyCapsuleInterface.html
"""

from __future__ import annotations

from typing import Protocol

import pyarrow as pa

from tracetime.errors import UsageError


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
