from collections.abc import Callable
from typing import Generic, Self, TypeVar

_Result = TypeVar("_Result", bound=tuple[object, ...])

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
