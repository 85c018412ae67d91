from collections.abc import Sequence
from typing import Self

import numpy as np
import numpy.typing as npt

from tracetime._kernels.perfetto.importer import PacketObserver
from tracetime._kernels.slices import Processes, Slices, SliceTables, Strings, Tracks

class TrackTree:
    """The tracks of a trace by machine and uuid.

    limit: bytes that descriptors may take; what comes later is not kept, but counted as `left_out`.
    """

    left_out: int

    def __new__(
        cls, seed: int, strings: Strings, processes: Processes, tracks: Tracks, limit: int
    ) -> Self: ...

class SliceLog:
    """The entries of a trace, and the tables that they become.

    process_names, thread_names: by Chrome's types, "" for none. names_limit: bytes that strings may
    take, and once more interned data, and descriptors. limit: of entries; what comes later is
    counted as `left_out`. args_limit: bytes of debug annotations to keep; 0: none are read.
    """

    tables: SliceTables
    strings: Strings
    processes: Processes
    tracks: Tracks
    slices: Slices
    left_out: int
    names_left_out: int

    def __new__(
        cls,
        process_names: Sequence[str],
        thread_names: Sequence[str],
        names_limit: int,
        limit: int,
        args_limit: int,
    ) -> Self: ...
    def __len__(self) -> int: ...
    def next_batch(self, rows: int) -> None: ...
    def order(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32], int]: ...
    def rows(self, start: int) -> npt.NDArray[np.int64]: ...
    def durations(self, start: int) -> npt.NDArray[np.int64]: ...
    def args_of(
        self, begin: npt.NDArray[np.int32], end: npt.NDArray[np.int32], most: int
    ) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.int32], npt.NDArray[np.uint8]]: ...

class SliceReader(PacketObserver):
    """Adds each packet that an importer reads to a log."""

    log: SliceLog

    def __new__(cls, log: SliceLog) -> Self: ...

def replay(log: SliceLog, order: npt.NDArray[np.int32], n_machines: int) -> None: ...
