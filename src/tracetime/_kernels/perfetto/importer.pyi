from typing import Any, Self

import numpy as np
import numpy.typing as npt

from tracetime._kernels.graph import Engine
from tracetime._kernels.perfetto.clocks import (
    ClockTracker,
    ExchangeRounds,
    RemoteSyncs,
    SnapshotExtensions,
    Streams,
)
from tracetime._kernels.perfetto.names import Names

COLUMNS: tuple[tuple[str, type[np.generic]], ...]

class Rows:
    """Columns with room for `capacity` rows, doubled when full."""

    names: Names | None

    def __new__(cls, capacity: int) -> Self: ...
    def __len__(self) -> int: ...
    def take(self) -> dict[str, npt.NDArray[Any]]: ...
    def release(self) -> None: ...

class PacketObserver:
    """Receives each packet of a trace while it is imported."""

class Timeline:
    """Rows under construction."""

    def __new__(cls, clocks: ClockTracker, rows: Rows, file: int, silent: bool) -> Self: ...

class Snapshots:
    """Adds the snapshots of a trace to its clocks."""

    extensions: SnapshotExtensions
    remote: RemoteSyncs
    rounds: ExchangeRounds
    n_stray_syncs: int

    def __new__(cls, timeline: Timeline) -> Self: ...

class Importer:
    """The state of an import: clocks, machines, sequences, and what Perfetto's sorter would do."""

    engine: Engine
    clocks: ClockTracker
    streams: Streams
    rows: Rows
    snapshots: Snapshots
    extensions: SnapshotExtensions
    final: Importer | None
    packets: int
    n_strays: int
    stray_offset: int
    stop_offset: int
    error: int
    codec: int
    stats: list[tuple[int, bytes, int]]
    @property
    def extracts_early(self) -> bool: ...
    @property
    def changes_at_end(self) -> bool: ...
    def __new__(cls, file: int, batch_rows: int, silent: bool = False) -> Self: ...
    def finish(self) -> None: ...
    def decide_with(self, final: Importer) -> None: ...
    def set_observer(self, observer: PacketObserver) -> None: ...
    def feed(
        self, data: bytes | bytearray | memoryview, start: int, end: int, offset: int, nested: bool
    ) -> tuple[int, int, int, int]: ...
