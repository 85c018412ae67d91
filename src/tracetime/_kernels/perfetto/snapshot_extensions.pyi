from typing import Self

import numpy as np
import numpy.typing as npt

from tracetime._kernels.graph import Engine

class SnapshotExtensions:
    """What tracetime recorded of snapshots, in addition to Perfetto's fields."""

    declared: dict[tuple[int, int, int, int], bytes]
    boots: dict[int, bytes]
    suspended: dict[int, int]
    events_dropped: int
    dropped_packet: int
    baked: int

    def __new__(cls, file: int) -> Self: ...
    def kernel_clock(self) -> npt.NDArray[np.int64]: ...
    def wall_bounds(self) -> npt.NDArray[np.int64]: ...
    def measured(
        self, engine: Engine
    ) -> dict[
        tuple[int, int, int, int],
        tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int64]],
    ]: ...
