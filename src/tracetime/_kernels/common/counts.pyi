import numpy as np
import numpy.typing as npt

_Values = npt.NDArray[np.int64]

def count_between(
    marks: _Values, starts: _Values, which: _Values, values: _Values, counts: _Values
) -> None: ...
