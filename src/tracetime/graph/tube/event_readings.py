"""Readings of a clock in events, which may show its ticks."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from tracetime.graph.tube.lattice import Lattice
from tracetime.graph.values import Floats, Mask, Values

BLOCK: Final = 8
"""So many consecutive readings of events are kept together."""

# Fewer different pairs of steps may come from sampling on a grid of two or three periods.
_LEAST_UNEVEN: Final = 6


class EventReadings(NamedTuple):
    """Readings of a clock in events.

    Attributes:
        some_ns: some readings, int64 ns, in blocks of 8 consecutive ones.
        differing, repeated: how many differ from the one before, and how many do not.
    """

    some_ns: Values
    differing: int
    repeated: int

    def are_uneven(self, lattice: Lattice) -> bool:
        """Whether they were not merely taken on a grid: steps vary, or most are repeated."""
        if self.repeated >= self.differing:
            return True
        # Distances of neighbours in a block, and those to the next.
        within = np.arange(len(self.some_ns) - 2) % BLOCK < BLOCK - 2
        return are_uneven(lattice.steps(self.some_ns), within)


def are_uneven(times: Floats, within: Mask) -> bool:
    """Whether steps of readings, in periods of a lattice, vary: no grid of two or three is so.

    Args:
        times: float64[n], from each reading to the next; 0 where that is no whole number.
        within: bool[n - 1], which of these, and the one after it, count.
    """
    one, two = times[:-1], times[1:]
    whole = within & (one > 0) & (two > 0)
    # A set, not np.unique, which loads numpy.ma.
    different = set(zip(one[whole].tolist(), two[whole].tolist(), strict=True))
    return len(different) >= _LEAST_UNEVEN
