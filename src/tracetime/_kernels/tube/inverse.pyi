from tracetime._kernels.graph.floor import Grid
from tracetime._kernels.tube.tube import Marks, RowTable, Values

class InverseTable:
    """The rows of a tube, ready to convert values of the other clock to the ordering one."""

    def __init__(
        self,
        table: RowTable,
        starts: Values,
        cells: Values,
        ambiguous: Marks,
        near: int,
        n_near: int,
        grid: Grid,
    ) -> None: ...
    def invert(
        self,
        values: Values,
        lows: Values | None,
        highs: Values | None,
        estimate: Values,
        earliest: Values,
        latest: Values,
        status: Marks,
    ) -> None: ...
