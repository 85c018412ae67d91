"""Which machines are tied together by readings or messages; Perfetto's rule alone ties none.

And which clocks are tied in several ways: one that jumped did so for all of its pairs. The tube of
two clocks knows of no jump but those that its own evidence shows. Where another pair shows one, or
only a ring of messages does, bars are those of all evidence at once (`group.py`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import cached_property
from itertools import chain, combinations
from typing import TYPE_CHECKING, Final, NamedTuple

from tracetime.clocks.domain import ClockDomain
from tracetime.clocks.families import STEADY
from tracetime.clocks.ids import ClockId
from tracetime.errors import ConversionError

if TYPE_CHECKING:
    from tracetime.graph.tube.graph_data import Neighbours
    from tracetime.graph.tube.group import Group
    from tracetime.graph.tube.pair import Pair
    from tracetime.graph.tube.pairs import Pairs
    from tracetime.graph.tube.results import Reached

MOST_CLOCKS: Final = 20
"""Closing takes n^3 steps an instant: of more clocks, only a few paths are compared."""

_FEWEST: Final = 3
"""Two clocks have one pair: it shows all that is known of them."""

_MOST_OTHERS: Final = 2
"""That a clock jumped which says that it never does is likelier than that so many others did."""

Domain = Callable[[ClockId], ClockDomain]


class Machines:
    """The machines of a graph, and which of them are tied.

    Args:
        series: gives the lists of clocks that snapshots have had, of several machines at least.
        bounded: the pairs of clocks that messages bound.
        read_together: whether any snapshot has read two clocks.
    """

    def __init__(
        self,
        series: Callable[[], Iterable[Sequence[ClockId]]],
        bounded: Iterable[tuple[ClockId, ClockId]],
        read_together: Callable[[ClockId, ClockId], bool],
    ) -> None:
        self._series = series
        self._bounded = bounded
        self._read_together = read_together

    def are_tied(self, one: ClockId, other: ClockId) -> bool:
        """Whether readings or messages lead from one clock's machine to the other's."""
        if one.machine == other.machine:
            return True
        return _root(self._above, one.machine) == _root(self._above, other.machine)

    @cached_property
    def _above(self) -> dict[int, int]:
        """The machines as trees: those of one tree are tied."""
        above: dict[int, int] = {}
        for one, other in self._links():
            above[_root(above, one)] = _root(above, other)
        return above

    def _links(self) -> Iterator[tuple[int, int]]:
        by_messages = {(one.machine, other.machine) for one, other in self._bounded}
        yield from by_messages
        for clocks in self._series():
            here = clocks[0]
            seen = {here.machine}
            for other in clocks[1:]:
                if other.machine in seen:
                    continue
                seen.add(other.machine)
                ends = (here.machine, other.machine)
                known = ends in by_messages or ends[::-1] in by_messages
                if not known and self._read_together(here, other):
                    yield ends


def _root(above: dict[int, int], machine: int) -> int:
    """The root of a machine's tree; the path to it gets shorter."""
    while (next_one := above.get(machine, machine)) != machine:
        above[machine] = above.get(next_one, next_one)
        machine = above[machine]
    return machine


