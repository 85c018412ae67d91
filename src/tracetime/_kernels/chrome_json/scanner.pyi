from typing import Self

import numpy as np
import numpy.typing as npt

from tracetime._kernels.chrome_json.observer import EventObserver

class Scanner:
    """Scans a file that is given in chunks.

    Args:
        observer: receives the events and lines.
        lines: the file is systrace's text, not JSON.

    Attributes:
        is_array: the file is an array of events, not an object with one.
        fault: what is wrong at the byte `fault_offset`: an index of FAULTS of
            formats/chrome_json/faults.py; 0 as long as nothing is.
        n_events: objects in traceEvents so far.
        n_lines: lines of systrace so far; n_strange_lines: others that are not empty nor comments,
            from the byte `strange_offset` on.
        n_lost: events that lines say were lost, the first before the line `first_lost_before`.
        n_kernel_events: those of an object systemTraceEvents, which are not read.
        values: (key, raw text, offset of the text) of each key beside the events, but of long ones.
    """

    is_array: bool
    fault: int
    fault_offset: int
    n_events: int
    n_lines: int
    n_strange_lines: int
    strange_offset: int
    n_lost: int
    first_lost_before: int
    n_kernel_events: int
    values: list[tuple[bytes, bytes, int]]
    def __new__(cls, observer: EventObserver, lines: bool = False) -> Self: ...
    def feed(self, chunk: bytes | npt.NDArray[np.uint8]) -> None:
        """Take the next bytes of the file, once `scan` has returned False."""

    def scan(self) -> bool:
        """Scan what there is; returns whether the observer is full, and this is to be repeated."""

    def finish(self) -> bool:
        """Scan the rest, after the last chunk; returns as `scan` does, and may set `fault`."""
