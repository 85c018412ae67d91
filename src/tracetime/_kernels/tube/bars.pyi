import numpy as np
import numpy.typing as npt

Values = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

def assemble(
    a: Values,
    r: Values,
    low: Values,
    high: Values,
    drift: int,
    given: Values,
    limits: Values,
    knots: Values,
    smooth: Floats,
    runs: Values,
) -> tuple[Values, Values, Values, Floats, Values]: ...
def guaranteed(a: Values, drift: int, limits: Values, bars: Values, cells: Values) -> Values: ...
def steps_in(a: Values, knots: Values, runs: Values) -> list[int]: ...
