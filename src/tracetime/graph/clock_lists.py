"""Which clocks are in which lists of clocks, for very many of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain

import numpy as np
import numpy.typing as npt

from tracetime.clocks.families import steadiness
from tracetime.clocks.ids import ClockId
from tracetime.graph.arguments import is_cpu_time
from tracetime.graph.values import ascending

Values = npt.NDArray[np.int64]


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
        """By number, the reference clock of each: the steadiest other clock of its lists.

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
        """(reference, clock) by number: the first of a list and each other, in order and once.

        Clocks of CPU time are left out.
        """
        n = len(self.clocks)
        reference = np.repeat(self.member[self.first], self.sizes)
        runs = np.array([not is_cpu_time(clock) for clock in self.clocks], dtype=bool)
        pairs = reference * n + self.member
        pairs = ascending(pairs[(reference != self.member) & runs[self.member]])
        return pairs // n, pairs % n

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
