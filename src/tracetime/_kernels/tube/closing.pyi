import numpy as np
import numpy.typing as npt

_Values = npt.NDArray[np.int64]
_Marks = npt.NDArray[np.uint8]

def close(
    upper: _Values, next_clock: _Values, at: _Values, width: _Values, steps: _Marks
) -> int: ...
