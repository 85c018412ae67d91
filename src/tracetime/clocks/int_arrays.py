"""Whole numbers as callers give them: the types of arrays, and the check of one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Protocol, SupportsIndex, TypeAlias

import numpy as np
import numpy.typing as npt

from tracetime.errors import UsageError

_INT64_MAX: Final = (1 << 63) - 1


class SupportsIntArray(Protocol):
    """A column of another library that NumPy reads as whole numbers: of Arrow, pandas, polars."""

    def __len__(self) -> int: ...

    def __array__(self) -> npt.NDArray[np.integer[Any]]: ...


IntArray: TypeAlias = Sequence[SupportsIndex] | npt.NDArray[np.integer[Any]] | SupportsIntArray
"""Whole numbers within int64: a list, or a 1-d array of NumPy or another library."""


def check_int64(array: npt.NDArray[Any], many: str, one: str) -> None:
    """Raise UsageError for an array that is not a row of whole numbers within int64.

    many, one: what the message calls the numbers, and a single one.
    """
    if array.ndim != 1:
        raise UsageError(f"an array of {many} has one dimension, not {array.ndim}")
    if array.dtype.kind not in "iu":
        raise UsageError(f"{many} are whole numbers (int64), not {array.dtype}")
    if array.dtype == np.uint64 and array.size and int(array.max()) > _INT64_MAX:
        raise UsageError(f"{one} {int(array.max())} does not fit in int64")


def is_any_of(codes: npt.NDArray[np.integer[Any]], some: Sequence[int]) -> npt.NDArray[np.bool_]:
    """A mask of the codes, of any shape, that are among a few.

    np.isin makes a table of them at every call: with three it takes ten times as long.
    """
    found: npt.NDArray[np.bool_] = codes == some[0]
    for code in some[1:]:
        found |= codes == code
    return found
