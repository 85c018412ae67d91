"""The clocks that rows of a trace name by their columns clock, sequence and machine."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from tracetime.clocks.ids import ClockId
from tracetime.trace.events_table import Columns

Rows = npt.NDArray[np.intp]
Numbers = npt.NDArray[np.integer[Any]]


def machine_indexes(machines: list[int]) -> dict[int, int]:
    """The index of each machine_id; machines: as `Trace.machines` has them."""
    return {machine_id: index for index, machine_id in enumerate(machines)}


def distinct(
    clock: Numbers, sequence: Numbers, machine: Numbers
) -> tuple[list[tuple[int, int, int]], Rows]:
    """The distinct triples of three columns of uint32, in order, and the index of each row's."""
    starts = run_starts(clock, sequence, machine)
    scoped = clock[starts].astype(np.uint64) << np.uint64(32) | sequence[starts].astype(np.uint64)
    keys, which = np.unique(scoped, return_inverse=True)
    machine = machine[starts]
    found = machine[:1]
    if (machine != found).any():
        found, on = np.unique(machine, return_inverse=True)
        pairs, which = np.unique(which * len(found) + on, return_inverse=True)
        keys, found = keys[pairs // len(found)], found[pairs % len(found)]
    else:
        found = np.repeat(found, len(keys))
    clocks, sequences = keys >> np.uint64(32), keys & np.uint64(0xFFFFFFFF)
    triples = list(zip(clocks.tolist(), sequences.tolist(), found.tolist(), strict=True))
    return triples, np.repeat(which, np.diff(starts, append=len(clock)))


def run_starts(*columns: Numbers) -> Rows:
    """The rows at which the value of any column differs from that of the row before."""
    begins = np.zeros(len(columns[0]), dtype=bool)
    begins[:1] = True
    for column in columns:
        begins[1:] |= column[1:] != column[:-1]
    return np.flatnonzero(begins)


def by_clock(
    columns: Columns, rows: Rows, machines: Mapping[int, int]
) -> Iterator[tuple[ClockId, Rows]]:
    """The clocks of some rows, each with its rows in file order.

    machines: the index of each machine_id.
    """
    if not len(rows):
        return
    keys, which = distinct(*(columns[name][rows] for name in ("clock", "sequence", "machine")))
    ends = np.cumsum(np.bincount(which, minlength=len(keys)))
    # Few clocks fit in 16 bits, where a stable sort is a radix sort.
    kind = np.uint16 if len(keys) <= 1 << 16 else np.int64
    parts = np.split(rows[np.argsort(which.astype(kind), kind="stable")], ends[:-1])
    for (clock, sequence, machine_id), part in zip(keys, parts, strict=True):
        # Only the host's machine_id may have no index.
        yield ClockId.of_trace(clock, sequence, machines.get(machine_id, 0), 0), part


class ClockNumbers:
    """The numbers of the clocks of rows.

    Args:
        clocks: of the snapshots: they have the first numbers, in this order.
        machines: machine_id by index, as `Trace.machines` has them; a machine_id that is not there
            is taken for an index.

    Attributes:
        clocks: by number; those that only rows name follow as they appear.
    """

    def __init__(self, clocks: Iterable[ClockId] = (), machines: Iterable[int] = ()) -> None:
        self.clocks = list(clocks)
        self._machines = machine_indexes(list(machines))
        # The table knows no files: sequence-scoped clocks take theirs from the snapshots.
        self._known = {(c.clock, c.sequence, c.machine): k for k, c in enumerate(self.clocks)}

    def of_rows(self, columns: Columns) -> npt.NDArray[np.int64]:
        """The number of the clock of each row of a batch."""
        keys, which = distinct(columns["clock"], columns["sequence"], columns["machine"])
        return np.array([self.of(*key) for key in keys], dtype=np.int64)[which]

    def of(self, clock: int, sequence: int, machine_id: int) -> int:
        """The number of one clock."""
        key = clock, sequence, self._machines.get(machine_id, machine_id)
        number = self._known.setdefault(key, len(self.clocks))
        if number == len(self.clocks):
            self.clocks.append(ClockId.of_trace(*key, 0))
        return number
