from typing import Self

import numpy as np
import numpy.typing as npt

_Values = npt.NDArray[np.int64]

def count_between(
    marks: _Values, starts: _Values, which: _Values, values: _Values, counts: _Values
) -> None: ...
def sum_within(marks: _Values, counts: _Values, spans: _Values) -> int: ...
def count_others(
    points: _Values,
    by_point: _Values,
    queries: _Values,
    by_query: _Values,
    groups: _Values,
    strict: bool,
) -> _Values: ...
def count_crossing(
    begins: _Values, by_begin: _Values, ends: _Values, by_end: _Values
) -> _Values: ...
def texts(
    data: bytes | npt.NDArray[np.uint8], starts: _Values, ends: _Values, longest: int
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.uint8]]: ...
def shortest_decimals(
    floats: npt.NDArray[np.float64],
    otherwise: npt.NDArray[np.int64],
    power: int,
    is_single: bool,
) -> npt.NDArray[np.int64]: ...

class Sequences:
    kept: int
    reversed: int

    def __new__(cls, seed: int) -> Self: ...
    def keep(
        self,
        which: npt.NDArray[np.uint8],
        machine: npt.NDArray[np.uint32],
        sequence: npt.NDArray[np.uint32],
        floor: npt.NDArray[np.int64],
        latest: npt.NDArray[np.int64],
        estimate: npt.NDArray[np.int64],
    ) -> None: ...

class StepCounts:
    """How many times each power of 2 and 5 divides; 0 and repetitions are passed over.

    Attributes:
        n_wall: how many are of 61 bits, as wall times in ns are from 2006 to 2043.
        n_double_s, n_double_ms: how many of these a double of s, or of ms, can be, within 2 ns.
    """

    n_wall: int
    n_double_s: int
    n_double_ms: int
    def add(
        self, values: npt.NDArray[np.int64], missing: npt.NDArray[np.uint8] | None = None
    ) -> None: ...
    def cells(self) -> npt.NDArray[np.int64]: ...

def margins_of(
    values: npt.NDArray[np.int64],
    before_of: npt.NDArray[np.int64],
    after_of: npt.NDArray[np.int64],
    slack_of: npt.NDArray[np.int64],
    double_s: bool,
    double_ms: bool,
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]: ...
