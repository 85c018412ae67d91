from typing import Self

import numpy as np
import numpy.typing as npt

from tracetime._kernels.perfetto.late_wakings import LateWakings
from tracetime._kernels.perfetto.observer import PacketObserver

class SnapshotLog(PacketObserver):
    """Every ClockSnapshot of a file, taken or not, and where recorders begin to write."""

    left_out: int
    late_wakings: LateWakings

    def __new__(cls, limit: int) -> Self: ...
    def readings(self) -> npt.NDArray[np.int64]: ...
    def signs_found(self) -> npt.NDArray[np.int64]: ...
