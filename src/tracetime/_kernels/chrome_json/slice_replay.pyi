import numpy as np
import numpy.typing as npt

from tracetime._kernels.chrome_json.slice_log import JsonSliceLog
from tracetime._kernels.slices import Flows, SliceTables

def replay(
    log: JsonSliceLog,
    to: SliceTables,
    order: npt.NDArray[np.int32],
    exact: bool,
    flows: Flows | None = None,
) -> npt.NDArray[np.int32]: ...

class Replay:
    """One replay of a log."""
