"""What the events of slices read: for each entry of a log, the columns that place it."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from tracetime._kernels.perfetto.slices import SliceLog
from tracetime.clocks.ids import ClockId
from tracetime.errors import AS_IS
from tracetime.trace.event_clocks import ClockNumbers
from tracetime.trace.events_table import SOURCE_STATUS, SOURCE_TIME, Columns
from tracetime.trace.slice_ends import PLACED

Entries = npt.NDArray[np.int32]

_OF_SOURCE: Final = {SOURCE_TIME: np.int64, SOURCE_STATUS: np.uint8}
_TIMES: Final = ("trace_time", "source_ns", SOURCE_TIME)
_STATUSES: Final = ("status", SOURCE_STATUS)


class SliceReadings:
    """The readings of the entries of a log, in order.

    machines: machine_id by index, as `Trace.machines` has them. baked: whether the events have
    what they read in their source, too.
    """

    def __init__(self, machines: list[int], baked: bool = False) -> None:
        self._numbers = ClockNumbers((), machines)
        self._clocks: list[npt.NDArray[np.int32]] = []
        self._columns = PLACED | _OF_SOURCE if baked else PLACED
        self._batches: dict[str, list[npt.NDArray[Any]]] = {name: [] for name in self._columns}
        self._durations: list[npt.NDArray[np.int64]] = []
        self._entries = 0

    def add(self, log: SliceLog, base: int, columns: Columns) -> None:
        """Add what the log has more than before: entries of one batch of events.

        base: the number of its first event.
        """
        rows = log.rows(self._entries) - base
        self._append(log, len(rows))
        of_event = np.flatnonzero(rows >= 0)
        for name, parts in self._batches.items():
            parts[-1][of_event] = columns[name][rows[of_event]]
        if len(of_event):
            named = {name: parts[-1][of_event] for name, parts in self._batches.items()}
            self._clocks[-1][of_event] = self._numbers.of_rows(named)

    def add_rest(self, log: SliceLog) -> None:
        """Add the entries after the last event: nothing places them."""
        self._append(log, len(log) - self._entries)

    def _append(self, log: SliceLog, count: int) -> None:
        for name, dtype in self._columns.items():
            self._batches[name].append(np.zeros(count, dtype))
        for name in _STATUSES:
            if name in self._batches:
                self._batches[name][-1][:] = AS_IS
        self._clocks.append(np.full(count, -1, np.int32))
        self._durations.append(log.durations(self._entries))
        self._entries = len(log)

    @property
    def clocks(self) -> list[ClockId]:
        """The clocks that the events name, by number; those that name none have clock 0."""
        return self._numbers.clocks

    def numbers(self, entries: Entries) -> npt.NDArray[np.int32]:
        """The number of the clock of some entries; -1: of none."""
        numbers = np.concatenate([*self._clocks, np.full(1, -1, np.int32)])
        return numbers[entries]

    def begins(self, entries: Entries) -> Columns:
        """The columns `PLACED` of some entries."""
        return {name: self._whole(name)[entries] for name in self._columns}

    def ends(self, entries: Entries) -> Columns:
        """The columns `PLACED` of some entries, where they end slices; -1: none does.

        A complete event ends its duration later, on its own clock: that comes before converting.
        """
        columns = self.begins(entries)
        durations = np.concatenate(self._durations)[entries]
        later = np.flatnonzero(durations > 0)
        fits = np.ones(len(later), np.bool_)
        for name in _TIMES:
            if name not in columns:
                continue
            before = columns[name][later]
            columns[name][later] = before + durations[later]
            fits &= columns[name][later] >= before
        for name in _STATUSES:
            if name in columns:
                columns[name][later[~fits]] = AS_IS
                columns[name][entries < 0] = AS_IS
        return columns

    def _whole(self, name: str) -> npt.NDArray[Any]:
        return np.concatenate([np.zeros(0, self._columns[name]), *self._batches[name]])
