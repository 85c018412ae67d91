from typing import Self

import numpy as np
import numpy.typing as npt

from tracetime._kernels.perfetto.importer import PacketObserver

class LateWakings:
    """Switches to threads whose waking is stamped later, in the ftrace events of a file."""

    left_out: int

    def __new__(cls) -> Self: ...
    def table(self) -> npt.NDArray[np.int64]: ...

class SnapshotLog(PacketObserver):
    """Every ClockSnapshot of a file, taken or not, and where recorders begin to write."""

    left_out: int
    late_wakings: LateWakings

    def __new__(cls, limit: int) -> Self: ...
    def readings(self) -> npt.NDArray[np.int64]: ...
    def signs_found(self) -> npt.NDArray[np.int64]: ...

class FlowLog(PacketObserver):
    """The track events of a file that are part of flows."""

    left_out: int

    def __new__(cls, limit: int) -> Self: ...
    def next_batch(self, rows: int) -> None: ...
    def take(
        self,
    ) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.int64], npt.NDArray[np.int64]]: ...

class CarriedLog(PacketObserver):
    """What the packets of a file carry of its sources, and the numbers of these packets."""

    packets: list[int]
    contents: list[bytes]

    def __new__(cls) -> Self: ...
