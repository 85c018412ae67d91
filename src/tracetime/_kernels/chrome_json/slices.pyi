from typing import Self

import numpy as np
import numpy.typing as npt

from tracetime._kernels.chrome_json.reader import EventObserver
from tracetime._kernels.slices import Flows, SliceTables, Strings

class JsonSliceLog(EventObserver):
    """The events and lines of a file that make slices, or name threads and processes.

    names_limit: bytes that strings may take, and once more the names that events give. limit: of
    entries; what comes later is counted as `left_out`. args_limit: bytes of arguments to keep; 0:
    none are read. flows: whether the events of flows are kept, too.

    Attributes:
        untimed: events without a time that trace_processor takes.
        n_moved: entries whose time or duration trace_processor rounds.
    """

    strings: Strings
    left_out: int
    names_left_out: int
    untimed: int
    n_moved: int

    def __new__(
        cls, names_limit: int, limit: int, args_limit: int, flows: bool = False
    ) -> Self: ...
    def __len__(self) -> int: ...
    def order(self, exact: bool) -> npt.NDArray[np.int32]: ...
    def times(
        self,
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.uint8]]: ...
    def device_pids(self) -> npt.NDArray[np.int64]: ...
    def move(self, by_ns: npt.NDArray[np.int64]) -> None: ...
    def args_of(
        self, begin: npt.NDArray[np.int32], end: npt.NDArray[np.int32], most: int
    ) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.int32], npt.NDArray[np.uint8]]: ...

def replay(
    log: JsonSliceLog,
    to: SliceTables,
    order: npt.NDArray[np.int32],
    exact: bool,
    flows: Flows | None = None,
) -> npt.NDArray[np.int32]: ...

class Replay:
    """One replay of a log."""
