from collections.abc import Mapping
from typing import Self

from tracetime._kernels.perfetto.batch import Batch
from tracetime._kernels.perfetto.directory import Directory
from tracetime._kernels.perfetto.interning import InternedData

class NameTables:
    """Where names come from, and the batch they go to."""

    def __new__(
        cls,
        directory: Directory,
        ftrace: Mapping[int, str],
        interned: InternedData,
        batch: Batch,
    ) -> Self: ...
