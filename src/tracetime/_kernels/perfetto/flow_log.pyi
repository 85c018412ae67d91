from typing import Self

import numpy as np
import numpy.typing as npt

from tracetime._kernels.perfetto.observer import PacketObserver

class FlowLog(PacketObserver):
    """The track events of a file that are part of flows."""

    left_out: int

    def __new__(cls, limit: int) -> Self: ...
    def next_batch(self, rows: int) -> None: ...
    def take(
        self,
    ) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.int64], npt.NDArray[np.int64]]: ...
