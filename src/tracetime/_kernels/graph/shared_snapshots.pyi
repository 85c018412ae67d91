import numpy as np
import numpy.typing as npt

from tracetime._kernels.graph.engine import Engine
from tracetime._kernels.graph.router import Router

_Key = tuple[int, int, int, int]
_Column = npt.NDArray[np.int64]

def pairs(engine: Engine, first: _Key, second: _Key) -> tuple[_Column, _Column, _Column]: ...
def variations(
    engine: Engine,
    sources: list[_Key],
    router: Router | None,
    spans: npt.NDArray[np.int64] | None = None,
) -> tuple[npt.NDArray[np.int8], npt.NDArray[np.float64], npt.NDArray[np.float64]]: ...
def steady(engine: Engine, ones: _Column, others: _Column) -> npt.NDArray[np.uint8]: ...
def extents(engine: Engine, ones: _Column, others: _Column) -> _Column: ...
