from typing import Self

import numpy as np
import numpy.typing as npt

class Strings:
    """Strings by number, in order of appearance.

    seed: of their hashes. limit: bytes they may take; what comes later has no number (`NO_NAME`),
    and is counted as `left_out`.
    """

    left_out: int

    def __new__(cls, seed: int, limit: int) -> Self: ...
    def __len__(self) -> int: ...
    def add(self, text: str) -> int: ...
    def arrays(self) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.uint8]]: ...
