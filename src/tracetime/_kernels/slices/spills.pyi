from typing import Self

from tracetime._kernels.slices.tracks import Tracks

class Spills:
    """Tracks beside those of threads. tracks: they become."""

    def __new__(cls, tracks: Tracks) -> Self: ...
