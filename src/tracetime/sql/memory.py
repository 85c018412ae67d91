"""The limit of memory that a process may take beyond what it has before: on Linux."""

from __future__ import annotations

import contextlib
import functools
import resource
from collections.abc import Iterator
from pathlib import Path
from typing import Final

_STATM: Final = Path("/proc/self/statm")


def limit_memory(memory: int, taken: int | None = None) -> None:
    """Let this process take so many bytes more than `taken`, or than when it was first limited.

    An allocation beyond that raises MemoryError.
    """
    import pyarrow as pa

    # Arrow's own pool reserves address space by the GB, which would count.
    pa.set_memory_pool(pa.system_memory_pool())
    if _STATM.exists():
        limit = (_bytes_taken() if taken is None else taken) + memory
        _, most = resource.getrlimit(resource.RLIMIT_DATA)
        if most != resource.RLIM_INFINITY:
            limit = min(limit, most)
        resource.setrlimit(resource.RLIMIT_DATA, (limit, most))


@contextlib.contextmanager
def limited_memory(memory: int, *, from_now: bool = False) -> Iterator[None]:
    """Limit a process that does other work, too, as long as this is open.

    from_now: so many bytes more than it has now.
    """
    import pyarrow as pa

    limits, pool = resource.getrlimit(resource.RLIMIT_DATA), pa.default_memory_pool()
    limit_memory(memory, _data() if from_now else None)
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, limits)
        pa.set_memory_pool(pool)


@functools.cache
def _bytes_taken() -> int:
    """The bytes of data that this process has when it is first asked."""
    return _data()


def _data() -> int:
    if not _STATM.exists():
        return 0
    return int(_STATM.read_text().split()[5]) * resource.getpagesize()
