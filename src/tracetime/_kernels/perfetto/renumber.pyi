from typing import Self

class Numbers:
    """Gives each number of a file another, which no other file has."""

    def __new__(cls, seed: int, last: int) -> Self: ...

class Renumberer:
    """Writes the packets of one file after the other, with numbers of their own."""

    left_out: int
    named: set[int]
    def __new__(
        cls, seed: int, sequence: int, names: dict[int, bytes], shared: set[int]
    ) -> Self: ...
    def begin(self, machines: dict[int, int]) -> None: ...
    def end(self) -> None: ...
    def write(self, data: bytes) -> bytes: ...
