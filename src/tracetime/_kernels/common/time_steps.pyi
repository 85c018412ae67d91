import numpy as np
import numpy.typing as npt

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
