"""Which clocks share snapshots with which, looked up when needed."""

from __future__ import annotations

from collections.abc import Callable

from tracetime.clocks.ids import ClockId


class Neighbours:
    """By clock, those it shares snapshots with, in order.

    A snapshot of n clocks has n^2 pairs: only the requested ones are looked up.

    Args:
        of_clock: gives those of one clock.
        has_several: whether a clock has more than one, found cheaply; False where it is unknown.
    """

    def __init__(
        self,
        of_clock: Callable[[ClockId], set[ClockId]],
        has_several: Callable[[ClockId], bool],
    ) -> None:
        self._of_clock = of_clock
        self._has_several = has_several
        self._known: dict[ClockId, list[ClockId]] = {}
        self._onward: dict[ClockId, list[ClockId]] = {}

    def __getitem__(self, clock: ClockId) -> list[ClockId]:
        """The neighbours of a clock; empty where it shares snapshots with no other."""
        if clock not in self._known:
            self._known[clock] = sorted(self._of_clock(clock), key=ClockId.order)
        return self._known[clock]

    def onward(self, clock: ClockId, target: ClockId) -> list[ClockId]:
        """The neighbours of a clock that a path to another may lead over: no dead ends."""
        if clock not in self._onward:
            self._onward[clock] = [
                there for there in self[clock] if self._has_several(there) or len(self[there]) > 1
            ]
        if self[target] == [clock]:
            return sorted([target, *self._onward[clock]], key=ClockId.order)
        return self._onward[clock]

    def __contains__(self, clock: ClockId) -> bool:
        """Whether a clock has neighbours."""
        return bool(self[clock])
