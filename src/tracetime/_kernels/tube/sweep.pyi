import numpy as np
import numpy.typing as npt

_Values = npt.NDArray[np.int64]
_Marks = npt.NDArray[np.uint8]

def cut(
    a: _Values, low: _Values, high: _Values, drift: int, keep: _Marks
) -> tuple[list[int], list[int]]: ...
def cores(
    a: _Values,
    low: _Values,
    high: _Values,
    segment_first: _Values,
    segment_last: _Values,
    wander: _Values,
    drift: int,
    known: _Marks | None = None,
) -> tuple[_Values, _Values, _Values, _Values, _Values]: ...
def strays(
    a: _Values,
    low: _Values,
    high: _Values,
    segment_first: _Values,
    segment_last: _Values,
    wander: _Values,
    drift: int,
    core_segment: _Values,
    core_first: _Values,
    core_last: _Values,
    blank: _Marks,
) -> list[int]: ...
def cones(
    a: _Values,
    low: _Values,
    high: _Values,
    first: _Values,
    last: _Values,
    slope: _Values,
    width: _Values,
    known: _Marks | None = None,
) -> _Values: ...
