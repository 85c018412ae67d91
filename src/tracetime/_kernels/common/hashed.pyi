from typing import ClassVar

def fnv_1a(data: bytes) -> int: ...

class Hashed:
    _hashed_by: ClassVar[tuple[str, ...]]
    def __hash__(self) -> int: ...
