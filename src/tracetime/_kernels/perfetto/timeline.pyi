from typing import Self

from tracetime._kernels.perfetto.clock_tracker import ClockTracker
from tracetime._kernels.perfetto.rows import Rows

class Timeline:
    """Rows under construction."""

    def __new__(cls, clocks: ClockTracker, rows: Rows, file: int, silent: bool) -> Self: ...
