import numpy as np
import numpy.typing as npt

Values = npt.NDArray[np.int64]

def count_between(
    marks: Values, starts: Values, which: Values, values: Values, counts: Values
) -> None: ...
