"""Clocks whose offset is so constant that floor is within the tube's bars, without any tube.

Where the offsets of all snapshots are within one half-width of each other, no snapshot contradicts
a constant offset that equals any of them: the bars hold it everywhere. Floor adds one of these
offsets to a timestamp, so its result is within the bars.
"""

from __future__ import annotations

import math
from itertools import combinations
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt

from tracetime.clocks.ids import ClockId
from tracetime.graph.tube.evidence import FARTHEST, NOT_RECORDED

if TYPE_CHECKING:
    from tracetime.graph.graph import Graph

Values = npt.NDArray[np.int64]

_MOST_CLOCKS: Final = 8
"""Each pair is compared: of more clocks that grows with the square."""

_ROUNDED_NS: Final = 4
"""What rounding adds, over all hops of a path."""


class ConstantOffsets:
    """Which clocks of a graph have a constant offset from a reference, a clock that counts ns.

    Args:
        alone: clocks that only snapshots of one list of clocks hold, which holds the reference.
    """

    def __init__(self, graph: Graph, reference: ClockId, alone: set[ClockId]) -> None:
        self._graph = graph
        self._reference = reference
        self._alone = alone
        self._known: dict[frozenset[ClockId], bool] = {}

    def limit_ns(self, clock: ClockId, span_ns: tuple[int, int] | None) -> int | None:
        """How far floor is from the tube's estimate at most; None where that takes a tube.

        span_ns: the least and the greatest reading of the reference that matters.
        """
        if clock not in self._alone or not self._is_constant(clock):
            return None
        _, ours, theirs = self._graph.shared(clock, self._reference)
        offsets = theirs - ours
        spread = int(offsets.max() - offsets.min())
        first, last = int(theirs.min()), int(theirs.max())
        low, high = span_ns or (first, last)
        beyond = max(first - low, high - last, 0)
        if not spread:
            return 0
        # A line of least squares leaves the range of its points by a third of that range at most, a
        # cubic the range of its ends by a quarter of what its slopes there would reach.
        lengths = int(np.diff(theirs).max(initial=0)) / 4 + beyond
        bent = math.ceil(self._fastest(clock, theirs, offsets) * lengths)
        return spread + spread // 2 + _ROUNDED_NS + bent

    def _fastest(self, clock: ClockId, at: Values, offsets: Values) -> float:
        """How fast the estimate may run away from the offsets, at most."""
        gaps = np.diff(at)
        moved = gaps > 0
        if not moved.any():
            return 0.0
        one_to_next = float(np.max(np.abs(np.diff(offsets)[moved]) / gaps[moved]))
        # A line of least squares is no steeper than that, nor than twice the spread over its span.
        limits = self._graph.tubes.limits(clock, self._reference)
        overall = 2 * float(offsets.max() - offsets.min()) / float(at.max() - at.min())
        return min(one_to_next, overall + 2 * limits.wander, limits.drift)

    def _is_constant(self, clock: ClockId) -> bool:
        clocks = frozenset({clock, *self._graph.tubes.neighbours(clock)})
        if clocks not in self._known:
            self._known[clocks] = self._pairs_are_constant(clocks)
        return self._known[clocks]

    def _pairs_are_constant(self, clocks: frozenset[ClockId]) -> bool:
        # By the tube's path, too, which may lead over any of these, and over no other.
        if len(clocks) > _MOST_CLOCKS or not clocks - {self._reference} <= self._alone:
            return False
        domains = map(self._graph.domain, clocks)
        plain = all(
            d.ns_per_tick == 1 and d.valid_bits == 64 and d.assumed_half_width_ns is None
            for d in domains
        )
        if not plain:
            return False
        return all(self._pair_is_constant(one, other) for one, other in combinations(clocks, 2))

    def _pair_is_constant(self, one: ClockId, other: ClockId) -> bool:
        snapshots, ours, theirs = self._graph.shared(one, other)
        if not len(snapshots):
            return False
        used, *_ = self._graph.tubes.shared(one, other)
        if len(used) < len(snapshots):
            return False
        measured = self._graph.state.measured
        for clock in (one, other):
            read, steered = measured.reads(clock, snapshots), measured.frequency(clock, snapshots)
            if (read.half >= 0).any() or (steered != NOT_RECORDED).any():
                return False
        # In floats, which no difference overflows, only to know that none does.
        if not np.all(np.abs(theirs.astype(np.float64) - ours) < FARTHEST):
            return False
        offsets = theirs - ours
        width = self._graph.tubes.least_assumed_ns(one, other)
        return int(offsets.max()) - int(offsets.min()) <= width
