"""Arrays of NumPy as arrays of Arrow and back, in the same memory.

Not by `pyarrow.array` or `fill_null`: the first call of either imports pandas where it is
installed, which takes as long as converting a trace of 30 MB.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa


def arrow_of(values: npt.NDArray[Any], missing: npt.NDArray[np.bool_] | None = None) -> pa.Array:
    """Return numbers as an Arrow array, null where `missing`."""
    return pa.Array.from_buffers(
        pa.from_numpy_dtype(values.dtype),
        len(values),
        [None if missing is None else _validity(missing), pa.py_buffer(values)],
    )


def texts_of(texts: Iterable[str | None]) -> pa.Array:
    """Return strings as an Arrow array, null where there is none."""
    known = [*texts]
    encoded = [(text or "").encode() for text in known]
    ends = np.cumsum([0, *map(len, encoded)], dtype=np.int32)
    missing = np.array([text is None for text in known], np.bool_)
    return pa.Array.from_buffers(
        pa.string(),
        len(encoded),
        [_validity(missing), pa.py_buffer(ends), pa.py_buffer(b"".join(encoded))],
    )


def _validity(missing: npt.NDArray[np.bool_]) -> pa.Buffer | None:
    """The bits of what is not missing; None where nothing is."""
    if not missing.any():
        return None
    return pa.py_buffer(np.packbits(~missing, bitorder="little"))


def values_of(array: pa.Array) -> tuple[npt.NDArray[Any], npt.NDArray[np.bool_] | None]:
    """Return the values of an Arrow array of numbers, and which are null (None where none is).

    The value of a null is undefined.
    """
    validity, data = array.buffers()
    dtype = np.dtype(array.type.to_pandas_dtype())
    n, first = len(array), array.offset
    if data is None or not n:
        return np.empty(0, dtype), None
    values = np.frombuffer(data, dtype, n, first * dtype.itemsize)
    if validity is None or not array.null_count:
        return values, None
    bits = np.unpackbits(np.frombuffer(validity, np.uint8), bitorder="little")
    return values, bits[first : first + n] == 0


def known_of(array: pa.Array) -> tuple[npt.NDArray[Any], npt.NDArray[np.bool_]]:
    """The values of an Arrow array of numbers, and which are not null."""
    values, missing = values_of(array)
    return values, np.ones(len(values), dtype=bool) if missing is None else ~missing
