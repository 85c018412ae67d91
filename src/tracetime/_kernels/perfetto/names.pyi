from collections.abc import Mapping
from typing import Any, Self

import numpy.typing as npt

from tracetime._kernels.perfetto.directory import Directory
from tracetime._kernels.perfetto.observer import PacketObserver

class Names(PacketObserver):
    """What each row of the events table is, apart from its times.

    directory: of the same trace, settled. ftrace: names of ftrace events by field number. limit:
    bytes of interned data that are kept; sequences not used for longest lose theirs first, which
    is counted in `left_out`.
    """

    left_out: int

    def __new__(cls, directory: Directory, ftrace: Mapping[int, str], limit: int) -> Self: ...
    def take(self, n: int) -> dict[str, npt.NDArray[Any]]: ...
