"""Paths of least error between clocks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from itertools import chain
from typing import Final

import numpy as np
import numpy.typing as npt

from tracetime._kernels import graph as kernel
from tracetime._kernels.graph import Engine
from tracetime.clocks.ids import ClockId
from tracetime.errors import NO_PATH, REASONS, ConversionError, TraceError
from tracetime.graph.routes import SearchBudget, least_error
from tracetime.graph.tube.graph_data import Neighbours, alone, too_many_tubes, untied
from tracetime.graph.tube.machines import Machines
from tracetime.graph.tube.pairs import Pairs

# Above every bar: for a tube along a clock that was set back, where no other path leads.
_LAST_RESORT: Final = 2.0**63
# Above the bars that matter: for a clock on which one reading can be two instants of the other.
_AMBIGUOUS: Final = 2.0**50
# Many paths lead over a clock with more neighbours: the search from there is worth keeping.
_MANY_NEIGHBOURS: Final = 16

Known = Callable[[ClockId], list[ClockId] | None]
"""The best path from a clock to the target of a search, where it is known."""


class Paths:
    """Paths of least error, for one state of a graph.

    Args: as of `TubePolicy`.
    """

    def __init__(
        self, pairs: Pairs, neighbours: Neighbours, machines: Machines, reach: Reach
    ) -> None:
        self._pairs = pairs
        self._neighbours = neighbours
        self._machines = machines
        self._reach = reach
        self._found: dict[tuple[ClockId, ClockId], list[ClockId]] = {}
        self._bars: dict[tuple[ClockId, ClockId], float | ConversionError] = {}
        self._last_hop: dict[ClockId, float] = {}
        self._leading: dict[ClockId, dict[ClockId, bool]] = {}

    def path(self, source: ClockId, target: ClockId) -> list[ClockId]:
        """The clocks of the least-error path, source first.

        Raises:
            ConversionError: a clock is unknown, or no path leads there.
        """
        for clock, reason in ((source, "unknown_source_clock"), (target, "unknown_target_clock")):
            if clock not in self._neighbours:
                raise alone(clock, reason)
        # Else the search would visit every clock of a machine for a path that does not exist.
        if not self._machines.are_tied(source, target):
            raise untied(source, target)
        path = self._found.get((source, target))
        if path is None:
            path = self._found[source, target] = self._searched(source, target)
        return path

    def leads(self, source: ClockId, target: ClockId) -> bool:
        """Whether tubes lead from one clock to another; none is made, and no path weighed.

        A tube that is refused when it is made, because its clocks were set back, leads, too.
        """
        if not self._machines.are_tied(source, target):
            return False
        known = self._leading.setdefault(target, {target: True})

        def onward(here: ClockId) -> Iterator[ClockId]:
            for there in sorted(
                self._neighbours[here], key=lambda c: self._reach.hops(c, target) or 0
            ):
                if there not in seen and self._pairs.have_evidence(here, there):
                    yield there

        seen = {source}
        trail = {source: onward(source)}
        while trail and (here := next(reversed(trail))) not in known:
            there = next(trail[here], None)
            if there is None:
                del trail[here]
            else:
                seen.add(there)
                trail[there] = onward(there)
        found = bool(trail) and known[here]
        # Where none of them leads to the target, nor does any other way to one of them.
        known.update(dict.fromkeys(trail if found else seen, found))
        return found

    def _searched(self, source: ClockId, target: ClockId) -> list[ClockId]:
        faults: list[ConversionError] = []
        self._reach.expect([source], target)
        hops = self._reach.hops(source, target)
        if hops is None:
            raise _no_path(source, target)
        self._reach.check_length(hops)
        path = self._best(source, target, faults)
        self._reach.check_steps()
        if path is None:
            raise faults[0] if faults else _no_path(source, target)
        self._reach.found(path)
        return path

    def _best(
        self, source: ClockId, target: ClockId, faults: list[ConversionError]
    ) -> list[ClockId] | None:
        """The best path; what it leads over is kept where others may lead over it, too."""

        def found(here: ClockId) -> list[ClockId] | None:
            return self._found.get((here, target))

        def kept(here: ClockId) -> list[ClockId] | None:
            path = found(here) or self._search(here, target, found, faults)
            if path is not None:
                self._found[here, target] = path
            return path

        def known(here: ClockId) -> list[ClockId] | None:
            return kept(here) if len(self._neighbours[here]) > _MANY_NEIGHBOURS else found(here)

        pocket = self._neighbours.pocket(source)
        if pocket is None or target == pocket.gate or target in pocket.clocks:
            return self._search(source, target, known, faults)
        # Every path out leads over the gate; from there it is the same for all of the pocket.
        first = self._search(source, pocket.gate, lambda _: None, faults)
        rest = kept(pocket.gate)
        return None if first is None or rest is None else first + rest[1:]

    def _search(
        self, start: ClockId, end: ClockId, known: Known, faults: list[ConversionError]
    ) -> list[ClockId] | None:
        """The best path, hop by hop; takes why a hop has no tube."""
        if self._is_direct(start, end):
            return [start, end]

        def bar_ns(one: ClockId, other: ClockId) -> float:
            bar = self.bar_ns(one, other)
            if isinstance(bar, ConversionError):
                faults.append(bar)
                return float("inf")
            return bar

        def onward(here: ClockId) -> list[ClockId]:
            return self._neighbours.onward(here, end)

        def ahead(here: ClockId) -> float:
            return self._least_last_hop(here, end, bar_ns)

        return least_error(start, end, onward, bar_ns, known, self._reach.steps, ahead)

    def _is_direct(self, start: ClockId, end: ClockId) -> bool:
        """Whether the way between a clock of a sequence and the gate of its pocket is one hop.

        All that is known of it are snapshots with the gate then: a detour over the sequence's other
        clocks rests on the same readings, and is not weighed. There may be thousands of sequences.
        """
        for inside, gate in ((start, end), (end, start)):
            pocket = self._neighbours.pocket(inside) if inside.sequence else None
            if pocket is None or pocket.gate != gate or gate not in self._neighbours[inside]:
                continue
            bar = self.bar_ns(start, end)
            if not isinstance(bar, ConversionError) and bar < _AMBIGUOUS:
                return self._pairs.has_all_of(inside, self._pairs.pair(start, end))
        return False

    def _least_last_hop(
        self, here: ClockId, target: ClockId, bar_ns: Callable[[ClockId, ClockId], float]
    ) -> float:
        """The least bar of a hop to the target, ns; 0 where to find it costs more than to go on."""
        pocket = self._neighbours.pocket(here)
        if pocket is not None and pocket.gate == target:
            return 0.0
        if target not in self._last_hop:
            # From elsewhere, no path comes out of a pocket of the target.
            last = self._neighbours.onward(target, target)
            if not last or len(last) > len(self._neighbours.onward(here, target)):
                return 0.0
            self._last_hop[target] = min(bar_ns(there, target) for there in last)
            self._reach.steps.take(len(last))
        return self._last_hop[target]

    def bar_ns(self, one: ClockId, other: ClockId) -> float | ConversionError:
        """What one hop adds to a path's bars, ns; or why there is no tube for it."""
        if (one, other) not in self._bars:
            try:
                pair = self._pairs.pair(one, other)
                if self._pairs.was_set_back(pair.a):
                    bar = _LAST_RESORT
                else:
                    bar = self._pairs.bar_from(one, pair)
                    bar += _AMBIGUOUS * (one == pair.b and self._pairs.only_stood_still(pair))
                self._bars[one, other] = bar
            except ConversionError as fault:
                self._bars[one, other] = fault.with_traceback(None)
        return self._bars[one, other]

    def reference(self, one: ClockId, other: ClockId) -> ClockId:
        """The clock to compare readings of two clocks on, which must not have been set back.

        The steadier of the two, the other, or one that both lead to; the steadier where all were
        set back.

        Raises:
            ConversionError: as `path`.
        """
        steadier, less_steady = self._pairs.steadier_first(one, other)
        # From the less steady one: the other may have a tube to each of very many neighbours.
        path = self.path(less_steady, steadier)
        neighbours = self._neighbours[steadier]
        tied = (clock for clock in neighbours if self._machines.are_tied(clock, steadier))
        candidates = chain((steadier, less_steady), path, tied)
        return next((c for c in candidates if not self._pairs.was_set_back(c)), steadier)


