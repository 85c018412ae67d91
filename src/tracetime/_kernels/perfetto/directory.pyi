from collections.abc import Sequence
from typing import Self

from tracetime._kernels.perfetto.observer import PacketObserver

class Directory(PacketObserver):
    """Processes, threads and tracks of a whole trace, by pid, tid and uuid.

    process_types: names by ChromeProcessType, "" for none. limit: bytes it may come to.
    """

    left_out: int

    def __new__(cls, process_types: Sequence[str], limit: int) -> Self: ...
    def settle(self) -> None: ...
