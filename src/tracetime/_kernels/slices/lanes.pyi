import numpy as np
import numpy.typing as npt

def in_lanes(
    begins: npt.NDArray[np.int64],
    ends: npt.NDArray[np.int64],
    groups: npt.NDArray[np.int32],
    parents: npt.NDArray[np.int64],
    have_parents: bool,
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32], npt.NDArray[np.int32]]: ...
