import numpy as np
import numpy.typing as npt

_Values = npt.NDArray[np.int64]
_Grid = tuple[int, int, int, npt.NDArray[np.int32]]

def make_grid(readings: _Values) -> _Grid: ...
def scale(
    values: _Values, unit_ns: int, out: _Values, bad: npt.NDArray[np.uint8] | None = None
) -> bool: ...
def hop(
    values: _Values,
    out: _Values,
    readings: _Values,
    offsets: _Values,
    lowest: _Values,
    highest: _Values,
    grid_parts: _Grid,
    bad: npt.NDArray[np.uint8] | None = None,
) -> bool: ...
