from typing import Self

class Memos:
    """Numbers kept for ids. seed: of the hashes of these."""

    def __new__(cls, seed: int) -> Self: ...
