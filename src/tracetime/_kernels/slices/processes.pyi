from typing import Self

import numpy as np
import numpy.typing as npt

class Processes:
    """Threads and processes by number, in order of appearance. seed: of the hashes of their ids."""

    def __new__(cls, seed: int) -> Self: ...
    def columns(
        self,
    ) -> tuple[
        tuple[npt.NDArray[np.int64], npt.NDArray[np.int32], npt.NDArray[np.int32]],
        tuple[npt.NDArray[np.int64], npt.NDArray[np.int32]],
    ]: ...
