"""Counts of the events that are written to a table, batch by batch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa

from tracetime.analysis.groups import Group, GroupCounter
from tracetime.clocks.ids import ClockId
from tracetime.columns.arrays import known_of
from tracetime.errors import REASONS
from tracetime.graph.values import distances
from tracetime.trace.event_clocks import ClockNumbers, run_starts
from tracetime.trace.events_table import Columns

_CLOCK: Final = ("clock", "sequence", "machine")
"""The columns that name the clock of a row."""


@dataclass(slots=True)
class TargetCounts:
    """Counts of the column to_time, batch by batch.

    Attributes:
        unresolved: rows with a trace_time, but without a to_time.
        cost_ns: how far to_time is at most from where the tube puts that trace time; None where
            nothing was compared.
        uncompared: rows whose to_time was not compared, because the tube has no answer.
    """

    unresolved: int = 0
    cost_ns: int | None = None
    uncompared: int = 0

    def add(self, to_time: pa.Array, trace_time: pa.Array) -> None:
        """Count the rows of a batch."""
        self.unresolved += to_time.null_count - trace_time.null_count

    def compare(self, floor: pa.Array, tube: pa.Array) -> None:
        """Compare to_time of a batch with what the tube makes of the same trace times."""
        (at, here), (estimate, there) = known_of(floor), known_of(tube)
        both = here & there
        self.uncompared += int(np.count_nonzero(here & ~there))
        if both.any():
            largest = int(distances(at[both], estimate[both]).max())
            self.cost_ns = max(self.cost_ns or 0, largest)


class EventCounts:
    """Counts of the rows of a trace.

    Attributes:
        rows: how many there are.
        kinds: rows by codes of kind and status.
        to_time: what is counted of that column.
    """

    def __init__(self) -> None:
        self.rows = 0
        self.kinds: Counter[tuple[int, int]] = Counter()
        self.to_time = TargetCounts()
        # The trace names its clocks and machines at its end: until then, by machine_id.
        self._numbers = ClockNumbers()
        self._groups = GroupCounter()

    def add(self, columns: Columns) -> None:
        """Count the rows of a batch."""
        self.rows += len(columns["status"])
        codes = columns["kind"].astype(np.intp) * len(REASONS) + columns["status"]
        counts = np.bincount(codes)
        for code in np.flatnonzero(counts).tolist():
            self.kinds[divmod(code, len(REASONS))] += int(counts[code])
        starts = run_starts(*(columns[name] for name in (*_CLOCK, "status")))
        clocks = {name: columns[name][starts] for name in _CLOCK}
        self._groups.add_runs(columns, starts, self._numbers.of_rows(clocks))

    def groups(self, clocks: Sequence[ClockId], machines: list[int]) -> list[Group]:
        """Events by clock and status, in order of the status.

        Args:
            clocks: of the snapshots of the trace.
            machines: as `Trace.machines` has them.
        """
        counted = self._groups.take()
        by_id = self._numbers.clocks
        named = ClockNumbers(clocks, machines)
        numbers = [named.of(clock.clock, clock.sequence, clock.machine) for clock in by_id]
        found = [named.clocks[number] for number in numbers]
        key = [(c.machine, c.sequence, c.clock) for c in by_id]
        status, clock = counted.status.tolist(), counted.clock.tolist()
        order = sorted(range(len(clock)), key=lambda k: (status[k], key[clock[k]]))
        return counted.each(np.array(order, dtype=np.int64), found)
