from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Values = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

TSC_CODE: int

def has_tsc() -> bool: ...
def tsc_is_steady() -> bool: ...
def read_one(code: int) -> int | None: ...
def read_column(code: int, out: Values, vary: bool) -> bool: ...

class Brackets:
    """Samples a set of clocks against the first of them."""

    reads: int

    def __init__(
        self,
        codes: Sequence[int],
        drift: Sequence[float],
        extra_ns: Sequence[int],
        tries: int,
    ) -> None: ...
    def fill(self, readings: Values, centre_ns: Values, half_ns: Values) -> int: ...
    def fill_from(
        self, tape: Values, readings: Values, centre_ns: Values, half_ns: Values
    ) -> int: ...
    def group(self, readings: Values, deviation_ns: Values, tape: Values | None = None) -> int: ...

class Lag:
    """How far a coarse clock lags behind the fine one that it follows, as far as was seen."""

    least_ns: int
    most_ns: int

    def __init__(self, fine: int, coarse: int) -> None: ...
    def look(self, times: int) -> bool: ...
    def watch(self, rest_ns: int) -> None: ...
    def end(self) -> None: ...
    def take(self, before_ns: int, coarse_ns: int, after_ns: int) -> None: ...
