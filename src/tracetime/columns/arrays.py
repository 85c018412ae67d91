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

# The median and other quantiles of some numbers.
#
# NumPy's give the same, but import numpy.ma at their first call: a twentieth of a short command.


def median(values: npt.NDArray[Any]) -> float:
    """The median of float64 or int64[n >= 1]; with an even n, the mean of the middle two."""
    ordered = np.sort(values)
    n = len(ordered)
    low, high = ordered[(n - 1) // 2].item(), ordered[n // 2].item()
    return (float(low) + float(high)) / 2


def medians(
    values: npt.NDArray[np.float64], group: npt.NDArray[np.int64], n: int
) -> npt.NDArray[np.float64]:
    """The median of each of n groups, float64[n]; 0 of an empty one.

    group: int64, of each value, from 0 to n - 1.
    """
    ordered = np.append(values[np.lexsort((values, group))], 0.0)
    counts = np.bincount(group, minlength=n)
    first = np.cumsum(counts) - counts
    low, high = first + np.maximum(counts - 1, 0) // 2, first + counts // 2
    return np.where(counts > 0, (ordered[low] + ordered[high]) / 2, 0.0)


def quantile(values: npt.NDArray[np.float64], share: float) -> float:
    """The quantile of float64[n >= 1] at `share`, from 0 to 1; linear between two values."""
    ordered = np.sort(values)
    at, between = divmod(share * (len(ordered) - 1), 1)
    low, high = ordered[int(at)], ordered[min(int(at) + 1, len(ordered) - 1)]
    # From the nearer end, so that it never passes the other by rounding.
    if between < 0.5:
        return float(low + (high - low) * between)
    return float(high - (high - low) * (1 - between))


def arrow_of(values: npt.NDArray[Any], missing: npt.NDArray[np.bool_] | None = None) -> pa.Array:
    """Return numbers as an Arrow array, null where `missing`."""
    return pa.Array.from_buffers(
        pa.from_numpy_dtype(values.dtype),
        len(values),
        [None if missing is None else _validity(missing), pa.py_buffer(values)],
    )


def texts_of(texts: Iterable[str | None]) -> pa.Array:
    """Return strings as an Arrow array, null where there is none."""
    given = [*texts]
    known = [text or "" for text in given]
    validity = None
    if None in given:
        validity = _validity(np.array([text is None for text in given], np.bool_))
    joined = "".join(known)
    lengths = map(len, known if joined.isascii() else (text.encode() for text in known))
    return pa.Array.from_buffers(
        pa.string(),
        len(known),
        [validity, pa.py_buffer(ends_of(lengths, len(known))), pa.py_buffer(joined.encode())],
    )


def ends_of(lengths: Iterable[int], count: int) -> npt.NDArray[np.int32]:
    """Return where texts of so many lengths begin and end, one after another, as Arrow has it."""
    ends = np.zeros(count + 1, np.int32)
    np.cumsum(np.fromiter(lengths, np.int32, count), out=ends[1:])
    return ends


def _validity(missing: npt.NDArray[np.bool_]) -> pa.Buffer | None:
    """The bits of the values that are not missing; None where none is."""
    if not missing.any():
        return None
    return pa.py_buffer(np.packbits(~missing, bitorder="little"))


def values_of(array: pa.Array) -> tuple[npt.NDArray[Any], npt.NDArray[np.bool_] | None]:
    """Return the values of an Arrow array of numbers, and a mask of nulls (None without any).

    The value of a null is undefined.
    """
    validity, data = array.buffers()
    # Arrow's own `to_pandas_dtype` needs pandas.
    kind = "f" if pa.types.is_floating(array.type) else "i"
    kind = "u" if pa.types.is_unsigned_integer(array.type) else kind
    dtype = np.dtype(f"{kind}{array.type.byte_width}")
    n, first = len(array), array.offset
    if data is None or not n:
        return np.empty(0, dtype), None
    values = np.frombuffer(data, dtype, n, first * dtype.itemsize)
    if validity is None or not array.null_count:
        return values, None
    bits = np.unpackbits(np.frombuffer(validity, np.uint8), bitorder="little")
    return values, bits[first : first + n] == 0


def known_of(array: pa.Array) -> tuple[npt.NDArray[Any], npt.NDArray[np.bool_]]:
    """The values of an Arrow array of numbers, and a mask of those that are not null."""
    values, missing = values_of(array)
    return values, np.ones(len(values), dtype=bool) if missing is None else ~missing
