"""Which machines' clocks readings or messages tie together; Perfetto's rule alone ties none."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property

from tracetime.clocks import ClockId
from tracetime.errors import NO_PATH, REASONS, ConversionError


class Machines:
    """The machines of a graph, by what ties their clocks.

    Args:
        series: gives the lists of clocks that snapshots have had.
        bounded: the pairs of clocks that messages bound.
        read_together: whether any snapshot has read two clocks.
    """

    def __init__(
        self,
        series: Callable[[], Iterable[tuple[ClockId, ...]]],
        bounded: Iterable[tuple[ClockId, ClockId]],
        read_together: Callable[[ClockId, ClockId], bool],
    ) -> None:
        self._series = series
        self._bounded = bounded
        self._read_together = read_together
        self._tied: dict[int, set[int]] = {}

    def are_tied(self, one: ClockId, other: ClockId) -> bool:
        """Whether anything that was read leads from one clock's machine to the other's."""
        if one.machine == other.machine:
            return True
        if one.machine not in self._tied:
            tied, ends = {one.machine}, [one.machine]
            while ends:
                further = self._linked[ends.pop()] - tied
                tied |= further
                ends += further
            self._tied |= dict.fromkeys(tied, tied)
        return other.machine in self._tied[one.machine]

    @cached_property
    def _linked(self) -> dict[int, set[int]]:
        linked: dict[int, set[int]] = defaultdict(set)
        for one, other in self._links():
            linked[one].add(other)
            linked[other].add(one)
        return linked

    def _links(self) -> Iterator[tuple[int, int]]:
        told = set()
        for one, other in self._bounded:
            told |= {(one.machine, other.machine), (other.machine, one.machine)}
        yield from told
        for clocks in self._series():
            firsts: dict[int, ClockId] = {}
            for clock in clocks:
                firsts.setdefault(clock.machine, clock)
            for other in list(firsts.values())[1:]:
                known = (clocks[0].machine, other.machine) in told
                if not known and self._read_together(clocks[0], other):
                    yield clocks[0].machine, other.machine


def untied(one: ClockId, other: ClockId) -> ConversionError:
    """Why clocks of two machines do not convert to each other."""
    return ConversionError(
        f"nothing that was read ties {one} to {other}, which two machines have: record with a "
        "relay (traced_relay) that sends RemoteClockSync, or convert each machine's trace alone",
        REASONS[NO_PATH],
    )
