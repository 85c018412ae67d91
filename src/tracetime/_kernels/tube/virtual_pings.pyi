import numpy as np
import numpy.typing as npt

_Floats = npt.NDArray[np.float64]

def fastest(
    t: _Floats,
    high: _Floats,
    low: _Floats,
    begin: float,
    window: float,
    windows: int,
    x: _Floats,
    offset: _Floats,
    rate: _Floats,
) -> tuple[_Floats, _Floats]: ...
def values(x: _Floats, offset: _Floats, rate: _Floats, t: _Floats) -> _Floats: ...
def knee(
    x: _Floats, y: _Floats, noise: _Floats, wander: float, side: int
) -> tuple[float, float]: ...
def smooth(x: _Floats, y: _Floats, noise: _Floats, wander: float) -> tuple[_Floats, float]: ...
def likelihoods(
    x: _Floats, y: _Floats, noise: _Floats, wander: float, stray: float
) -> tuple[_Floats, _Floats, _Floats]: ...
def smooth_walk(
    x: _Floats, y: _Floats, noise: _Floats, factor: float, density: float, stray: float
) -> _Floats: ...
