from typing import Self

import numpy as np
import numpy.typing as npt

class Sequences:
    kept: int
    reversed: int

    def __new__(cls, seed: int) -> Self: ...
    def keep(
        self,
        which: npt.NDArray[np.uint8],
        machine: npt.NDArray[np.uint32],
        sequence: npt.NDArray[np.uint32],
        floor: npt.NDArray[np.int64],
        latest: npt.NDArray[np.int64],
        estimate: npt.NDArray[np.int64],
    ) -> None: ...
