import numpy as np
import numpy.typing as npt

_Ints = npt.NDArray[np.int64]
_Codes = npt.NDArray[np.int32]

def open_inside(
    ts: _Ints, dur: _Ints, parent: _Ints, name: _Codes, category: _Codes
) -> tuple[_Ints, npt.NDArray[np.uint8]]: ...
