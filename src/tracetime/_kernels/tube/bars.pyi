import numpy as np
import numpy.typing as npt

_Values = npt.NDArray[np.int64]
_Floats = npt.NDArray[np.float64]

def assemble(
    a: _Values,
    r: _Values,
    low: _Values,
    high: _Values,
    drift: int,
    given: _Values,
    limits: _Values,
    knots: _Values,
    smooth: _Floats,
    runs: _Values,
    any_rates: bool = False,
) -> tuple[_Values, _Values, _Values, _Floats, _Values]: ...
def guaranteed(
    a: _Values, drift: int, limits: _Values, bars: _Values, cells: _Values
) -> _Values: ...
def steps_in(a: _Values, knots: _Values, runs: _Values) -> list[int]: ...
