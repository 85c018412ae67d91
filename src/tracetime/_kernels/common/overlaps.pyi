import numpy as np
import numpy.typing as npt

_Values = npt.NDArray[np.int64]

def count_others(
    points: _Values,
    by_point: _Values,
    queries: _Values,
    by_query: _Values,
    groups: _Values,
    strict: bool,
) -> _Values: ...
def count_crossing(
    begins: _Values, by_begin: _Values, ends: _Values, by_end: _Values
) -> _Values: ...
