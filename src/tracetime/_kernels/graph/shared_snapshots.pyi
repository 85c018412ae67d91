import numpy as np
import numpy.typing as npt

from tracetime._kernels.graph.engine import Engine
from tracetime._kernels.graph.router import Router

Key = tuple[int, int, int, int]
Column = npt.NDArray[np.int64]

def pairs(engine: Engine, first: Key, second: Key) -> tuple[Column, Column, Column]: ...
def strays(
    engine: Engine,
    sources: list[Key],
    router: Router | None,
    spans: npt.NDArray[np.int64] | None = None,
) -> tuple[npt.NDArray[np.int8], npt.NDArray[np.float64], npt.NDArray[np.float64]]: ...
def steady(engine: Engine, ones: Column, others: Column) -> npt.NDArray[np.uint8]: ...
def beside(engine: Engine, ones: Column, others: Column) -> Column: ...
