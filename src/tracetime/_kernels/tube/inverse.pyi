from tracetime._kernels.graph.floor import _Grid
from tracetime._kernels.tube.tube import RowTable, _Marks, _Values

class InverseTable:
    """The rows of a tube, ready to convert values of the other clock to the ordering one."""

    def __init__(
        self,
        table: RowTable,
        starts: _Values,
        cells: _Values,
        ambiguous: _Marks,
        near: int,
        n_near: int,
        grid: _Grid,
    ) -> None: ...
    def invert(
        self,
        values: _Values,
        lows: _Values | None,
        highs: _Values | None,
        estimate: _Values,
        earliest: _Values,
        latest: _Values,
        status: _Marks,
    ) -> None: ...
