import numpy as np
import numpy.typing as npt

_Codes = npt.NDArray[np.int32]

class Texts:
    """A column of texts by number."""

    def __init__(self, codes: _Codes, ends: _Codes, text: npt.NDArray[np.uint8]) -> None: ...

class Details:
    """What events are: a row each."""

    def __init__(self, names: Texts, categories: Texts, args: Texts | None) -> None: ...
