import numpy as np
import numpy.typing as npt

def shortest_decimals(
    floats: npt.NDArray[np.float64],
    otherwise: npt.NDArray[np.int64],
    power: int,
    is_single: bool,
) -> npt.NDArray[np.int64]: ...
