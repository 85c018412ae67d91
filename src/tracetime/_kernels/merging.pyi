import numpy as np
import numpy.typing as npt

_Values = npt.NDArray[np.int64]

def spreads(
    ends: _Values,
    kinds: _Values,
    its_ends: _Values,
    its_kinds: _Values,
    shifts: _Values,
    sample: tuple[int, int],
    limits: tuple[int, float],
) -> npt.NDArray[np.float64]: ...
def may_fit(
    ends: _Values,
    kinds: _Values,
    its_ends: _Values,
    its_kinds: _Values,
    shifts: _Values,
    most_ns: float,
    most_slope: float,
) -> bool: ...
