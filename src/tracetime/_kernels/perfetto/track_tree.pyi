from typing import Self

from tracetime._kernels.slices import Processes, Strings, Tracks

class TrackTree:
    """The tracks of a trace by machine and uuid.

    limit: bytes that descriptors may take; what comes later is not kept, but counted as `left_out`.
    """

    left_out: int

    def __new__(
        cls, seed: int, strings: Strings, processes: Processes, tracks: Tracks, limit: int
    ) -> Self: ...
