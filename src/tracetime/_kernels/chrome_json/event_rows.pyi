from typing import Self

from tracetime._kernels.chrome_json.details import Details
from tracetime._kernels.chrome_json.observer import EventObserver
from tracetime._kernels.perfetto.rows import Rows

class EventRows(EventObserver):
    """Makes rows of events and lines.

    Args:
        clock, line_clock: the numbers of the clocks that events and lines have.
        snapshots: how many there are.
        batch_rows: of which number on a batch is full.
        details: names them; None: nobody does.

    Attributes:
        rows: those not taken.
    """

    rows: Rows
    def __new__(
        cls, clock: int, line_clock: int, snapshots: int, batch_rows: int, details: Details | None
    ) -> Self: ...
