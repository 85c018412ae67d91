import numpy as np
import numpy.typing as npt

from tracetime._kernels.event_baking.texts import Texts

_Ints = npt.NDArray[np.int64]

class Arrows:
    """The arrows between the slices of a trace, by number; each has a flow of its own."""

    written: int
    def __init__(
        self, first: int, named: npt.NDArray[np.uint8], names: Texts, categories: Texts
    ) -> None: ...

class Flows:
    """The arrows of some slices."""

    def __init__(
        self, arrows: Arrows, begins: tuple[_Ints, _Ints], endings: tuple[_Ints, _Ints]
    ) -> None: ...
