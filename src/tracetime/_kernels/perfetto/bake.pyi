from typing import Self

import numpy as np
import numpy.typing as npt

from tracetime._kernels.perfetto.baked_clocks import BakedClocks
from tracetime._kernels.perfetto.observer import PacketObserver
from tracetime._kernels.perfetto.placed_rows import PlacedRows

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
        carries_source: bool = False,
    ) -> Self: ...
    def write(self, columns: dict[str, npt.NDArray[np.generic]]) -> bytes: ...
