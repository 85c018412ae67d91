import numpy as np
import numpy.typing as npt

Values = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

def smooth(
    a: Values,
    r: Values,
    half: Floats,
    first: Values,
    last: Values,
    slope: Floats,
    spread: Floats,
    wander: Floats,
) -> Floats: ...
