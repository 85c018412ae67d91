from typing import ClassVar

class Hashed:
    _hashed_by: ClassVar[tuple[str, ...]]
    def __hash__(self) -> int: ...
