from typing import Self

class BakedClocks:
    """Writes the snapshots of a baked trace of one machine."""

    trace_clock: int
    def __new__(cls, trace_clock: int, machine_id: int, mark: int) -> Self: ...
