import numpy as np
import numpy.typing as npt

_Values = npt.NDArray[np.int64]
_Floats = npt.NDArray[np.float64]

def smooth(
    a: _Values,
    r: _Values,
    half: _Floats,
    first: _Values,
    last: _Values,
    slope: _Floats,
    spread: _Floats,
    wander: _Floats,
) -> _Floats: ...
