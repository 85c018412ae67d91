"""What of trace_sorter.{h,cc} decides between putting a packet aside and dropping it."""

from __future__ import annotations

from collections.abc import Hashable


class Sorter:
    def __init__(self) -> None:
        self.full = False
        self.extracted = False
        self.flushes = 0
        self.pushed = 0
        self.limit = 0
        self.latest = 0
        self.queues: dict[Hashable, int] = {}
        self.earliest: dict[int, tuple[int, int]] = {}

    def open(self, queue: Hashable) -> int:
        return self.queues.setdefault(queue, len(self.queues))

    def push(self, queue: Hashable, ts: int) -> None:
        if ts < 0:
            return
        index = self.open(queue)
        event = (ts, self.pushed)
        self.pushed += 1
        self.earliest[index] = min(self.earliest.get(index, event), event)
        self.latest = max(self.latest, ts)

    def flush(self) -> None:
        self.flushes += 1

    def read_buffers(self) -> None:
        if self.full or self.flushes < 2:
            return
        if not self.extracted and self.earliest:
            # Of events of one time in several queues Perfetto looks at the one in the first
            # queue; here it is the one pushed first.
            _, pushed = min(self.earliest.values())
            self.extracted = pushed < self.limit
        self.limit = self.pushed
        self.flushes = 0

    def sort_fully(self) -> bool:
        """Whether packets may be put aside until the end of the file."""
        if not self.full and not self.extracted:
            self.full = True
        return self.full
