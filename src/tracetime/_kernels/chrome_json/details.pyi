from typing import Self

from tracetime._kernels.chrome_json.known_names import KnownNames
from tracetime._kernels.perfetto.batch import Batch

class Details:
    """Names rows: one for each event and line, in a batch.

    known: of the same file, read before.
    """

    batch: Batch
    def __new__(cls, known: KnownNames) -> Self: ...
