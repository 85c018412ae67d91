import numpy as np
import numpy.typing as npt

Values = npt.NDArray[np.int64]
Marks = npt.NDArray[np.uint8]

def cut(
    a: Values, low: Values, high: Values, drift: int, keep: Marks
) -> tuple[list[int], list[int]]: ...
def cores(
    a: Values,
    low: Values,
    high: Values,
    segment_first: Values,
    segment_last: Values,
    wander: Values,
    drift: int,
) -> tuple[Values, Values, Values, Values, Values]: ...
def strays(
    a: Values,
    low: Values,
    high: Values,
    segment_first: Values,
    segment_last: Values,
    wander: Values,
    drift: int,
    core_segment: Values,
    core_first: Values,
    core_last: Values,
    blank: Marks,
) -> list[int]: ...
def cones(
    a: Values,
    low: Values,
    high: Values,
    first: Values,
    last: Values,
    slope: Values,
    width: Values,
) -> Values: ...
