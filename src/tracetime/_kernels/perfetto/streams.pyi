from typing import Self

class Streams:
    """Who writes the packets of a trace: machines, and packet sequences on them."""

    machine_ids: list[int]
    systems: dict[int, bytes]

    def __new__(cls, seed: int) -> Self: ...
