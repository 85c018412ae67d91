from typing import Any, Self

import numpy as np
import numpy.typing as npt

OPERATIONS: tuple[str, ...]

class Slices:
    """Slices by number, in the order in which they began.

    limit: how many there may be; others are counted as `left_out`.
    """

    too_deep: int
    overlapping: int
    unmatched: int
    left_out: int

    @property
    def not_nested(self) -> int:
        """How many slices are left out for their depth, or because they cross others."""

    def __new__(cls, limit: int) -> Self: ...
    def __len__(self) -> int: ...
    def apply(
        self,
        operations: npt.NDArray[np.int8],
        ts: npt.NDArray[np.int64],
        dur: npt.NDArray[np.int64],
        tracks: npt.NDArray[np.int32],
        categories: npt.NDArray[np.int32],
        names: npt.NDArray[np.int32],
    ) -> None: ...
    def columns(self) -> dict[str, npt.NDArray[Any]]: ...
