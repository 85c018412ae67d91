"""Which machines are tied together by readings or messages; Perfetto's rule alone ties none."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property

from tracetime.clocks.ids import ClockId
from tracetime.errors import NO_PATH, REASONS, ConversionError


class Machines:
    """The machines of a graph, and which of them are tied.

    Args:
        series: gives the lists of clocks that snapshots have had, of several machines at least.
        bounded: the pairs of clocks that messages bound.
        read_together: whether any snapshot has read two clocks.
    """

    def __init__(
        self,
        series: Callable[[], Iterable[Sequence[ClockId]]],
        bounded: Iterable[tuple[ClockId, ClockId]],
        read_together: Callable[[ClockId, ClockId], bool],
    ) -> None:
        self._series = series
        self._bounded = bounded
        self._read_together = read_together

    def are_tied(self, one: ClockId, other: ClockId) -> bool:
        """Whether readings or messages lead from one clock's machine to the other's."""
        if one.machine == other.machine:
            return True
        return _root(self._above, one.machine) == _root(self._above, other.machine)

    @cached_property
    def _above(self) -> dict[int, int]:
        """The machines as trees: those of one tree are tied."""
        above: dict[int, int] = {}
        for one, other in self._links():
            above[_root(above, one)] = _root(above, other)
        return above

    def _links(self) -> Iterator[tuple[int, int]]:
        by_messages = {(one.machine, other.machine) for one, other in self._bounded}
        yield from by_messages
        for clocks in self._series():
            here = clocks[0]
            seen = {here.machine}
            for other in clocks[1:]:
                if other.machine in seen:
                    continue
                seen.add(other.machine)
                ends = (here.machine, other.machine)
                known = ends in by_messages or ends[::-1] in by_messages
                if not known and self._read_together(here, other):
                    yield ends


def _root(above: dict[int, int], machine: int) -> int:
    """The root of a machine's tree; the path to it gets shorter."""
    while (next_one := above.get(machine, machine)) != machine:
        above[machine] = above.get(next_one, next_one)
        machine = above[machine]
    return machine


def untied(one: ClockId, other: ClockId) -> ConversionError:
    """Why clocks of two machines do not convert to each other."""
    return ConversionError(
        f"no reading ties {one} to {other}, which are of two machines: record with a "
        "relay (traced_relay) that sends RemoteClockSync, or convert each machine's trace alone, "
        "or, if its events have flows between the machines, take these as orders (--orders flows)",
        REASONS[NO_PATH],
    )


def alone(clock: ClockId, reason: str) -> ConversionError:
    """Why a clock converts to no other."""
    return ConversionError(f"no snapshot or order has {clock} with another clock", reason)
