"""Bars of several clocks, closed: over every path of pairs, which may wait on any clock.

The bars of pairs add up along a path at one instant; a path that waits on a clock until a pair is
known better may say more (docs/error-bars.md, Paths). Here bounds are arrays over clocks
and instants; what they are for a graph's clocks is in mesh.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from tracetime._kernels.evidence import close_bounds
from tracetime.graph.values import Marks, Values

OPEN: Final = 1 << 62
"""A bound that says nothing."""

MOST_INSTANTS: Final = 1_000
"""Between instants bounds grow with the clocks' drift: more of them make bars narrower."""


@dataclass(frozen=True, eq=False, slots=True)
class Closed:
    """The closed bounds of n clocks at K instants.

    Attributes:
        upper: int64[n, n, K] ns, the most that clock j is ahead of clock i, or OPEN; the least is
            -upper[j, i].
        next_clock: int64[n, n, K], which clock the path behind a bound visits after i.
        rounds: how many it took.
    """

    upper: Values
    next_clock: Values
    rounds: int

    def path(self, one: int, other: int, instant: int) -> tuple[int, ...]:
        """The clocks that bound `other` from above as seen from `one`, at an instant."""
        clocks = [one]
        # A path visits each clock once.
        while clocks[-1] != other and len(clocks) < len(self.upper):
            clocks.append(int(self.next_clock[clocks[-1], other, instant]))
        return tuple(clocks) if clocks[-1] == other else (one, other)

    def paths(self, one: int, other: int) -> list[tuple[int, ...]]:
        """That path at each instant."""
        return [self.path(one, other, k) for k in range(self.upper.shape[2])]


def close(at_ns: Values, upper: Values, width: Values, steps: Marks | None = None) -> Closed | None:
    """Close bounds over paths of clocks; None where they contradict one another.

    Args:
        at_ns: int64[K], the instants, ascending, as one clock reads them.
        upper: int64[n, n, K] ns, the most that clock j is ahead of clock i; OPEN where unknown.
        width: int64[n, n], how fast the offset of two clocks may change, in 2^-52 ns per ns of
            the clock that reads the instants.
        steps: uint8[n, K - 1], where a clock may have stepped between two instants: nothing waits
            on it then.

    Raises:
        ValueError: arrays that do not fit together.
    """
    bounds = np.minimum(upper, OPEN)
    clocks = np.arange(len(bounds))
    bounds[clocks, clocks] = 0
    next_clock = np.empty_like(bounds)
    if steps is None:
        steps = np.zeros((len(bounds), max(len(at_ns) - 1, 0)), dtype=np.uint8)
    rounds = close_bounds(bounds, next_clock, at_ns, width, steps)
    return None if rounds < 0 else Closed(bounds, next_clock, rounds)
