from collections.abc import Callable, Sequence
from typing import Generic, Self, TypeVar

import numpy as np
import numpy.typing as npt

_Values = npt.NDArray[np.int64]
_Floats = npt.NDArray[np.float64]
_Result = TypeVar("_Result", bound=tuple[object, ...])

TSC_CODE: int
ARM_COUNTER_CODE: int

def has_tsc() -> bool: ...
def tsc_is_steady() -> bool: ...
def arm_counter_hz() -> int: ...
def read_one(code: int) -> int | None: ...
def read_column(code: int, out: _Values, vary: bool) -> bool: ...

class Brackets:
    """Samples a set of clocks against the first of them."""

    reads: int

    def __new__(
        cls,
        codes: Sequence[int],
        drift: Sequence[float],
        extra_ns: Sequence[int],
        tries: int,
    ) -> Self: ...
    def fill(self, readings: _Values, centre_ns: _Values, half_ns: _Values) -> int: ...
    def fill_from(
        self, taken: _Values, readings: _Values, centre_ns: _Values, half_ns: _Values
    ) -> int: ...
    def group(
        self, readings: _Values, deviation_ns: _Values, taken: _Values | None = None
    ) -> int: ...

class Lag:
    """How far a coarse clock has lagged behind the fine one that it follows."""

    least_ns: int
    most_ns: int

    def __new__(cls, fine: int, coarse: int) -> Self: ...
    def observe(self, times: int) -> bool: ...
    def watch(self, rest_ns: int) -> None: ...
    def end(self) -> None: ...
    def add(self, before_ns: int, coarse_ns: int, after_ns: int) -> None: ...

JUMP_NS: int
LONGEST_NS: int

class Anchor(Generic[_Result]):
    """What a time service has stated, with the clocks' readings right after: of use until void."""

    source: str
    raw_ns: int
    real_ns: int
    half_ns: int
    age_ns: int
    drift_ppb: int
    tai_ns: int

    def __new__(
        cls,
        result: type[_Result],
        readers: tuple[Callable[[], int], Callable[[], int], Callable[[], int]],
        codes: tuple[int, int, int] | None,
        source: str,
        raw_ns: int,
        real_ns: int,
        real_less_mono_ns: int,
        half_ns: int,
        age_ns: int,
        drift_ppb: int,
        poll_ns: int,
        until_raw_ns: int,
        last_until_raw_ns: int,
        void_raw_ns: int,
        tai_ns: int,
        holds: Callable[[], bool] | None,
        is_last: Callable[[], bool],
    ) -> Self: ...
    def now(self, clock: str, fresh: bool) -> _Result | None: ...
