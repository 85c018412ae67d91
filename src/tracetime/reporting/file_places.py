"""When on trace time the packets of a file are, and from where to where each clock was read."""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from tracetime.clocks.int_arrays import is_any_of
from tracetime.errors import PLACED
from tracetime.trace.events_table import Columns

Values = npt.NDArray[np.int64]

_PER_BATCH: Final = 256
"""Events of a batch that are noted: closer ones fall on one pixel of the page."""


class FilePlaces:
    """Packets with a known trace time; another packet has that of the last one before it."""

    def __init__(self) -> None:
        self._columns: list[tuple[Values, Values]] = []
        self._points: tuple[Values, Values] | None = None

    def add(self, columns: Columns) -> None:
        """Note some events of a batch that have a trace time."""
        status = columns["status"]
        rows = np.flatnonzero(is_any_of(status, PLACED))
        rows = rows[:: -(-len(rows) // _PER_BATCH) or 1]
        self._note(columns["packet"][rows].astype(np.int64), columns["trace_time"][rows])

    def add_snapshots(self, packets: npt.NDArray[np.uint64], times_ns: Values) -> None:
        """Note the packets of snapshots that have the trace clock, and what it reads there."""
        self._note(packets.astype(np.int64), times_ns)

    def _note(self, packets: Values, times_ns: Values) -> None:
        self._columns.append((packets, times_ns))
        self._points = None

    def times_ns(self, packets: Values, otherwise_ns: int) -> Values:
        """Return the trace time (ns) of each packet; `otherwise_ns` where nothing is known."""
        if self._points is None:
            columns = [np.concatenate(column) for column in zip(*self._columns, strict=True)]
            noted, times = columns or (np.zeros(0, np.int64), np.zeros(0, np.int64))
            # Of one packet the last that was added counts: its snapshot, not an event.
            order = np.argsort(noted, kind="stable")
            self._points = noted[order], times[order]
        noted, times = self._points
        if not len(noted):
            return np.full(len(packets), otherwise_ns, dtype=np.int64)
        before: Values = times[np.maximum(np.searchsorted(noted, packets, side="right") - 1, 0)]
        return before
