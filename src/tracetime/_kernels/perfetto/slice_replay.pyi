import numpy as np
import numpy.typing as npt

from tracetime._kernels.perfetto.slice_log import SliceLog

def replay(log: SliceLog, order: npt.NDArray[np.int32], n_machines: int) -> None: ...
