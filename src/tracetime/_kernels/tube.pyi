import numpy as np
import numpy.typing as npt

from tracetime._kernels.graph import _Grid

_Values = npt.NDArray[np.int64]
_Floats = npt.NDArray[np.float64]
_Marks = npt.NDArray[np.uint8]

class RowTable:
    """The rows of a tube, ready to convert."""

    def __init__(
        self,
        starts: _Values,
        bars: _Values,
        limits: _Values,
        curves: _Floats,
        near: int,
        n_near: int,
        grid: _Grid,
    ) -> None: ...
    def borders(self) -> _Values: ...
    def convert(
        self,
        values: _Values,
        estimate: _Values,
        earliest: _Values,
        latest: _Values,
        status: _Marks,
    ) -> None: ...
    def hop(self, lows: _Values, highs: _Values, earliest: _Values, latest: _Values) -> None: ...

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
