from typing import Self

import numpy as np
import numpy.typing as npt

from tracetime._kernels.perfetto.importer import PacketObserver

class PlacedRows:
    """Rows with trace times, and counts of what a baked packet could not hold of them."""

    moved: int
    stamped: int
    rounded: int
    worst_ns: int
    unresolved: int
    set_aside: int
    def give(self, columns: dict[str, npt.NDArray[np.generic]]) -> int: ...

class BakedClocks:
    """Writes the snapshots of a baked trace of one machine."""

    trace_clock: int
    machine_id: int
    is_home: bool
    converted: bool
    named_trace_clock: bool
    def __new__(cls, trace_clock: int, machine_id: int, mark: int, is_home: bool) -> Self: ...
    def know(self, trace_ns: int, wall_ns: int) -> None: ...

class FtraceBuffers:
    """The buffers of each machine so far."""

class Baker(PacketObserver):
    """Holds the packets of each batch of rows, and writes them with the rows' trace times."""

    rows: PlacedRows
    def __new__(
        cls,
        trace_clock: int,
        machine_id: int,
        mark: int,
        several: bool,
        is_home: bool,
        baked: bool,
        clocks: list[BakedClocks] | None = None,
    ) -> Self: ...
    def write(self, columns: dict[str, npt.NDArray[np.generic]]) -> bytes: ...

class Numbers:
    """Gives each number of a file another, which no other file has."""

    def __new__(cls, seed: int, last: int) -> Self: ...

class Renumberer:
    """Writes the packets of one file after the other, with numbers of their own."""

    left_out: int
    named: set[int]
    def __new__(
        cls, seed: int, sequence: int, names: dict[int, bytes], shared: set[int]
    ) -> Self: ...
    def begin(self, machines: dict[int, int]) -> None: ...
    def end(self) -> None: ...
    def write(self, data: bytes) -> bytes: ...
