from typing import Self

import numpy as np
import numpy.typing as npt

from tracetime._kernels.graph.engine import Engine
from tracetime._kernels.perfetto.observer import Listener
from tracetime._kernels.perfetto.remote import RemoteSyncs
from tracetime._kernels.perfetto.rows import Rows

class Importer:
    """The state of an import: engine, machines, sequences, and what Perfetto's sorter would do."""

    engine: Engine
    rows: Rows
    final: Importer | None
    packets: int
    stop_offset: int
    error: int
    codec: int
    faults: list[tuple[int, int, int, tuple[int, int, int, int], int]]
    n_faults: int
    n_own_syncs: int
    n_stray_syncs: int
    moves: list[tuple[int, int, int, bool]]
    late_clock: tuple[int, int, int] | None
    n_late_snapshots: int
    latest_snapshot: int
    latest_snapshot_ns: int
    trace_clock: tuple[int, int]
    machine_ids: list[int]
    systems: dict[int, bytes]
    remote: RemoteSyncs
    declared: dict[tuple[int, int, int, int], bytes]
    events_dropped: int
    dropped_packet: int

    def __new__(cls, file: int, batch_rows: int, silent: bool = False) -> Self: ...
    def finish(self) -> None: ...
    def decide_with(self, final: Importer) -> None: ...
    def kernel_clock(self) -> npt.NDArray[np.int64]: ...
    def measured(
        self,
    ) -> dict[
        tuple[int, int, int, int],
        tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int64]],
    ]: ...
    def events_sampled(
        self, least: int = 0
    ) -> dict[tuple[int, int, int, int], tuple[npt.NDArray[np.int64], int, int]]: ...
    def listen(self, listener: Listener) -> None: ...
    def feed(
        self, data: bytes | bytearray | memoryview, start: int, end: int, offset: int, nested: bool
    ) -> tuple[int, int, int, int]: ...
