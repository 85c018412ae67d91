from typing import Any, Self

import numpy as np
import numpy.typing as npt

class Strings:
    """Strings by number, in order of appearance.

    seed: of their hashes. limit: bytes they may take; what comes later has no number (`NO_NAME`),
    and is counted as `left_out`.
    """

    left_out: int

    def __new__(cls, seed: int, limit: int) -> Self: ...
    def __len__(self) -> int: ...
    def add(self, text: str) -> int: ...
    def arrays(self) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.uint8]]: ...

class Processes:
    """Threads and processes by number, in order of appearance. seed: of the hashes of their ids."""

    def __new__(cls, seed: int) -> Self: ...
    def columns(
        self,
    ) -> tuple[
        tuple[npt.NDArray[np.int64], npt.NDArray[np.int32], npt.NDArray[np.int32]],
        tuple[npt.NDArray[np.int64], npt.NDArray[np.int32]],
    ]: ...

class Tracks:
    """Tracks by number, in order of appearance. seed: of the hashes of their keys."""

    def __new__(cls, seed: int) -> Self: ...
    def columns(
        self,
    ) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32], npt.NDArray[np.int32]]: ...

OPERATIONS: tuple[str, ...]

class Slices:
    """Slices by number, in the order in which they began.

    limit: how many there may be; others are counted as `left_out`.
    """

    too_deep: int
    overlapping: int
    unmatched: int
    left_out: int

    @property
    def not_nested(self) -> int:
        """How many slices are left out for their depth, or because they cross others."""

    def __new__(cls, limit: int) -> Self: ...
    def __len__(self) -> int: ...
    def apply(
        self,
        operations: npt.NDArray[np.int8],
        ts: npt.NDArray[np.int64],
        dur: npt.NDArray[np.int64],
        tracks: npt.NDArray[np.int32],
        categories: npt.NDArray[np.int32],
        names: npt.NDArray[np.int32],
    ) -> None: ...
    def columns(self) -> dict[str, npt.NDArray[Any]]: ...

class Memos:
    """Numbers kept for ids. seed: of the hashes of these."""

    def __new__(cls, seed: int) -> Self: ...

class Spills:
    """Tracks beside those of threads. tracks: they become."""

    def __new__(cls, tracks: Tracks) -> Self: ...

class Flows:
    """Flows of the slices of a trace. seed: of the hashes of ids.

    Attributes:
        outside: events on tracks where no slice is open.
        begun_twice: begins of flows that have begun.
        not_begun: places in flows that have not.
        without_id, without_direction: events that say no flow, or not whether it comes or goes;
            the caller counts them.
    """

    outside: int
    begun_twice: int
    not_begun: int
    without_id: int
    without_direction: int

    def __new__(cls, slices: Slices, seed: int) -> Self: ...
    def columns(self) -> dict[str, npt.NDArray[Any]]: ...

class SliceTables:
    """What the events of slices become.

    strings: their names. seed: of the hashes of ids. limit: of slices.
    """

    strings: Strings
    processes: Processes
    tracks: Tracks
    slices: Slices

    def __new__(cls, strings: Strings, seed: int, limit: int) -> Self: ...

def in_order(
    ts: npt.NDArray[np.int64], queues: npt.NDArray[np.int32], n_queues: int
) -> npt.NDArray[np.int32]: ...
def in_lanes(
    begins: npt.NDArray[np.int64],
    ends: npt.NDArray[np.int64],
    groups: npt.NDArray[np.int32],
    parents: npt.NDArray[np.int64],
    have_parents: bool,
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32], npt.NDArray[np.int32]]: ...
