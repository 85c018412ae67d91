import numpy as np
import numpy.typing as npt

Values = npt.NDArray[np.int64]
Grid = tuple[int, int, int, npt.NDArray[np.int32]]

def make_grid(readings: Values) -> Grid: ...
def scale(
    values: Values, unit_ns: int, out: Values, bad: npt.NDArray[np.uint8] | None = None
) -> bool: ...
def hop(
    values: Values,
    out: Values,
    readings: Values,
    offsets: Values,
    lowest: Values,
    highest: Values,
    grid_parts: Grid,
    bad: npt.NDArray[np.uint8] | None = None,
) -> bool: ...
