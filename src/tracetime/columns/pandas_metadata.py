"""Metadata of a schema that keep whole numbers whole in pandas.

pandas reads a column of integers with nulls as floats, and rounds those beyond 2^53, unless the
schema's metadata name an extension type. The format of the metadata:
https://pandas.pydata.org/docs/development/developer.html#storing-pandas-dataframe-objects-in-apache-parquet-format
"""

from __future__ import annotations

import json
from typing import Any, Final

import pyarrow as pa

_KEY: Final = b"pandas"


def exact_in_pandas(schema: pa.Schema) -> pa.Schema:
    """Return `schema` with metadata that make its columns of integers Int64, UInt64, ... in pandas.

    Columns without nulls are integers of NumPy anyway. What pandas wrote of its own columns and of
    its index stays. pandas itself is not needed.
    """
    metadata = _written(schema)
    known = {column["field_name"] for column in metadata["columns"]}
    metadata["columns"] += [
        _column(field)
        for field in schema
        if field.nullable and pa.types.is_integer(field.type) and field.name not in known
    ]
    return schema.with_metadata({**(schema.metadata or {}), _KEY: json.dumps(metadata)})


def _written(schema: pa.Schema) -> dict[str, Any]:
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
