from typing import Any, Self

import numpy.typing as npt

TEXTS: tuple[str, ...]

class Batch:
    """The rows that are not yet taken; seed: of the hashes of their strings."""

    def __new__(cls, seed: int) -> Self: ...
    def take(self, n: int) -> dict[str, npt.NDArray[Any]]: ...
