from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy.typing as npt

from tracetime._kernels.perfetto.importer import PacketObserver

class Directory(PacketObserver):
    """Processes, threads and tracks of a whole trace, by pid, tid and uuid.

    process_types: names by ChromeProcessType, "" for none. limit: bytes it may come to.
    """

    left_out: int

    def __new__(cls, process_types: Sequence[str], limit: int) -> Self: ...
    def settle(self) -> None: ...

class InternedData:
    """The interned data of all sequences."""

    left_out: int

    def __new__(cls, seed: int, limit: int) -> Self: ...

TEXTS: tuple[str, ...]

class Batch:
    """The rows that are not yet taken; seed: of the hashes of their strings."""

    def __new__(cls, seed: int) -> Self: ...
    def take(self, n: int) -> dict[str, npt.NDArray[Any]]: ...

class NameTables:
    """Where names come from, and the batch they go to."""

    def __new__(
        cls,
        directory: Directory,
        ftrace: Mapping[int, str],
        interned: InternedData,
        batch: Batch,
    ) -> Self: ...

class Names(PacketObserver):
    """What each row of the events table is, apart from its times.

    directory: of the same trace, settled. ftrace: names of ftrace events by field number. limit:
    bytes of interned data that are kept; sequences not used for longest lose theirs first, which
    is counted in `left_out`.
    """

    left_out: int

    def __new__(cls, directory: Directory, ftrace: Mapping[int, str], limit: int) -> Self: ...
    def take(self, n: int) -> dict[str, npt.NDArray[Any]]: ...
