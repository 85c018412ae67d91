from typing import Any, Self

import numpy as np
import numpy.typing as npt

from tracetime._kernels.perfetto.names import Names

COLUMNS: tuple[tuple[str, type[np.generic]], ...]

class Rows:
    """Columns with room for `capacity` rows, doubled when full."""

    names: Names | None

    def __new__(cls, capacity: int) -> Self: ...
    def __len__(self) -> int: ...
    def take(self) -> dict[str, npt.NDArray[Any]]: ...
    def release(self) -> None: ...
