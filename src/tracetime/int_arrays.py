"""What callers may give for whole numbers: the types of one, and of an array of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, SupportsIndex, TypeAlias

import numpy as np
import numpy.typing as npt


class SupportsIntArray(Protocol):
    """A column of another library that NumPy reads as whole numbers: of Arrow, pandas, polars."""

    def __len__(self) -> int: ...

    def __array__(self) -> npt.NDArray[np.integer[Any]]: ...


IntArray: TypeAlias = Sequence[SupportsIndex] | npt.NDArray[np.integer[Any]] | SupportsIntArray
"""Whole numbers within int64: a list, or a 1-d array of NumPy or another library."""
