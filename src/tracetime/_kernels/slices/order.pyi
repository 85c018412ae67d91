import numpy as np
import numpy.typing as npt

def in_order(
    ts: npt.NDArray[np.int64], queues: npt.NDArray[np.int32], n_queues: int
) -> npt.NDArray[np.int32]: ...
