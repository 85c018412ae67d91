"""The contents of a graph's snapshots: clocks, the lists of clocks that they have, readings."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from threading import RLock
from typing import Any

import numpy as np
import numpy.typing as npt

from tracetime._kernels import graph as kernel
from tracetime.clocks.families import steadiness
from tracetime.clocks.ids import ClockId
from tracetime.clocks.snapshot import INT64_MAX
from tracetime.graph.arguments import is_cpu_time
from tracetime.graph.info import ClockInfo, Readings, SeriesInfo
from tracetime.graph.state import GraphState
from tracetime.graph.values import Values, ascending


class ClockLists:
    """The lists of clocks of snapshots, as columns.

    Args:
        clocks: of the snapshots, each once and in order; a clock's number is its place here.
        lists: the clocks of each, by the engine's number.
        places: by the engine's number of a clock, its number here.
        trace_clock: the clock that others are compared with first, if any.

    Attributes:
        clocks: by number.
        which, member: for each clock of each list, the number of the list and of the clock, int64;
            list by list, the trace clock first, then the steadiest.
        first: where each list begins.
        sizes: of the lists.
    """

    def __init__(
        self,
        clocks: Sequence[ClockId],
        lists: Iterable[Sequence[int]],
        places: Values,
        trace_clock: ClockId | None,
    ) -> None:
        self.clocks = clocks
        every = list(lists)
        which = np.repeat(np.arange(len(every)), [len(members) for members in every])
        member = np.fromiter(chain.from_iterable(every), dtype=np.int64, count=len(which))
        kind = [-1 if clock == trace_clock else steadiness(clock)[0] for clock in clocks]
        self._steadiest = np.argsort(np.array(kind, dtype=np.int64), kind="stable")
        self._rank = np.empty(len(clocks), dtype=np.int64)
        self._rank[self._steadiest] = np.arange(len(clocks))
        rank = self._rank[places[member]]
        order = np.lexsort((rank, which))
        which, rank = which[order], rank[order]
        # Two numbers of a list may be one clock here.
        once = np.append(True, (which[1:] != which[:-1]) | (rank[1:] != rank[:-1]))[: len(which)]
        self.which, self.member = which[once], self._steadiest[rank[once]]
        begins = np.append(True, self.which[1:] != self.which[:-1])[: len(self.which)]
        self.first = np.flatnonzero(begins)
        self.sizes = np.diff(np.append(self.first, len(self.which)))

    def references(self) -> Values:
        """The reference of each clock, by number: the steadiest other clock of its lists.

        -1 where there are none.
        """
        n = len(self.clocks)
        rank = self._rank[self.member]
        # The first clock of a list is the reference of all others, the second is its reference.
        reference = np.repeat(rank[self.first], self.sizes)
        second = rank[self.first + (self.sizes > 1)]
        reference[self.first] = np.where(self.sizes > 1, second, n)
        best = np.full(n, n)
        np.minimum.at(best, self.member, reference)
        found: Values = np.append(self._steadiest, -1)[best]
        return found

    def compared(self) -> tuple[Values, Values]:
        """The pairs (reference, clock) by number: a list's first clock and each other, once.

        Clocks of CPU time are left out.
        """
        n = len(self.clocks)
        reference = np.repeat(self.member[self.first], self.sizes)
        runs = np.array([not is_cpu_time(clock) for clock in self.clocks], dtype=bool)
        pairs = reference * n + self.member
        pairs = ascending(pairs[(reference != self.member) & runs[self.member]])
        return pairs // n, pairs % n

    def of_machines(self) -> list[list[ClockId]]:
        """The lists, without the clocks of sequences; those that have two others."""
        lists = defaultdict[int, list[ClockId]](list)
        whole = np.array([not clock.sequence for clock in self.clocks], dtype=bool)
        kept = whole[self.member]
        for number, member in zip(
            self.which[kept].tolist(), self.member[kept].tolist(), strict=True
        ):
            lists[number].append(self.clocks[member])
        return [clocks for clocks in lists.values() if len(clocks) > 1]

    def loopless(self, messages: Iterable[tuple[ClockId, ClockId]]) -> set[ClockId]:
        """The clocks that are on no loop of clocks.

        A clock of lists of two with one neighbour or none is on no loop. Without these clocks, the
        same may be true of their neighbours.

        messages: pairs of clocks that messages tie.
        """
        number = {clock: k for k, clock in enumerate(self.clocks)}
        tied = [[number.setdefault(c, len(number)) for c in pair] for pair in messages]
        n = len(number)
        rows = np.repeat(self.sizes == 2, self.sizes)
        ends = np.concatenate(
            [self.member[rows].reshape(-1, 2), np.array(tied, dtype=np.int64).reshape(-1, 2)]
        )
        ends.sort(axis=1)
        one, other = np.divmod(ascending(ends[:, 0] * n + ends[:, 1]), n)
        both = np.concatenate([one, other])
        degrees = np.bincount(both, minlength=n)
        # Clocks of longer lists are on a loop: their degree never gets down to 1.
        degrees[self.member[np.repeat(self.sizes > 2, self.sizes)]] += n + 2
        # The neighbours of each clock in one number: of a clock with one neighbour, that one.
        neighbours = np.zeros(n, dtype=np.int64)
        np.bitwise_xor.at(neighbours, both, np.concatenate([other, one]))
        degree, last = degrees.tolist(), neighbours.tolist()
        ends_left = np.flatnonzero(degrees == 1).tolist()
        found = np.flatnonzero(degrees == 0).tolist()
        while ends_left:
            k = ends_left.pop()
            there = last[k]
            found.append(k)
            if degree[k]:
                degree[there] -= 1
                last[there] ^= k
                if degree[there] == 1:
                    ends_left.append(there)
            degree[k] = 0
        clocks = list(number)
        return {clocks[k] for k in found}


class Numbering:
    """The engine's numbers of clocks, which stay as snapshots are added.

    Attributes:
        numbers: by clock; a file of a graph may hold two that are one clock here.
    """

    def __init__(self, state: GraphState, lock: RLock) -> None:
        self._state = state
        self._lock = lock
        self._ids: list[ClockId] = []
        self.numbers: dict[ClockId, list[int]] = {}

    def clocks(self) -> list[ClockId]:
        """The clocks by number."""
        with self._lock:
            for key in kernel.keys(self._state.engine, len(self._ids)):
                clock = self._state.clock(key)
                self.numbers.setdefault(clock, []).append(len(self._ids))
                self._ids.append(clock)
            return self._ids


class Contents:
    """The contents of a graph's snapshots, as long as none is added.

    Each list is made where it is first needed. Callers do not change lists that are returned.
    """

    def __init__(self, state: GraphState, numbering: Numbering, lock: RLock) -> None:
        self._state = state
        self._engine = state.engine
        self._numbering = numbering
        self._lock = lock
        self._clocks: list[ClockInfo] | None = None
        self._series: list[SeriesInfo] | None = None
        self._lists: ClockLists | None = None
        self._compared: list[tuple[ClockId, ClockId]] | None = None
        self._units: dict[ClockId, int] | None = None
        self._known: list[ClockId] | None = None

    def clocks(self) -> list[ClockInfo]:
        """Every clock of a snapshot, in Perfetto's order."""
        with self._lock:
            if self._clocks is None:
                ids = self._numbering.clocks()
                infos = (ClockInfo(ids[row[0]], *row[1:]) for row in kernel.clocks(self._engine))
                self._clocks = sorted(infos, key=lambda info: info.clock.order())
            return self._clocks

    def known(self) -> list[ClockId]:
        """Every clock of a snapshot, in Perfetto's order, and after them those of orders alone."""
        with self._lock:
            if self._known is None:
                known = [info.clock for info in self.clocks()]
                alone = self._state.orders.clocks() - set(known)
                self._known = known + sorted(alone, key=ClockId.order)
            return self._known

    def series(self) -> list[SeriesInfo]:
        """The ordered lists of clocks that snapshots have, in order of appearance."""
        with self._lock:
            if self._series is None:
                ids = self._numbering.clocks()
                self._series = [
                    SeriesInfo(tuple([ids[number] for number in numbers]), snapshots)
                    for numbers, snapshots in kernel.series(self._engine)
                ]
            return self._series

    def mixed_series(self) -> Iterator[list[ClockId]]:
        """The lists of clocks of several machines."""
        ids = self._numbering.clocks()
        for numbers, _ in kernel.series(self._engine, mixed=True):
            yield [ids[number] for number in numbers]

    def lists(self) -> ClockLists:
        """The lists of clocks in `series`, as columns."""
        with self._lock:
            if self._lists is None:
                clocks = list(dict.fromkeys(info.clock for info in self.clocks()))
                lists = (numbers for numbers, _ in kernel.series(self._engine))
                self._lists = ClockLists(clocks, lists, self._places(), self._state.trace_clock)
            return self._lists

    def compared(self) -> list[tuple[ClockId, ClockId]]:
        """The pairs (reference, clock) whose discontinuities are searched, in order."""
        with self._lock:
            if self._compared is None:
                clocks = self.lists().clocks
                pairs = zip(*(side.tolist() for side in self.lists().compared()), strict=True)
                self._compared = [(clocks[one], clocks[other]) for one, other in pairs]
            return self._compared

    def edges(self) -> list[tuple[ClockId, ClockId, int]]:
        """The conversions of one hop: (source, target, snapshots)."""
        backwards = {info.clock for info in self.clocks() if not info.monotonic}
        counts: dict[tuple[ClockId, ClockId], int] = {}
        for clocks, snapshots in self.series():
            for source in clocks:
                for target in clocks:
                    if source != target and source not in backwards:
                        counts[source, target] = counts.get((source, target), 0) + snapshots
        return [(source, target, n) for (source, target), n in sorted(counts.items())]

    def unit_ns(self, clock: ClockId) -> int:
        """Nanoseconds per unit of a clock; 1 of one that no snapshot has."""
        if self._units is None:
            self._units = {info.clock: info.unit_ns for info in self.clocks()}
        return self._units.get(clock, 1)

    def neighbours(self, clock: ClockId, enough: int = INT64_MAX) -> set[ClockId]:
        """The clocks that share snapshots with one; of very many `enough`."""
        ids = self._numbering.clocks()
        return {
            ids[other]
            for number in self._numbering.numbers.get(clock, ())
            for other in kernel.neighbours(self._engine, number, enough)
        } - {clock}

    def tied_only_to(self, clock: ClockId) -> set[ClockId]:
        """The clocks that are in one list only, which has this clock, too."""
        ids = self._numbering.clocks()
        return {ids[n] for n in kernel.tied_only_to(self._engine, self._state.key(clock))}

    def readings(self) -> Iterator[Readings]:
        """Every reading of every snapshot; a clock comes once for each list of clocks it is in."""
        for index in range(kernel.n_columns(self._engine)):
            key, snapshots, values_ns = kernel.column_of(self._engine, index)
            clock = self._state.clock(key)
            read = self._state.measured.reads(clock, snapshots)
            yield Readings(clock, snapshots, values_ns, read.centre, read.half)

    def readings_of(self, clock: ClockId) -> tuple[Values, Values]:
        """The readings of one clock: (snapshots, ns)."""
        return kernel.readings_of(self._engine, self._state.key(clock))

    def every_reading(self) -> tuple[Values, Values]:
        """The readings of every snapshot: (place of the clock among `clocks`, ns)."""
        which, values_ns = kernel.every_reading(self._engine)
        return self._places()[which], values_ns

    def shared(self, one: ClockId, other: ClockId) -> tuple[Any, Any, Any]:
        """The shared readings of two clocks: (snapshots, readings of one, of the other)."""
        key = self._state.key
        return kernel.pairs(self._engine, key(one), key(other))

    def packets(self) -> npt.NDArray[np.uint64]:
        """The packet of the trace that each snapshot came in, by its number."""
        return kernel.snapshot_packets(self._engine)

    def nodes(self) -> Values:
        """The engine's number of each clock's conversions, by place of the clock."""
        nodes: dict[ClockId, int] = {}
        keys = kernel.keys(self._engine, 0)
        for number, (key, clock) in enumerate(zip(keys, self._numbering.clocks(), strict=True)):
            if clock not in nodes or key == self._state.key(clock):
                nodes[clock] = number
        return np.array([nodes[clock] for clock in self.lists().clocks], dtype=np.int64)

    def _places(self) -> Values:
        """The place of each clock among `clocks`, by the engine's number; -1 for none."""
        clocks = dict.fromkeys(info.clock for info in self.clocks())
        place = {clock: k for k, clock in enumerate(clocks)}
        return np.array([place.get(c, -1) for c in self._numbering.clocks()], dtype=np.int64)
