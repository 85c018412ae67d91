import numpy as np
import numpy.typing as npt

from tracetime._kernels.graph import Engine
from tracetime._kernels.perfetto.streams import Streams

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
