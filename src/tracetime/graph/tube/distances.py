"""How many hops clocks are apart, and how many tubes and hops their error bars may take.

A lower bound for many clocks follows from which snapshots they share, before any tube is made.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Final

import numpy as np
import numpy.typing as npt

from tracetime._kernels import graph as kernel
from tracetime._kernels.graph import Engine
from tracetime.clocks.ids import ClockId
from tracetime.errors import TraceError
from tracetime.graph.routes import SearchBudget

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
                f"{self._most * STEPS_A_TUBE:,} steps; raise the limit (--max-tubes, {STEPS_A_TUBE}"
                " steps each), or convert by the floor policy"
            )

    def _check_hops(self, hops: int) -> None:
        if self._most is not None and hops > self._most * HOPS_A_TUBE:
            raise TraceError(
                f"error bars of these clocks lead over more than {self._most * HOPS_A_TUBE:,} hops "
                f"from clock to clock; raise the limit (--max-tubes, {HOPS_A_TUBE} hops each), or "
                "convert by the floor policy"
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


def too_many_tubes(most: int) -> TraceError:
    """The error where more pairs of clocks need a tube than may have one."""
    return TraceError(
        f"error bars are requested of more than {most} pairs of clocks; raise "
        "the limit (--max-tubes), which takes a second for a thousand, or "
        "convert by the floor policy"
    )
