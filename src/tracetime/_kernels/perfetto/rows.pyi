from typing import Any

import numpy.typing as npt

from tracetime._kernels.perfetto.names import Names

class Rows:
    """Columns with room for `capacity` rows, doubled when full."""

    names: Names | None

    def __init__(self, capacity: int) -> None: ...
    def __len__(self) -> int: ...
    def take(self) -> dict[str, npt.NDArray[Any]]: ...
