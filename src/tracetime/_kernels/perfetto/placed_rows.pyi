import numpy as np
import numpy.typing as npt

class PlacedRows:
    """Rows with trace times, and counts of what a baked packet could not hold of them."""

    moved: int
    stamped: int
    rounded: int
    worst_ns: int
    unresolved: int
    set_aside: int
    def give(self, columns: dict[str, npt.NDArray[np.generic]]) -> int: ...
