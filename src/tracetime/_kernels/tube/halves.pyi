import numpy as np
import numpy.typing as npt

_Values = npt.NDArray[np.int64]

def least_halves(
    a: _Values, r: _Values, drift: float, wander: float, steps: int
) -> npt.NDArray[np.float64]: ...
