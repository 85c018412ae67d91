from typing import Self

from tracetime._kernels.slices.processes import Processes
from tracetime._kernels.slices.stacks import Slices
from tracetime._kernels.slices.strings import Strings
from tracetime._kernels.slices.tracks import Tracks

class SliceTables:
    """What the events of slices become.

    strings: their names. seed: of the hashes of ids. limit: of slices.
    """

    strings: Strings
    processes: Processes
    tracks: Tracks
    slices: Slices

    def __new__(cls, strings: Strings, seed: int, limit: int) -> Self: ...
