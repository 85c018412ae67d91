from typing import Any, Self

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
    flows: FlowLog

    def __new__(cls, limit: int) -> Self: ...
    def readings(self) -> npt.NDArray[np.int64]: ...
    def signs_found(self) -> npt.NDArray[np.int64]: ...
    def firsts_found(self) -> npt.NDArray[np.int64]: ...

class FlowLog(PacketObserver):
    """The track events of a file that are part of flows."""

    left_out: int

    def __new__(cls, limit: int) -> Self: ...
    def take(
        self, batch_rows: int
    ) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.int64], npt.NDArray[np.int64]]: ...

class CarriedLog(PacketObserver):
    """What the packets of a file carry of its sources, and the packets between them.

    Attributes:
        heads: those of the graph.
        packets: the numbers of the packets that end blocks.
        blocks: what each of these carries.
        groups: of the rows of each block, int64[3, n]: the key of the group, rows, sum of times.
        sealed: whether each block is as it was written.
    """

    heads: list[bytes]
    packets: list[int]
    blocks: list[bytes]
    groups: list[npt.NDArray[np.int64]]
    sealed: list[bool]

    def __new__(cls) -> Self: ...
    def finish(self) -> npt.NDArray[np.int64]: ...

def sum_of_times(times: npt.NDArray[np.int64]) -> int: ...
def knot_offsets(
    knots: tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int64]],
    clock: npt.NDArray[np.int64],
    times: npt.NDArray[np.int64],
) -> npt.NDArray[np.int64]: ...
def from_planes(planes: npt.NDArray[np.uint8]) -> npt.NDArray[np.int64]: ...
def places_in_groups(
    keys: npt.NDArray[np.int64],
    free_places: npt.NDArray[np.int64],
    ends: npt.NDArray[np.int64],
    columns: dict[str, npt.NDArray[Any]],
    begin: int,
    end: int,
) -> npt.NDArray[np.int64]: ...
