from typing import Self

from tracetime._kernels.graph import Engine
from tracetime._kernels.perfetto.clock_tracker import ClockTracker
from tracetime._kernels.perfetto.observer import PacketObserver
from tracetime._kernels.perfetto.rows import Rows
from tracetime._kernels.perfetto.snapshot_extensions import SnapshotExtensions
from tracetime._kernels.perfetto.snapshots import Snapshots
from tracetime._kernels.perfetto.streams import Streams

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
