import numpy as np
import numpy.typing as npt

from tracetime._kernels.engine import Engine, Router

Key = tuple[int, int, int, int]
Column = npt.NDArray[np.int64]

def add_snapshots(
    engine: Engine,
    keys: list[Key],
    values: Column,
    units: Column,
    incremental: npt.NDArray[np.uint8],
    trace_key: Key | None = None,
) -> tuple[int, int, int]: ...
def version(engine: Engine) -> int: ...
def snapshot_packets(engine: Engine) -> npt.NDArray[np.uint64]: ...
def clocks(
    engine: Engine,
) -> list[tuple[Key, int, bool, bool, int, int | None, int | None]]: ...
def series(engine: Engine) -> list[tuple[tuple[Key, ...], int]]: ...
def make_router(engine: Engine, target: Key) -> Router | None: ...
def route(
    engine: Engine, source: Key, router: Router | None
) -> tuple[int, int, list[tuple[Key, Key, tuple[int, int], int]]]: ...
def hop_columns(
    engine: Engine, source_column: int, target_column: int
) -> tuple[Column, Column, Column, Column]: ...
def pairs(engine: Engine, first: Key, second: Key) -> tuple[Column, Column, Column]: ...
