"""Which clocks stand in which lists of clocks, for very many of them."""

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
    """The lists of clocks that snapshots have had, as columns.

    Args:
        clocks: of the snapshots, each once and in order: they go by their place here.
        lists: the clocks of each, by number.
        places: by number of a clock, its place.
        trace_clock: what others are compared with first, if any.

    Attributes:
        clocks: by number.
        which, member: for each clock of each list, the number of the list and of the clock: list by
            list, the trace clock first, then the steadiest. int64.
        first: where each list begins.
        sizes: of the lists.
    """

    def __init__(
        self, clocks: Sequence[ClockId], lists: Iterable[Sequence[int]], places: Values,
        trace_clock: ClockId | None,
    ) -> None:  # fmt: skip
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
        """By number, the clock that each is best compared with, of those it is in a list with.

        -1 where there are none.
        """
        n = len(self.clocks)
        rank = self._rank[self.member]
        # The first of a list is the partner of all others, and the next one its own.
        partner = np.repeat(rank[self.first], self.sizes)
        second = rank[self.first + (self.sizes > 1)]
        partner[self.first] = np.where(self.sizes > 1, second, n)
        best = np.full(n, n)
        np.minimum.at(best, self.member, partner)
        found: Values = np.append(self._steadiest, -1)[best]
        return found

    def compared(self) -> tuple[Values, Values]:
        """(reference, clock) by number: the first of a list and each other, in order and once.

        Clocks of CPU time are left out.
        """
        n = len(self.clocks)
        hub = np.repeat(self.member[self.first], self.sizes)
        runs = np.array([not is_cpu_time(clock) for clock in self.clocks], dtype=bool)
        pairs = hub * n + self.member
        pairs = ascending(pairs[(hub != self.member) & runs[self.member]])
        return pairs // n, pairs % n

    def loopless(self, messages: Iterable[tuple[ClockId, ClockId]]) -> set[ClockId]:
        """The clocks over which no way leads round: those that stand alone, or hang on others.

        They are in lists of two clocks only, and without them the next ones may be.

        messages: clocks that are tied otherwise, too.
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
        # Those of longer lists stay.
        degrees[self.member[np.repeat(self.sizes > 2, self.sizes)]] += n + 2
        # Of a clock that hangs on one alone, this is that one.
        beside = np.zeros(n, dtype=np.int64)
        np.bitwise_xor.at(beside, both, np.concatenate([other, one]))
        degree, last = degrees.tolist(), beside.tolist()
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
