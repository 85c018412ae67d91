import numpy as np
import numpy.typing as npt

class ExchangeRounds:
    """The rounds that the extensions of RemoteClockSync messages hold."""

    def table(self) -> npt.NDArray[np.int64]: ...
