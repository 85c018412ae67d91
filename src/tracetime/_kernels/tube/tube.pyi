import numpy as np
import numpy.typing as npt

from tracetime._kernels.graph.floor import Grid

Values = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Marks = npt.NDArray[np.uint8]

class RowTable:
    """The rows of a tube, ready to convert."""

    def __init__(
        self,
        starts: Values,
        bars: Values,
        limits: Values,
        curves: Floats,
        near: int,
        n_near: int,
        grid: Grid,
    ) -> None: ...
    def borders(self) -> Values: ...
    def convert(
        self,
        values: Values,
        estimate: Values,
        earliest: Values,
        latest: Values,
        status: Marks,
    ) -> None: ...
    def hop(self, lows: Values, highs: Values, earliest: Values, latest: Values) -> None: ...
