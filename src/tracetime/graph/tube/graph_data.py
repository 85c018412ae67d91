"""What the tube policy reads of a graph."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from tracetime.clocks.domain import ClockDomain
from tracetime.clocks.ids import ClockId
from tracetime.errors import NO_PATH, REASONS, ConversionError, TraceError
from tracetime.graph.tube.lattice import EventReadings
from tracetime.graph.tube.measurements import Measured
from tracetime.graph.tube.messages import Between
from tracetime.graph.tube.orders import Orders
from tracetime.graph.values import Values


@dataclass(frozen=True, eq=False, slots=True)
class GraphData:
    """One state of a graph, each part read when it is needed.

    Attributes:
        shared: (snapshots, one_ns, other_ns) that two clocks have in common, in file order.
        readings: all readings of a clock in snapshots, ns, in no order.
        unit_ns: ns per unit of a clock, where the snapshots give one.
        domain: the limits of a clock.
        neighbours: by clock, those it shares snapshots or messages with.
        measured: half-widths, centres and frequencies of the snapshots.
        between: bounds of clocks that no snapshot has read together.
        orders: which readings of two clocks happened before which.
        events: readings of clocks in events.
    """

    shared: Callable[[ClockId, ClockId], tuple[Values, Values, Values]]
    readings: Callable[[ClockId], Values]
    unit_ns: Callable[[ClockId], int]
    domain: Callable[[ClockId], ClockDomain]
    neighbours: Neighbours
    measured: Measured
    between: Between
    orders: Orders
    events: Mapping[ClockId, EventReadings]


# Which clocks share snapshots with which, looked up when needed.

_FEW: Final = 4
"""So many clocks are a pocket at most: those of one sequence, behind the clock they are tied to."""


class Pocket(NamedTuple):
    """Clocks that are tied to all others over one clock alone.

    Attributes:
        clocks: they.
        gate: the clock that every path to another clock leads over.
    """

    clocks: frozenset[ClockId]
    gate: ClockId


class Neighbours:
    """By clock, those it shares snapshots with, in order.

    A snapshot of n clocks has n^2 pairs: only the requested ones are looked up.

    Args:
        of_clock: gives those of one clock.
        has_more: whether a clock has more than so many, found cheaply; False where it is unknown.
    """

    def __init__(
        self, of_clock: Callable[[ClockId], set[ClockId]], has_more: Callable[[ClockId, int], bool]
    ) -> None:
        self._of_clock = of_clock
        self._has_more = has_more
        self._known: dict[ClockId, list[ClockId]] = {}
        self._onward: dict[ClockId, list[ClockId]] = {}
        self._pockets: dict[ClockId, Pocket | None] = {}

    def __getitem__(self, clock: ClockId) -> list[ClockId]:
        """The neighbours of a clock; empty where it shares snapshots with no other."""
        if clock not in self._known:
            self._known[clock] = sorted(self._of_clock(clock), key=ClockId.order)
        return self._known[clock]

    def onward(self, clock: ClockId, target: ClockId) -> list[ClockId]:
        """The neighbours of a clock that a path to another may lead over: no dead ends."""
        if clock not in self._onward:
            others = (there for there in self[clock] if not self._is_gate(clock, there))
            self._onward[clock] = list(others)
        pocket = self.pocket(target)
        if pocket is not None and pocket.gate == clock:
            inside = pocket.clocks.intersection(self[clock])
            return sorted([*inside, *self._onward[clock]], key=ClockId.order)
        return self._onward[clock]

    def pocket(self, clock: ClockId) -> Pocket | None:
        """The pocket that a clock is in; None where it is in none."""
        if clock not in self._pockets:
            self._pockets[clock] = self._found_pocket(clock)
        return self._pockets[clock]

    def __contains__(self, clock: ClockId) -> bool:
        """Whether a clock has neighbours."""
        return bool(self[clock])

    def _is_gate(self, clock: ClockId, there: ClockId) -> bool:
        pocket = self.pocket(there)
        return pocket is not None and pocket.gate == clock

    def _found_pocket(self, clock: ClockId) -> Pocket | None:
        if not self._has_few(clock):
            return None
        inside, gates = [clock], set()
        for here in inside:
            for there in self[here]:
                if not self._has_few(there):
                    gates.add(there)
                elif there not in inside:
                    inside.append(there)
            if len(inside) > _FEW:
                break
        if len(inside) <= _FEW and len(gates) == 1:
            return Pocket(frozenset(inside), gates.pop())
        return Pocket(frozenset((clock,)), self[clock][0]) if len(self[clock]) == 1 else None

    def _has_few(self, clock: ClockId) -> bool:
        return not self._has_more(clock, _FEW) and len(self[clock]) <= _FEW


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


def too_many_tubes(most: int) -> TraceError:
    """The error where more pairs of clocks need a tube than may have one."""
    return TraceError(
        f"error bars are requested of more than {most} pairs of clocks; raise "
        "the limit (max_tubes, --max-tubes), which takes a second for a thousand, or "
        "convert by the floor policy"
    )
