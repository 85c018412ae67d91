from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import numpy.typing as npt

_Key = tuple[int, int, int, int]
_Column = npt.NDArray[np.int64]
_Marks = npt.NDArray[np.uint8]
_Grid = tuple[int, int, int, npt.NDArray[np.int32]]

def series_hash(keys: Iterable[Sequence[int]]) -> int:
    """Perfetto's hash of a snapshot's clocks, (clock, sequence, file, machine) each, in order."""

class TooManyClocksError(Exception):
    """Snapshots have more clocks, or lists of clocks, than `Engine.most_nodes`."""

class Engine:
    """Clocks by node number, and their snapshots."""

    most_nodes: int

class TangledError(Exception):
    """The clocks are tied together in too many ways to follow."""

class Router:
    """Shortest paths from every clock to one target, kept up to date as the graph grows."""

    @property
    def target(self) -> int: ...

def add_snapshots(
    engine: Engine,
    keys: list[_Key],
    values: _Column,
    units: _Column,
    incremental: _Marks,
    trace_key: _Key | None = None,
) -> tuple[int, int, int]: ...
def version(engine: Engine) -> int: ...
def snapshot_packets(engine: Engine) -> npt.NDArray[np.uint64]: ...
def keys(engine: Engine, first: int) -> list[_Key]: ...
def clocks(
    engine: Engine,
) -> list[tuple[int, int, bool, bool, int, int | None, int | None]]: ...
def series(engine: Engine, mixed: bool = False) -> Iterator[tuple[list[int], int]]: ...
def neighbours(engine: Engine, number: int, enough: int = ...) -> set[int]: ...
def hops_from(
    engine: Engine,
    number: int,
    begins: npt.NDArray[np.int32],
    linked: npt.NDArray[np.int32],
) -> npt.NDArray[np.int32]: ...
def n_columns(engine: Engine) -> int: ...
def column_of(engine: Engine, index: int) -> tuple[_Key, _Column, _Column]: ...
def every_reading(engine: Engine) -> tuple[_Column, _Column]: ...
def readings_of(engine: Engine, key: _Key) -> tuple[_Column, _Column]: ...
def make_router(engine: Engine, target: _Key) -> Router | None: ...
def route(
    engine: Engine, source: _Key, router: Router | None
) -> tuple[int, int, list[tuple[_Key, _Key, tuple[int, int], int]]]: ...
def hop_columns(
    engine: Engine, source_column: int, target_column: int
) -> tuple[_Column, _Column, _Column, _Column]: ...
def tied_only_to(engine: Engine, clock: _Key) -> set[int]: ...
def pairs(engine: Engine, first: _Key, second: _Key) -> tuple[_Column, _Column, _Column]: ...
def variations(
    engine: Engine,
    sources: list[_Key],
    router: Router | None,
    spans: npt.NDArray[np.int64] | None = None,
) -> tuple[npt.NDArray[np.int8], npt.NDArray[np.float64], npt.NDArray[np.float64]]: ...
def steady(engine: Engine, ones: _Column, others: _Column) -> _Marks: ...
def extents(engine: Engine, ones: _Column, others: _Column) -> _Column: ...
def make_grid(readings: _Column) -> _Grid: ...
def scale(values: _Column, unit_ns: int, out: _Column, bad: _Marks | None = None) -> bool: ...
def hop(
    values: _Column,
    out: _Column,
    readings: _Column,
    offsets: _Column,
    lowest: _Column,
    highest: _Column,
    grid_parts: _Grid,
    bad: _Marks | None = None,
) -> bool: ...
