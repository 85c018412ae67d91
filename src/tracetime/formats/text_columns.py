"""Columns of text, of what kernels copy out of a file."""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tracetime._kernels.common.columns import texts

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
