import numpy as np
import numpy.typing as npt

_Values = npt.NDArray[np.int64]

class Waits:
    def __init__(
        self,
        first: _Values,
        readings: _Values,
        later: _Values,
        earlier: _Values,
        source: _Values,
        target: _Values,
        weight: _Values,
    ) -> None: ...
    def contradictions(self) -> tuple[_Values, _Values, _Values]: ...
    def distances(self, nodes: _Values, z: _Values, backwards: bool) -> _Values: ...

def drifts(distances: _Values, slopes: _Values) -> _Values: ...
