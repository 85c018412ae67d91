"""Which clocks the snapshots of a recording have tied together so far."""

from __future__ import annotations

from collections.abc import Iterable

from tracetime.clocks.ids import ClockId


class Ties:
    """The clocks in groups: those of one snapshot are in one."""

    def __init__(self) -> None:
        self._group: dict[ClockId, set[ClockId]] = {}
        self._known: set[frozenset[ClockId]] = set()

    def add(self, clocks: Iterable[ClockId]) -> None:
        """A snapshot has these clocks."""
        together = frozenset(clocks)
        if together in self._known:
            return
        self._known.add(together)
        merged = set(together)
        for clock in together:
            merged |= self._group.get(clock, set())
        for clock in merged:
            self._group[clock] = merged

    def with_clock(self, clock: ClockId) -> set[ClockId]:
        """The clocks that snapshots lead to from one, with itself; none if no snapshot has it."""
        return self._group.get(clock, set())