def _no_path(source: ClockId, target: ClockId) -> ConversionError:
    return ConversionError(f"the snapshots do not lead from {source} to {target}", REASONS[NO_PATH])


# How many hops clocks are apart, and how many tubes and hops their error bars may take.
#
# A lower bound for many clocks follows from which snapshots they share, before any tube is made.

Numbers = npt.NDArray[np.int32]

HOPS_A_TUBE: Final = 20
"""For every tube that may be made, paths may take so many hops, which cost about as much."""
STEPS_A_TUBE: Final = 200
"""And the search for paths may weigh so many, which cost about as much, too."""


class Reach:
    """How many hops clocks are apart, and how many the paths between them take in all.

    Args:
        engine: of the graph.
        numbers: by clock, those the engine gives it.
        linked: the pairs of clocks that messages bound.
        most: how many pairs may have a tube; None for any number.
    """

    def __init__(
        self,
        engine: Engine,
        numbers: Mapping[ClockId, list[int]],
        linked: Iterable[tuple[ClockId, ClockId]],
        most: int | None,
    ) -> None:
        self._engine = engine
        self._linked = list(linked)
        unread = dict.fromkeys(clock for pair in self._linked for clock in pair)
        n = sum(map(len, numbers.values()))
        others = (clock for clock in unread if clock not in numbers)
        self._numbers = {**numbers, **{clock: [k] for k, clock in enumerate(others, n)}}
        self._most = most
        self._known: dict[ClockId, Numbers | None] = {}
        self._expected: defaultdict[ClockId, set[ClockId]] = defaultdict(set)
        self._hops = 0
        self.steps = SearchBudget(None if most is None else most * STEPS_A_TUBE)

    def hops(self, source: ClockId, target: ClockId) -> int | None:
        """The least number of hops from one clock to another; None without a path."""
        if target not in self._known:
            self._known[target] = self._hops_to(target)
        known, numbers = self._known[target], self._numbers.get(source)
        if known is None:
            return int(source != target)
        if numbers is None or known[numbers[0]] < 0:
            return None
        return int(known[numbers[0]])

    def expect(self, sources: Iterable[ClockId], target: ClockId) -> None:
        """Add paths to those that are requested.

        Raises:
            TraceError: they take more tubes, or more hops, than they may.
        """
        if self._most is None:
            return
        expected = self._expected[target]
        for source in sources:
            if source not in expected:
                hops = self.hops(source, target)
                if hops:
                    expected.add(source)
                    self._hops += hops
        # Paths from n clocks to another lead over n pairs at least.
        if len(expected) > self._most:
            raise too_many_tubes(self._most)
        self._check_hops(self._hops)

    def found(self, path: list[ClockId]) -> None:
        """Count the hops of a path beyond the fewest.

        Raises:
            TraceError: all together take more than they may.
        """
        self._hops += len(path) - 1 - (self.hops(path[0], path[-1]) or 0)
        self._check_hops(self._hops)

    def check_length(self, hops: int) -> None:
        """Raise TraceError where a path of so many hops takes more tubes than may be made."""
        if self._most is not None and hops > self._most:
            raise too_many_tubes(self._most)

    def check_steps(self) -> None:
        """Raise TraceError where the search for paths took too long."""
        if self._most is not None and self.steps.spent:
            raise TraceError(
                f"the search for the paths of error bars between clocks took "
                f"{self._most * STEPS_A_TUBE:,} steps; raise the limit (max_tubes, --max-tubes, "
                f"{STEPS_A_TUBE} steps each), or convert by the floor policy"
            )

    def _check_hops(self, hops: int) -> None:
        if self._most is not None and hops > self._most * HOPS_A_TUBE:
            raise TraceError(
                f"error bars of these clocks lead over more than {self._most * HOPS_A_TUBE:,} hops "
                f"from clock to clock; raise the limit (max_tubes, --max-tubes, {HOPS_A_TUBE} hops "
                "each), or convert by the floor policy"
            )

    def _hops_to(self, target: ClockId) -> Numbers | None:
        """By number of a clock; None where that is not known, or two numbers are one clock."""
        numbers = self._numbers.get(target)
        n = sum(map(len, self._numbers.values()))
        if numbers is None or n != len(self._numbers):
            return None
        return kernel.hops_from(self._engine, numbers[0], *self._links)

    @cached_property
    def _links(self) -> tuple[Numbers, Numbers]:
        """Where those that messages link to each clock begin, by its number; and their numbers."""
        pairs = [(self._numbers[one][0], self._numbers[other][0]) for one, other in self._linked]
        ends = np.array(pairs, dtype=np.int32).reshape(-1, 2)
        both = np.concatenate([ends, ends[:, ::-1]])
        both = both[np.argsort(both[:, 0], kind="stable")]
        begins = np.searchsorted(both[:, 0], np.arange(len(self._numbers) + 1)).astype(np.int32)
        return begins, np.ascontiguousarray(both[:, 1])
