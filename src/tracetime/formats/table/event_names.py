"""The names of events of a table: its columns that every format has."""

from __future__ import annotations

from typing import Final

import numpy as np
import pyarrow as pa

from tracetime.columns.arrays import arrow_of, values_of
from tracetime.errors import TraceError
from tracetime.formats.name_columns import NO_TYPE
from tracetime.formats.table.row_columns import Rows
from tracetime.trace.events_table import NAMES_SCHEMA, TEXTS, TYPES

NAMES: Final = tuple(NAMES_SCHEMA.names)

_MOST_ARGS: Final = 1 << 28
"""Bytes of arguments in one batch."""

_TYPE_CODES: Final = {name: code for code, name in enumerate(TYPES)}


def names_of(rows: Rows) -> dict[str, pa.Array]:
    """The columns of names of a batch, as `name_columns` takes them; others are left out."""
    names: dict[str, pa.Array] = {}
    for name in NAMES:
        if name not in rows:
            continue
        if name in TEXTS:
            column = rows.text(name)
        elif name == "type":
            codes = rows.codes(name, _TYPE_CODES, int(NO_TYPE)).astype("int8")
            column = arrow_of(codes, codes == NO_TYPE)
        elif name == "args":
            encoded = rows.text(name)
            column = None if encoded is None else _decode(encoded)
        else:
            column = rows.number(name, NAMES_SCHEMA.field(name).type)
        if column is not None:
            names[name] = column
    return names


def _decode(column: pa.DictionaryArray) -> pa.Array:
    """The texts of a column, one for each row.

    Raises:
        TraceError: they are longer than a batch may be.
    """
    lengths = np.array([len(text.as_buffer()) for text in column.dictionary], np.int64)
    indices, missing = values_of(column.indices)
    known = indices if missing is None else indices[~missing]
    if lengths[known].sum() > _MOST_ARGS:
        raise TraceError(f"args have more than {_MOST_ARGS} bytes in {len(column)} rows")
    return column.dictionary_decode().cast(pa.string())
