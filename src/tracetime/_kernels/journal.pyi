import numpy as np
import numpy.typing as npt

_Values = npt.NDArray[np.int64]

def read_entries(
    data: bytes | bytearray, longest: int
) -> tuple[dict[str, _Values], int, int, int]: ...
def write_args(
    data: bytes | bytearray, starts: _Values, ends: _Values
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.uint8]]: ...
