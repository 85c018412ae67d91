from typing import Self

class InternedData:
    """The interned data of all sequences."""

    left_out: int

    def __new__(cls, seed: int, limit: int) -> Self: ...
