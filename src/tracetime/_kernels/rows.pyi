from typing import Any

import numpy.typing as npt

class Rows:
    """Columns with room for `capacity` rows, doubled when full."""

    def __init__(self, capacity: int) -> None: ...
    def __len__(self) -> int: ...
    def take(self) -> dict[str, npt.NDArray[Any]]: ...
