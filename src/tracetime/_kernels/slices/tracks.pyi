from typing import Self

import numpy as np
import numpy.typing as npt

class Tracks:
    """Tracks by number, in order of appearance. seed: of the hashes of their keys."""

    def __new__(cls, seed: int) -> Self: ...
    def columns(
        self,
    ) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32], npt.NDArray[np.int32]]: ...
