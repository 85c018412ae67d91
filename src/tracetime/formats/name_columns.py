"""The columns of names that every format gives, from Arrow columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tracetime._kernels.common.columns import texts
from tracetime.columns.arrays import values_of
from tracetime.trace.events_table import (
    HAS_ARGS,
    HAS_CPU,
    HAS_PID,
    HAS_TID,
    HAS_TRACK,
    HAS_VALUE,
    TEXTS,
    Columns,
)

# Columns of text, of what kernels copy out of a file.

LONGEST_TEXT: Final = 8192
"""Bytes of a name that are kept, as of Perfetto's."""


def texts_at(data: bytes, starts: npt.NDArray[np.int64], ends: npt.NDArray[np.int64]) -> pa.Array:
    """Return the texts at places of data, null where a start is -1, as valid UTF-8."""
    where, text = texts(data, starts, ends, LONGEST_TEXT)
    return joined_texts(where, text, starts < 0)


def joined_texts(
    ends: npt.NDArray[np.int32],
    text: npt.NDArray[np.uint8],
    missing: npt.NDArray[np.bool_] | None = None,
) -> pa.Array:
    """Return texts that lie one after another as a column, null where `missing`."""
    offsets = pa.py_buffer(np.concatenate([np.zeros(1, np.int32), ends]))
    mask = None
    if missing is not None and missing.any():
        mask = pa.py_buffer(np.packbits(~missing, bitorder="little"))
    return pa.Array.from_buffers(pa.string(), len(ends), [mask, offsets, pa.py_buffer(text)])


_NUMBERS: Final = {
    "value": (np.float64, HAS_VALUE),
    "track": (np.uint64, HAS_TRACK),
    "cpu": (np.int32, HAS_CPU),
    "pid": (np.int32, HAS_PID),
    "tid": (np.int64, HAS_TID),
}
NO_TYPE: Final = np.int8(-1)
"""The type of a row that has none; else it is an index of `events_table.TYPES`."""


def name_columns(names: Mapping[str, pa.Array], rows: int) -> Columns:
    """Return the columns of names of so many rows.

    Args:
        names: by column of `NAMES_SCHEMA`, nulls where a row has none; columns that are not there
            are null. Texts are of type string, large_string, or a dictionary of either; type is
            int8, an index of `TYPES`; the others have the type of the schema.
        rows: how many the rows are.
    """
    columns: Columns = {"has": np.zeros(rows, np.uint8)}
    for name in TEXTS:
        _add_text(columns, name, names.get(name), rows)
    columns["type"] = np.full(rows, NO_TYPE, np.int8)
    if "type" in names:
        values, missing = values_of(names["type"])
        columns["type"] = values if missing is None else np.where(missing, NO_TYPE, values)
        columns["type"] = columns["type"].astype(np.int8)
    for name, (dtype, bit) in _NUMBERS.items():
        columns[name] = np.zeros(rows, dtype)
        if name in names:
            values, missing = values_of(names[name])
            columns[name] = values.astype(dtype, copy=False)
            has = np.uint8(bit)
            columns["has"] |= has if missing is None else np.where(missing, np.uint8(0), has)
    _add_args(columns, names.get("args"), rows)
    return columns


def _add_text(columns: Columns, name: str, texts: pa.Array | None, rows: int) -> None:
    """A column of texts, each once: codes, and where the text of each code ends."""
    if texts is None:
        texts = pa.nulls(rows, pa.string())
    if not pa.types.is_dictionary(texts.type):
        texts = texts.dictionary_encode()
    if texts.null_count == rows:
        codes, missing = np.full(rows, -1), None
    else:
        codes, missing = values_of(texts.indices)
    ends, text = _text(texts.dictionary)
    columns[name] = (codes if missing is None else np.where(missing, -1, codes)).astype(np.int32)
    columns[f"{name}:ends"], columns[f"{name}:text"] = ends, text


def _add_args(columns: Columns, args: pa.Array | None, rows: int) -> None:
    """A text of its own for each row."""
    if args is None:
        args = pa.nulls(rows, pa.string())
    validity = args.buffers()[0]
    if args.null_count == 0:
        columns["has"] |= np.uint8(HAS_ARGS)
    elif validity is not None:
        bits = np.unpackbits(np.frombuffer(validity, np.uint8), bitorder="little")
        known = bits[args.offset : args.offset + rows] == 1
        columns["has"][known] |= np.uint8(HAS_ARGS)
    columns["args:ends"], columns["args:text"] = _text(args)


def _text(texts: pa.Array) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.uint8]]:
    """The end of each text, and all texts one after another."""
    if texts.type != pa.string():
        texts = texts.cast(pa.string())
    n = len(texts)
    if n == 0 or texts.null_count == n:
        return np.zeros(n, np.int32), np.empty(0, np.uint8)
    _, offsets, data = texts.buffers()
    ends = np.frombuffer(offsets, np.int32, n + 1, texts.offset * 4)
    text = np.empty(0, np.uint8) if data is None else np.frombuffer(data, np.uint8)
    return ends[1:] - ends[0], text[ends[0] : ends[-1]]
