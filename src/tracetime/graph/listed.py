"""Which clocks stand in which lists of clocks, for very many of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain

import numpy as np
import numpy.typing as npt

from tracetime.clocks import ClockId
from tracetime.domain import steadiness
from tracetime.graph.asked import is_cpu_time
from tracetime.graph.values import ascending

Values = npt.NDArray[np.int64]


class Listed:
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

    def n_lists(self) -> Values:
        """In how many lists each clock stands, by number."""
        return np.bincount(self.member, minlength=len(self.clocks))

    def partners(self) -> Values:
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
        """(hub, clock) by number: the first of a list and each other, in order, each pair once.

        Clocks of CPU time are left out.
        """
        n = len(self.clocks)
        hub = np.repeat(self.member[self.first], self.sizes)
        runs = np.array([not is_cpu_time(clock) for clock in self.clocks], dtype=bool)
        pairs = hub * n + self.member
        pairs = ascending(pairs[(hub != self.member) & runs[self.member]])
        return pairs // max(n, 1), pairs % max(n, 1)

    def leaves(self, linked: Iterable[ClockId]) -> npt.NDArray[np.bool_]:
        """By number, whether a clock stands in lists with one other alone.

        linked: clocks that are tied to others otherwise, too.
        """
        n = len(self.clocks)
        pair = np.repeat(self.sizes == 2, self.sizes)
        rows = np.flatnonzero(pair)
        other = self.member[rows].reshape(-1, 2)[:, ::-1].ravel()
        low, high = np.full(n, n), np.full(n, -1)
        np.minimum.at(low, self.member[rows], other)
        np.maximum.at(high, self.member[rows], other)
        are: npt.NDArray[np.bool_] = low == high
        are[self.member[np.repeat(self.sizes > 2, self.sizes)]] = False
        known = {clock: k for k, clock in enumerate(self.clocks)} if (at := set(linked)) else {}
        are[[known[clock] for clock in at if clock in known]] = False
        return are
