import numpy as np
import numpy.typing as npt

class Packets:
    interfaces: list[tuple[int, bytes | None, int, int, bool, int, int]]
    sections: list[int]
    n_packets: int
    n_without_time: int
    first_drop: int
    dropped: int
    def __init__(self, longest: int, most_interfaces: int) -> None: ...
    def read(
        self, data: bytes, offset: int
    ) -> tuple[dict[str, npt.NDArray[np.int64]], int, int]: ...

def write_args(
    data: bytes, columns: dict[str, npt.NDArray[np.int64]]
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.uint8]]: ...
