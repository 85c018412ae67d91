import numpy as np
import numpy.typing as npt

_Values = npt.NDArray[np.int64]

def texts(
    data: bytes | npt.NDArray[np.uint8], starts: _Values, ends: _Values, longest: int
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.uint8]]: ...
