import numpy as np
import numpy.typing as npt

_Values = npt.NDArray[np.int64]
_Marks = npt.NDArray[np.uint8]

def faults(
    a: _Values, low: _Values, high: _Values, known: _Marks, drift: int, keep: _Marks
) -> tuple[list[int], list[int]]: ...
def live(
    a: _Values,
    low: _Values,
    high: _Values,
    known: _Marks,
    drift: int,
    keep: _Marks,
    first: _Values,
    last: _Values,
) -> _Marks: ...
