import numpy as np
import numpy.typing as npt

from tracetime._kernels.event_baking.texts import Texts

class Series:
    """The numbers in arguments of counters."""

    beside: int
    def __init__(self, as_chrome: bool) -> None: ...
    def read(
        self, args: Texts
    ) -> tuple[
        npt.NDArray[np.int64],
        npt.NDArray[np.float64],
        npt.NDArray[np.int32],
        npt.NDArray[np.uint8],
    ]: ...
