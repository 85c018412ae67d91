"""Bounds of clocks that no snapshot read together, from messages between their machines.

A message leaves after one reading and arrives before another, so that at the instant of a reading
of one clock the other was between two readings of its own. `pairs.py` makes evidence of these
bounds; `formats/perfetto/read/notes.py` reads them from a trace. Without messages, Perfetto
equates the clocks of two machines.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Final, NamedTuple

import numpy as np

from tracetime.clocks.ids import ClockId
from tracetime.graph.values import Mask, Values, ascending

LONGEST_NS: Final = 1 << 55
"""Bounds wider than this (a year) are useless and left out."""


def equated(one: ClockId, other: ClockId, one_ns: Values, other_ns: Values) -> Mask:
    """Which snapshots of two clocks only equate two machines' clocks, from 0 on.

    Perfetto's rule ties machines without a RemoteClockSync in this way; it is not a reading.
    """
    if one.machine == other.machine:
        return np.zeros(len(one_ns), dtype=bool)
    ruled: Mask = (one_ns == 0) & (other_ns == 0)
    return ruled


class Boxes(NamedTuple):
    """Bounds of two clocks at one instant each: int64 arrays of one length, in file order.

    Attributes:
        snapshots: the number of the snapshot that each came with.
        one_low, one_high: of the one clock, both ends included, ns.
        other_low, other_high: of the other.
    """

    snapshots: Values
    one_low: Values
    one_high: Values
    other_low: Values
    other_high: Values

    def swapped(self) -> Boxes:
        """The same with the two clocks exchanged."""
        return Boxes(self.snapshots, *self[3:], *self[1:3])

    @property
    def one(self) -> Values:
        """The middle of the one clock's bounds, rounded down."""
        return self.one_low + (self.one_high - self.one_low) // 2

    @property
    def other(self) -> Values:
        """The middle of the other clock's bounds, rounded down."""
        return self.other_low + (self.other_high - self.other_low) // 2

    @property
    def one_half(self) -> Values:
        """How far from its middle the one clock may have been, rounded up."""
        return -((self.one_low - self.one_high) // 2)

    @property
    def other_half(self) -> Values:
        """How far from its middle the other clock may have been, rounded up."""
        return -((self.other_low - self.other_high) // 2)


_NONE: Final = np.empty(0, dtype=np.int64)
_NO_BOXES: Final = Boxes(*[_NONE] * 5)


class Between:
    """The bounds between clocks that no snapshot read together.

    Args:
        pairs: two clocks each, in either order, but in one only.
        boxes: the bounds of all pairs, those of one together, in the order of the pairs.
        ends: by pair, where its bounds end.
        worked_out: numbers of snapshots that floor makes of such messages; they hold no readings
            taken together and are no evidence.
    """

    def __init__(
        self,
        pairs: Iterable[tuple[ClockId, ClockId]] = (),
        boxes: Boxes = _NO_BOXES,
        ends: Values = _NONE,
        worked_out: Iterable[int] | Values = (),
    ) -> None:
        self._pairs = list(pairs)
        self.boxes = boxes
        self._ends = [0, *ends.tolist()]
        self.worked_out: Values = ascending(np.array(worked_out, dtype=np.int64))

    def pairs(self) -> list[tuple[ClockId, ClockId]]:
        """The pairs of clocks with bounds, in order of appearance."""
        return list(self._pairs)

    def counts(self) -> Values:
        """How many bounds there are of each pair."""
        return np.diff(self._ends)

    @cached_property
    def _numbers(self) -> dict[tuple[ClockId, ClockId], int]:
        return {pair: number for number, pair in enumerate(self._pairs)}

    def of(self, one: ClockId, other: ClockId) -> Boxes | None:
        """The bounds of two clocks; None without any."""
        number = self._numbers.get((one, other))
        if number is not None:
            rows = slice(*self._ends[number : number + 2])
            return Boxes(*(column[rows] for column in self.boxes))
        if (other, one) in self._numbers:
            swapped = self.of(other, one)
            return None if swapped is None else swapped.swapped()
        return None

    def is_evidence(self, snapshots: Values) -> Mask:
        """Which of some snapshots (by number) hold readings."""
        # np.isin would look at all of worked_out even for a pair that shares one snapshot.
        first = np.searchsorted(self.worked_out, snapshots)
        found: Mask = first == np.searchsorted(self.worked_out, snapshots, "right")
        return found
