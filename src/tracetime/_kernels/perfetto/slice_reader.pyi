from typing import Self

from tracetime._kernels.perfetto.observer import PacketObserver
from tracetime._kernels.perfetto.slice_log import SliceLog

class SliceReader(PacketObserver):
    """Adds each packet that an importer reads to a log."""

    log: SliceLog

    def __new__(cls, log: SliceLog) -> Self: ...
