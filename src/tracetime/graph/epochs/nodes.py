"""The nodes of clocks, and the system of bounds that they are in once the clocks' breaks are known.

A gap of a clock is what lies between two of its nodes that follow one another; gap k is after
node k. A clock that a jump cannot take back has its nodes in the order of its readings; another one
in the order of instants.py, while within an epoch readings ascend.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np

from tracetime._kernels.epochs import Waits, drifts
from tracetime.graph.epochs.clashes import CLOSE_NS
from tracetime.graph.epochs.instants import instants
from tracetime.graph.epochs.rows import OPEN, Clock, Rows
from tracetime.graph.values import Mask, Values

Zone = tuple[int, int]
"""The first and the last of the gaps that a clock jumped in one of."""

Cuts = Mapping[int, Iterable[Zone]]
"""Where clocks jumped, once in each zone, by clock."""

_HEAVIEST: Final = 1 << 61
"""What kernels take; a row that needs more is no evidence: 73 years."""

_ONE_READING_NS: Final = 100_000
"""Rows of one reading that seem to be farther apart are not of one instant: a clock set back may
read the same again."""

_ACROSS: Final = -1
"""Stands for the row that says that time goes on over a break."""


_NONE: Final = np.empty(0, dtype=np.int64)


class Contradiction(NamedTuple):
    """Waits and rows that cannot all be as they are.

    Attributes:
        waits: (clock, first node, last node) of each, by the clock's own numbers.
        rows: by number.
        by_ns: how much they are short of agreeing.
        fell: whether a clock reads less than before.
    """

    waits: tuple[tuple[int, int, int], ...]
    rows: tuple[int, ...]
    by_ns: int
    fell: bool = False


class Nodes:
    """The nodes of all clocks.

    Args:
        clocks, rows: what is known.
        when: about when each row was, if that is known.

    Attributes:
        clocks: the clocks.
        rows: what is known of them.
        first: int64[clocks + 1], where each clock's nodes begin, and the end of all.
        readings: int64, of each node, ns since the first reading of its clock.
        base: the first reading of each clock, ns.
        at: about when each node was, int64 ns.
        one, other: the nodes of each row.
    """

    def __init__(self, clocks: Sequence[Clock], rows: Rows, when: Values | None = None) -> None:
        self.clocks = tuple(clocks)
        self.rows = rows
        when = instants(clocks, rows)[0] if when is None else when
        n_rows = len(rows.one)
        clock = np.concatenate([rows.one, rows.other])
        reading = np.concatenate([rows.one_ns, rows.other_ns])
        when = np.concatenate([when, when])
        back = np.array([c.back for c in clocks], dtype=bool)
        by = np.lexsort((when, reading, np.where(back[clock], when, reading), clock))
        clock, reading, when = clock[by], reading[by], when[by]
        other = (np.diff(clock) != 0) | (np.diff(reading) != 0) | (np.diff(when) > _ONE_READING_NS)
        new = np.append(True, other)[: len(by)]
        of_end = np.empty(len(by), dtype=np.int64)
        of_end[by] = np.cumsum(new) - 1
        self.one, self.other = of_end[:n_rows], of_end[n_rows:]
        self.first = np.searchsorted(clock[new], np.arange(len(clocks) + 1)).astype(np.int64)
        self.at = when[new]
        self.clock = clock[new]
        parts_at = np.split(self.at, self.first[1:-1])
        self._latest = [np.maximum.accumulate(part) for part in parts_at]
        bounds = zip(self.first[:-1].tolist(), self.first[1:].tolist(), strict=True)
        own = [reading[new][a:b] for a, b in bounds]
        self.base = [int(part.min()) if len(part) else 0 for part in own]
        parts = [part - base for part, base in zip(own, self.base, strict=True)]
        self.readings: Values = np.concatenate([*parts, np.empty(0, dtype=np.int64)])
        offset = self.readings[self.other] - self.readings[self.one]
        self._upper = _weights(rows.most_ns != OPEN, rows.most_ns, -offset)
        self._lower = _weights(rows.least_ns != -OPEN, -rows.least_ns, offset)

    def size(self, clock: int) -> int:
        """How many nodes a clock has."""
        return int(self.first[clock + 1] - self.first[clock])

    def place(self, clock: int, at: int) -> int:
        """The gap of a clock that an instant lies in, or that ends with it; -1 before all."""
        return int(np.searchsorted(self._latest[clock], at)) - 1

    def likely_gaps(self, clock: int, a: int, b: int) -> list[int]:
        """Gaps from node a of a clock to node b: the last one, and that in which it fell most."""
        own = self.readings[self.first[clock] + a : self.first[clock] + b + 1]
        rises = np.diff(own)
        lowest = int(rises.argmin())
        return [b - 1, a + lowest] if rises[lowest] < 0 else [b - 1]

    def gaps(self, cuts: Cuts) -> Mask:
        """Which nodes are the last before a gap that a clock may have jumped in, bool."""
        cut = np.zeros(len(self.readings) + 1, dtype=bool)
        for clock, zones in cuts.items():
            for first, last in zones:
                cut[self.first[clock] + first : self.first[clock] + last + 1] = True
        return cut[:-1]

    def within(self, cuts: Cuts) -> Mask:
        """Which nodes lie within one zone, bool: they are of the epoch before it or after it."""
        zones = np.zeros(len(self.readings) + 1, dtype=np.int64)
        for clock, own in cuts.items():
            for first, last in own:
                zones[self.first[clock] + first + 1 : self.first[clock] + last + 1] += 1
        within: Mask = zones[:-1] == 1
        return within

    def falls(self, cuts: Cuts, dropped: Iterable[int], slack_ns: Values) -> list[Contradiction]:
        """Where a clock that did not jump reads less than before, by more than its drift.

        Or one of the rows of the two nodes is wrong. Rows that bound one side do not count: when
        they were is not known well enough. Arguments as of `System`.
        """
        least_ns, most_ns = self.rows.least_ns, self.rows.most_ns
        keep = (least_ns != -OPEN) & (most_ns != OPEN)
        keep[list(dropped)] = False
        rows = np.tile(np.flatnonzero(keep), 2)
        ends = np.concatenate([self.one[keep], self.other[keep]])
        wide = np.zeros(len(self.readings), dtype=np.int64)
        np.maximum.at(wide, ends, most_ns[rows] - least_ns[rows])
        used = np.unique(ends)
        before, after = used[:-1], used[1:]
        cut = np.append(0, np.cumsum(self.gaps(cuts)))
        fell = self.readings[before] - self.readings[after]
        far = int(np.ptp(self.at) // 1000 + slack_ns.max()) + CLOSE_NS if len(rows) else 0
        alike = (self.clock[before] == self.clock[after]) & (cut[after] == cut[before])
        found = []
        for k in np.flatnonzero(alike & (fell > far + wide[before] + wide[after])).tolist():
            a, b, clock = int(before[k]), int(after[k]), int(self.clock[before[k]])
            own = rows[(ends == a) | (ends == b)]
            first = int(self.first[clock])
            wait = (clock, a - first, b - first)
            found.append(Contradiction((wait,), tuple(np.unique(own).tolist()), int(fell[k]), True))
        return found

    def weights(self, dropped: Iterable[int], slack_ns: Values) -> tuple[Values, ...]:
        """What the rows kept say: (source node, target node, weight, row), two for each.

        Args:
            dropped: rows left out.
            slack_ns: by how much each is wider than it says.
        """
        keep = np.ones(len(self.one), dtype=bool)
        keep[list(dropped)] = False
        rows = np.arange(len(keep))
        uppers, lowers = keep & (self._upper < _HEAVIEST), keep & (self._lower < _HEAVIEST)
        return (
            np.concatenate([self.one[uppers], self.other[lowers]]),
            np.concatenate([self.other[uppers], self.one[lowers]]),
            np.concatenate([(self._upper + slack_ns)[uppers], (self._lower + slack_ns)[lowers]]),
            np.concatenate([rows[uppers], rows[lowers]]),
        )


def _weights(known: Mask, bound: Values, offset: Values) -> Values:
    """bound + offset where known and not too large, else `_HEAVIEST`."""
    weight = np.where(known, bound, 0) + offset
    weight[~known | (np.abs(weight) >= _HEAVIEST // 2)] = _HEAVIEST
    return weight


class System:
    """All bounds of nodes, given where clocks may have jumped and which rows are wrong.

    Args:
        nodes, cuts, dropped, slack_ns: as of `Findings`.
        in_order: whether what is before a break is known to be earlier than what is after it.

    Attributes:
        nodes: the nodes.
        epoch_first: int64, where each epoch begins among the places, and the end of all.
        epoch_clock: int64, the clock of each.
        epoch_within: bool, which are a node within a zone, rather than an epoch.
        node_at: int64, the node at each place.
        place_of: int64, the place of each node.
    """

    def __init__(
        self,
        nodes: Nodes,
        cuts: Cuts | None = None,
        dropped: Iterable[int] = (),
        slack_ns: Values | None = None,
        *,
        in_order: bool = True,
    ) -> None:
        self.nodes = nodes
        n = len(nodes.readings)
        ends = nodes.gaps(cuts or {})
        within = nodes.within(cuts or {})
        ends[nodes.first[1:][np.diff(nodes.first) > 0] - 1] = True
        begins = np.append(True, ends[:-1])[:n]
        epoch = np.cumsum(begins) - 1
        self.epoch_first: Values = np.append(np.flatnonzero(begins), n)
        self.epoch_clock: Values = nodes.clock[self.epoch_first[:-1]]
        self.epoch_within: Mask = within[self.epoch_first[:-1]]
        self.node_at: Values = np.lexsort((nodes.readings, epoch))
        self.place_of = np.empty(n, dtype=np.int64)
        self.place_of[self.node_at] = np.arange(n)
        self._readings = nodes.readings[self.node_at]
        slopes = [(clock.later, clock.earlier) for clock in nodes.clocks]
        self._slopes = np.array(slopes, dtype=np.int64).reshape(-1, 2)
        slack = np.zeros(len(nodes.one), dtype=np.int64) if slack_ns is None else slack_ns
        source, target, weight, rows = nodes.weights(dropped, slack)
        after, before = self._breaks() if in_order else (_NONE, _NONE)
        self._weight = np.concatenate([weight, self._readings[after] - self._readings[before]])
        self._row = np.append(rows, np.full(len(after), _ACROSS))
        own = self._slopes[self.epoch_clock]
        self.waits = Waits(
            self.epoch_first,
            self._readings,
            own[:, 0],
            own[:, 1],
            np.concatenate([self.place_of[source], after]),
            np.concatenate([self.place_of[target], before]),
            self._weight,
        )

    def _breaks(self) -> tuple[Values, Values]:
        """The places on both sides of each break: (the first after it, the last before it).

        Within a zone only those of a clock whose nodes are in the order of time for sure. None of a
        clock that was set back there: in another explanation that is no break, and no order.
        """
        same = self.epoch_clock[1:] == self.epoch_clock[:-1]
        back = np.array([clock.back for clock in self.nodes.clocks], dtype=bool)
        whole = ~self.epoch_within[1:] & ~self.epoch_within[:-1]
        which = np.flatnonzero(same & (whole | ~back[self.epoch_clock[1:]]))
        after, before = self.epoch_first[which + 1], self.epoch_first[which + 1] - 1
        rises = self._readings[after] - self._readings[before]
        near = (rises >= 0) & (rises < _HEAVIEST)
        return after[near], before[near]

    def contradictions(self) -> Contradictions:
        """Some contradictions, no two of which share a node; none where all can be true."""
        return Contradictions(self, *self.waits.contradictions())

    def short_ns(self, after: Values, before: Values, by: Values) -> Values:
        """How much each step adds: from a place to the next, over a row or a wait, int64 ns."""
        wait = by == -1
        rises = self._readings[after] - self._readings[before]
        clocks = self.nodes.clock[self.node_at[after]]
        slopes = np.where(rises > 0, self._slopes[clocks, 0], self._slopes[clocks, 1])
        added = np.where(wait, drifts(np.abs(rises), slopes), 0)
        added[by >= 0] = self._weight[by[by >= 0]]
        return added

    def rows_at(self, by: Values) -> Values:
        """The row of each step, -1 where it is none."""
        rows = np.full(len(by), -1, dtype=np.int64)
        rows[by >= 0] = self._row[by[by >= 0]]
        return rows


class Contradictions:
    """Contradictions of a system: rings of steps over waits and rows.

    Attributes:
        ring: int64, of each step, the ring that it is of.
        rows: int64, of each step, its row, or -1.
        by_ns: int64, by how much each ring is short of agreeing.
    """

    def __init__(self, system: System, first: Values, places: Values, via: Values) -> None:
        self._system = system
        self._first = first
        self._places, self._via = places, via
        self.ring = np.repeat(np.arange(len(first) - 1), np.diff(first))
        # A step is to each place from the one after it; the last one of a ring from its first.
        following = np.arange(1, len(places) + 1)
        following[first[1:] - 1] = first[:-1]
        self._before = places[following]
        self.rows = system.rows_at(via)
        added = system.short_ns(places, self._before, via)
        self.by_ns = -np.add.reduceat(added, first[:-1]) if len(places) else added

    def __len__(self) -> int:
        return len(self._first) - 1

    def some(self, most: int) -> list[Contradiction]:
        """Some of them, those that are off the most first."""
        return [self._one(k) for k in np.argsort(-self.by_ns, kind="stable")[:most].tolist()]

    def _one(self, k: int) -> Contradiction:
        nodes, system = self._system.nodes, self._system
        steps = slice(int(self._first[k]), int(self._first[k + 1]))
        wait = self._via[steps] == -1
        ends = [system.node_at[p[steps][wait]] for p in (self._places, self._before)]
        clocks = nodes.clock[ends[0]]
        own = [end - nodes.first[clocks] for end in ends]
        waits = zip(
            clocks.tolist(), np.minimum(*own).tolist(), np.maximum(*own).tolist(), strict=True
        )
        rows = self.rows[steps]
        return Contradiction(
            tuple(waits), tuple(np.unique(rows[rows >= 0]).tolist()), int(self.by_ns[k])
        )
