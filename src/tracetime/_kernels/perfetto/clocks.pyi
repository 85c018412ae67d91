from typing import Self

import numpy as np
import numpy.typing as npt

from tracetime._kernels.graph import Engine

class Streams:
    """Who writes the packets of a trace: machines, and packet sequences on them."""

    machine_ids: list[int]
    systems: dict[int, bytes]

    def __new__(cls, seed: int) -> Self: ...

class ClockTracker:
    """The clocks of a trace, and what trace time is."""

    engine: Engine
    streams: Streams
    trace_clock: tuple[int, int]
    late_clock: tuple[int, int, int] | None
    moves: list[tuple[int, int, int, bool]]
    faults: list[tuple[int, int, int, tuple[int, int, int, int], int]]
    n_faults: int
    n_own_syncs: int
    n_late_snapshots: int
    latest_snapshot: int
    latest_snapshot_ns: int

    def events_sampled(
        self, least: int = 0
    ) -> dict[tuple[int, int, int, int], tuple[npt.NDArray[np.int64], int, int]]: ...

class RemoteSyncs:
    """What the RemoteClockSync messages of a trace bound, gathered as it is read."""

    def bounds(self) -> npt.NDArray[np.int64]: ...
    def unused_bounds(self) -> npt.NDArray[np.int64]: ...
    def snapshots_worked_out(self) -> npt.NDArray[np.int64]: ...

class ExchangeRounds:
    """The rounds that the extensions of RemoteClockSync messages hold."""

    def table(self) -> npt.NDArray[np.int64]: ...

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
