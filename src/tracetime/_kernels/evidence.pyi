import numpy as np
import numpy.typing as npt

_Values = npt.NDArray[np.int64]
_Floats = npt.NDArray[np.float64]
_Marks = npt.NDArray[np.uint8]

def cut(
    a: _Values, low: _Values, high: _Values, drift: int, keep: _Marks, begins: _Values
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

LATEST_NS: int

def half_widths(
    a: _Values, r: _Values, floor_ns: int, drift: float, level: bool
) -> tuple[_Values, int, int, npt.NDArray[np.bool_]]: ...
def smooth_runs(
    a: _Values,
    r: _Values,
    half: _Floats,
    first: _Values,
    last: _Values,
    slope: _Floats,
    spread: _Floats,
    wander: _Floats,
) -> _Floats: ...
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
def curve_values(x: _Floats, offset: _Floats, rate: _Floats, t: _Floats) -> _Floats: ...
def knee(
    x: _Floats, y: _Floats, noise: _Floats, wander: float, side: int
) -> tuple[float, float]: ...
def smooth_pings(
    x: _Floats, y: _Floats, noise: _Floats, wander: float
) -> tuple[_Floats, float]: ...
def likelihoods(
    x: _Floats, y: _Floats, noise: _Floats, wander: float, stray: float
) -> tuple[_Floats, _Floats, _Floats]: ...
def smooth_walk(
    x: _Floats, y: _Floats, noise: _Floats, factor: float, density: float, stray: float
) -> _Floats: ...
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
def faults(
    a: _Values, low: _Values, high: _Values, known: _Marks, drift: int, keep: _Marks
) -> tuple[list[int], list[int]]: ...
def live(
    a: _Values,
    low: _Values,
    high: _Values,
    known: _Marks,
    drift: int,
    keep: _Marks,
    first: _Values,
    last: _Values,
) -> _Marks: ...
def close_bounds(
    upper: _Values, next_clock: _Values, at: _Values, width: _Values, steps: _Marks
) -> int: ...