class Together:
    """The clocks of a graph that are tied in several ways.

    Args:
        pairs: the tubes.
        neighbours: by clock, those that it has a pair with.
        domain: the limits of a clock.
        lists: gives the lists of clocks that were read together, or exchanged messages.
    """

    def __init__(
        self,
        pairs: Pairs,
        neighbours: Neighbours,
        domain: Domain,
        lists: Callable[[], Iterable[Sequence[ClockId]]],
    ) -> None:
        self._pairs = pairs
        self._neighbours = neighbours
        self._domain = domain
        self._lists = lists
        self._made: dict[Tied, Group | None] = {}

    @cached_property
    def _groups(self) -> dict[ClockId, Tied]:
        return groups(self._lists())

    def held(self, path: Sequence[ClockId], reached: Sequence[Reached], *, closed: bool) -> Reached:
        """A conversion whose bars hold all that any pair shows.

        Args:
            path: the clocks that it leads over.
            reached: the values on each of them, by the tubes of the path; the last, if `closed`, as
                other pairs of these clocks say, too.
        """
        group = self._of(path)
        return reached[-1] if group is None else group.held(path, reached, closed=closed)

    def jumped(self, path: Sequence[ClockId], reached: Sequence[Reached]) -> list[ClockId]:
        """The clocks that may have jumped where tubes do not show it, if `held` says so."""
        group = self._of(path)
        return [] if group is None else group.jumped(path, reached)

    def _of(self, path: Sequence[ClockId]) -> Group | None:
        """What is known of the clocks of a path beyond what their tubes show."""
        tied = self._groups.get(path[0])
        if tied is None or not tied.clocks.issuperset(path):
            return None
        if tied not in self._made:
            self._made[tied] = self._group(tied)
        return self._made[tied]

    def _group(self, tied: Tied) -> Group | None:
        """What is known of some clocks; None where tubes show it, or would be too many."""
        clocks = sorted(tied.clocks, key=ClockId.order)
        ties = [tie for tie in combinations(clocks, 2) if tie[1] in self._neighbours[tie[0]]]
        with self._pairs.beside(len(ties)) as has_room:
            if not has_room:
                return None
            # What clocks of one list did shows in each of its pairs.
            several = self._in_ns(tie for tie in ties if not tied.several.isdisjoint(tie))
            if not tied.in_loops and not _may_hide(several, tied.several):
                return None
            # A module that few graphs need.
            from tracetime.graph.tube.group import Group, are_near, contradict

            if not are_near(several) or not contradict(several, self._domain):
                return None
            # In a suspend BOOTTIME may jump as well: suspends.py knows.
            if any(self._pairs.suspends(clock) for clock in clocks if self._is_plain(clock)):
                return None
            pairs = self._in_ns(ties)
            group = Group(pairs, self._domain) if are_near(pairs) else None
        return group if group is not None and group.hides else None

    def _is_plain(self, clock: ClockId) -> bool:
        with suppress(ConversionError):
            return self._pairs.counter(clock) is None
        return False

    def _in_ns(self, ties: Iterable[tuple[ClockId, ClockId]]) -> list[Pair]:
        """The tubes of some pairs of clocks, of those that there are, and whose clocks count ns."""
        found = []
        for one, other in ties:
            with suppress(ConversionError):
                if self._is_plain(one) and self._is_plain(other):
                    pair = self._pairs.pair(one, other)
                    if pair.a_rate == pair.b_rate == 1 and not pair.learnt:
                        found.append(pair)
        return found


def _may_hide(pairs: Iterable[Pair], several: frozenset[ClockId]) -> bool:
    """Whether one of the clocks that several lists have may have jumped, by the pairs of each.

    One that never jumps did not where another did, of which there are few.
    """
    suspected = Counter[ClockId]()
    for pair in pairs:
        ends = [end for end in (pair.a, pair.b) if end in several] if pair.tube.n_faults else []
        other = pair.b if ends == [pair.a] else pair.a
        if len(ends) > 1 or (ends and (ends[0].clock not in STEADY or other.clock in STEADY)):
            return True
        suspected.update(ends)
    return max(suspected.values(), default=0) > _MOST_OTHERS


class Tied(NamedTuple):
    """Clocks that lists tie.

    Attributes:
        clocks: they.
        several: those of them that are in several lists.
        in_loops: whether lists lead around a loop, from a clock back to it.
    """

    clocks: frozenset[ClockId]
    several: frozenset[ClockId]
    in_loops: bool


def groups(lists: Iterable[Sequence[ClockId]]) -> dict[ClockId, Tied]:
    """By clock those that lists tie it to: three to `MOST_CLOCKS`, one of them in several lists.

    Clocks of a sequence are left out: there may be thousands, each tied to its machine's alone.
    """
    several = set[ClockId]()
    of: dict[ClockId, list[ClockId]] = {}
    steps = Counter[ClockId]()
    for members in {frozenset(c for c in clocks if not c.sequence) for clocks in lists}:
        if len(members) < 2:
            continue
        several.update(members & of.keys())
        known = sorted({id(of[c]): of[c] for c in members & of.keys()}.values(), key=len) or [[]]
        largest = known.pop()
        added = [*chain.from_iterable(known), *(c for c in members if c not in of)]
        largest += added
        of.update(dict.fromkeys(added, largest))
        steps[next(iter(members))] += len(members) - 1
    found = {
        id(clocks): Tied(
            frozenset(clocks),
            frozenset(several.intersection(clocks)),
            # From one clock to all others it takes one step less than there are clocks.
            sum(steps[clock] for clock in clocks) >= len(clocks),
        )
        for clocks in of.values()
        if _FEWEST <= len(clocks) <= MOST_CLOCKS and not several.isdisjoint(clocks)
    }
    return {clock: found[id(clocks)] for clock, clocks in of.items() if id(clocks) in found}
