from typing import Any, Self

import numpy.typing as npt

from tracetime._kernels.slices.stacks import Slices

class Flows:
    """Flows of the slices of a trace. seed: of the hashes of ids.

    Attributes:
        outside: events on tracks where no slice is open.
        begun_twice: begins of flows that have begun.
        not_begun: places in flows that have not.
        without_id, without_direction: events that say no flow, or not whether it comes or goes;
            the caller counts them.
    """

    outside: int
    begun_twice: int
    not_begun: int
    without_id: int
    without_direction: int

    def __new__(cls, slices: Slices, seed: int) -> Self: ...
    def columns(self) -> dict[str, npt.NDArray[Any]]: ...
