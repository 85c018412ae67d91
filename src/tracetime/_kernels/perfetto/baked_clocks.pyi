from typing import Self

class BakedClocks:
    """Writes the snapshots of a baked trace of one machine."""

    trace_clock: int
    machine_id: int
    is_home: bool
    converted: bool
    named_trace_clock: bool
    def __new__(cls, trace_clock: int, machine_id: int, mark: int, is_home: bool) -> Self: ...
    def know(self, trace_ns: int, wall_ns: int) -> None: ...
