"""The snapshots of a trace as they are written, whether Perfetto takes them or not."""

from __future__ import annotations

from copy import copy
from functools import cached_property
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from tracetime.clocks.ids import ClockId
from tracetime.graph.values import ascending
from tracetime.trace.event_clocks import distinct
from tracetime.trace.trace import WrittenSnapshots

Values = npt.NDArray[np.int64]

MOST_KEPT: Final = 1 << 20
"""Readings, and snapshots: a recorder of ten clocks takes days for so many."""
_MOST_NS: Final = 1 << 62


class Series(NamedTuple):
    """Snapshots that list the same clocks in the same order.

    Attributes:
        clocks: what they list; a sequence's clocks without the file they are in.
        packets: of each snapshot, ascending: int64 array of n.
        values_ns: what each clock read: int64 array of (n, clocks).
    """

    clocks: tuple[ClockId, ...]
    packets: Values
    values_ns: Values


class Steps(NamedTuple):
    """From each reading of a clock to its next one, in file order: int64 arrays of one length.

    Attributes:
        packets: of the later one.
        clock: index of the clock.
        from_ns, to_ns: what it read.
        first_ns: its first reading of all.
    """

    packets: Values
    clock: Values
    from_ns: Values
    to_ns: Values
    first_ns: Values


class Written:
    """Readings by clock, snapshot and packet, those beyond int64 ns left out.

    Attributes:
        clocks: that were read.
        packets, clock, values_ns: of each reading, the index of its clock.
        named: whether its packet says which machine it is of.
        signs: see `WrittenSnapshots`.
    """

    def __init__(self, written: WrittenSnapshots) -> None:
        packets, *key, timestamps, units, named = written.readings
        fits = np.abs(timestamps.astype(np.float64)) * np.abs(units.astype(np.float64)) < _MOST_NS
        keys, which = distinct(*(column[fits] for column in key))
        self.clocks: list[ClockId] = [
            ClockId.of_trace(clock, sequence, machine, 0) for clock, sequence, machine in keys
        ]
        self.packets: Values = packets[fits]
        self.clock: Values = which.astype(np.int64)
        self.values_ns: Values = timestamps[fits] * units[fits]
        self.named: npt.NDArray[np.bool_] = named[fits] != 0
        self.signs: Values = written.signs

    def only(self, rows: npt.NDArray[np.bool_]) -> Written:
        """The same of some of the readings."""
        part = copy(self)
        part.__dict__.pop("_by_clock", None)
        part.packets, part.clock = self.packets[rows], self.clock[rows]
        part.values_ns, part.named = self.values_ns[rows], self.named[rows]
        return part

    def steps(self) -> Steps:
        """From each reading to the next of its clock, by clock and then in file order."""
        order = np.argsort(self.clock, kind="stable")
        clock, packets, values = self.clock[order], self.packets[order], self.values_ns[order]
        same = clock[1:] == clock[:-1]
        first = values[np.searchsorted(clock, clock[1:][same])]
        return Steps(packets[1:][same], clock[1:][same], values[:-1][same], values[1:][same], first)

    def together(self, one: ClockId, other: ClockId) -> tuple[Values, Values, Values]:
        """(packets, one_ns, other_ns) of the snapshots that list both clocks, in file order."""
        (packets, ours), (others, theirs) = self._of(one), self._of(other)
        both, at, there = np.intersect1d(packets, others, return_indices=True)
        return both, ours[at], theirs[there]

    def _of(self, clock: ClockId) -> tuple[Values, Values]:
        """(packets, values_ns) of a clock, in file order."""
        order, ends, numbers = self._by_clock
        number = numbers.get((clock.clock, clock.sequence, clock.machine))
        if number is None:
            return (np.empty(0, np.int64),) * 2
        rows = order[ends[number] : ends[number + 1]]
        return self.packets[rows], self.values_ns[rows]

    @cached_property
    def _by_clock(self) -> tuple[Values, list[int], dict[tuple[int, int, int], int]]:
        """The rows by clock, where each clock's end, and the clocks' numbers."""
        order = np.argsort(self.clock, kind="stable")
        ends = np.searchsorted(self.clock[order], np.arange(len(self.clocks) + 1)).tolist()
        numbers = {(c.clock, c.sequence, c.machine): k for k, c in enumerate(self.clocks)}
        return order, ends, numbers

    def pairs(self, one: int, other: int) -> tuple[Values, Values, Values]:
        """(machine, one_ns, other_ns) of the snapshots that list both of two clocks by number."""
        numbers = np.array([clock.clock for clock in self.clocks], dtype=np.int64)[self.clock]
        machines = np.array([clock.machine for clock in self.clocks], dtype=np.int64)
        sides = []
        for number in (one, other):
            rows = np.flatnonzero(numbers == number)
            machine = machines[self.clock[rows]]
            order = np.lexsort((self.packets[rows], machine))
            sides.append((machine[order], self.packets[rows[order]], self.values_ns[rows[order]]))
        (machine, packets, ours), (others, theirs, values) = sides
        ids, which = np.unique(np.append(machine, others), return_inverse=True)
        span = int(self.packets.max(initial=0)) + 1
        keys = which * span + np.append(packets, theirs)
        _, at, there = np.intersect1d(
            keys[: len(machine)], keys[len(machine) :], return_indices=True
        )
        return ids[which[at]], ours[at], values[there]

    def series(self, least: int = 1, *, turning: bool = False) -> list[Series]:
        """The snapshots by what they list, the most frequent first.

        least: lists that fewer snapshots have are left out.
        turning: lists whose readings are in one order throughout are left out, too.
        """
        _, starts, sizes = np.unique(self.packets, return_index=True, return_counts=True)
        found = []
        for size in ascending(sizes).tolist():
            rows = starts[sizes == size][:, None] + np.arange(size)
            lists, which, counts = np.unique(
                self.clock[rows], axis=0, return_inverse=True, return_counts=True
            )
            order = np.argsort(which.ravel(), kind="stable")
            ends = np.append(0, np.cumsum(counts))
            wanted = counts >= least
            if turning:
                ranks = np.argsort(self.values_ns[rows[order]], axis=1, kind="stable")
                turned = (ranks != np.repeat(ranks[ends[:-1]], counts, axis=0)).any(axis=1)
                wanted &= np.logical_or.reduceat(turned, ends[:-1])
            for i in np.flatnonzero(wanted).tolist():
                ours = rows[order[ends[i] : ends[i + 1]]]
                found.append(
                    Series(
                        tuple(self.clocks[k] for k in lists[i].tolist()),
                        self.packets[ours[:, 0]],
                        self.values_ns[ours],
                    )
                )
        return sorted(found, key=lambda series: -len(series.packets))
