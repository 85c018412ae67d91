"""Spans as a table: records that say where something begins and where it ends."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tracetime.errors import AS_IS
from tracetime.formats.replayed_slices import Entries
from tracetime.graph.clock_graph import inner
from tracetime.trace.event_clocks import ClockNumbers
from tracetime.trace.events_table import CUT_OFF, EARLY, Columns
from tracetime.trace.placement import placed_by_floor
from tracetime.trace.slice_ends import PLACED

if TYPE_CHECKING:
    from tracetime.trace.trace import Trace

Rows = npt.NDArray[np.int64]
Codes = npt.NDArray[np.int32]
Mask = npt.NDArray[np.bool_]

MOST_SPANS: Final = 1 << 25
"""Spans that are kept until all are known: some 5 GB of them."""

_NONE: Final = -1


@dataclass(frozen=True, eq=False, slots=True)
class SpanTable:
    """The spans of a trace, one row each, in file order.

    Attributes:
        begins, ends: where they begin and end: timestamp, clock, and maybe sequence and machine,
            as `placed_by_floor` takes them; maybe `events_table.CUT_OFF`, of both,
            and `EARLY`.
        ended: whether they have an end.
        parent: int64, the row of each one's parent, -1 without one; None where the file has none.
        group: int32, from 0: whose they are. Those of a group share tracks.
        name, category: texts.
        args: JSON texts; None where they are not requested.
        owners: of each group, by column of `SLICES_SCHEMA`: track_name, thread_name and
            process_name (texts), tid and pid (numbers); null where it has none. Columns that are
            not there are null.
        groups: how many there are.
        left_out, names_left_out: how many spans, and names or arguments, there was no room for.
    """

    begins: Columns
    ends: Columns
    ended: Mask
    parent: Rows | None
    group: Codes
    name: pa.Array
    category: pa.Array
    args: pa.Array | None
    owners: Mapping[str, pa.Array]
    groups: int
    left_out: int = 0
    names_left_out: int = 0

    def __len__(self) -> int:
        return len(self.group)


class SpanReadings:
    """What clocks read where spans begin (entry 2 n of span n) and end (2 n + 1), placed by floor.

    Attributes:
        clocks: as `replayed_slices.Readings` has them.
        placed: the columns `PLACED` of the begins, and of the ends; `CUT_OFF` and `EARLY` where
            they have them.
    """

    def __init__(self, trace: Trace, table: SpanTable) -> None:
        numbers = ClockNumbers((), trace.machines)
        graph, home, machines = inner(trace.clocks), trace.trace_clock, trace.machines
        sides = [
            placed_by_floor(side, graph, home, machines) for side in (table.begins, table.ends)
        ]
        self._numbers = [numbers.of_rows(side).astype(np.int32) for side in sides]
        names = [name for name in (*PLACED, CUT_OFF, EARLY) if name in sides[0]]
        begins, ends = ({name: side[name] for name in names} for side in sides)
        self.placed = begins, ends
        self.clocks = numbers.clocks

    def numbers(self, entries: Entries) -> Codes:
        """The number of the clock of some entries; -1: of none."""
        begin, end = (side[entries >> 1] for side in self._numbers)
        return np.where(entries < 0, np.int32(_NONE), np.where(entries & 1 == 1, end, begin))

    def begins(self, entries: Entries) -> Columns:
        """The columns `placed` of some entries."""
        begin, end = self.placed
        rows, is_end = entries >> 1, entries & 1 == 1
        return {name: np.where(is_end, end[name][rows], begin[name][rows]) for name in begin}

    def ends(self, entries: Entries) -> Columns:
        """The columns `placed` of some entries; -1: of none."""
        columns = self.begins(entries)
        columns["status"][entries < 0] = AS_IS
        return columns
