"""Which clocks share snapshots with which, found out where somebody asks."""

from __future__ import annotations

from collections.abc import Callable

from tracetime.clocks.ids import ClockId


class Neighbours:
    """By clock, those it shares snapshots with, in order.

    Of a snapshot of n clocks there are n^2 pairs: only what is asked for is worked out.

    Args:
        beside: gives those of one clock.
        several: says at once of a clock that it has more than one; not of each that does.
    """

    def __init__(
        self, beside: Callable[[ClockId], set[ClockId]], several: Callable[[ClockId], bool]
    ) -> None:
        self._beside = beside
        self._several = several
        self._known: dict[ClockId, list[ClockId]] = {}
        self._onward: dict[ClockId, list[ClockId]] = {}

    def __getitem__(self, clock: ClockId) -> list[ClockId]:
        """The neighbours of a clock, none of one that shares snapshots with no other."""
        if clock not in self._known:
            self._known[clock] = sorted(self._beside(clock), key=ClockId.order)
        return self._known[clock]

    def onward(self, clock: ClockId, target: ClockId) -> list[ClockId]:
        """The neighbours of a clock that a way to another may lead over: not into a dead end."""
        if clock not in self._onward:
            self._onward[clock] = [
                there for there in self[clock] if self._several(there) or len(self[there]) > 1
            ]
        if self[target] == [clock]:
            return sorted([target, *self._onward[clock]], key=ClockId.order)
        return self._onward[clock]

    def __contains__(self, clock: ClockId) -> bool:
        """Whether a clock has neighbours."""
        return bool(self[clock])
