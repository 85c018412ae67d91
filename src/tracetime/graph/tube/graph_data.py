"""What the tube policy reads of a graph."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tracetime.clocks.domain import ClockDomain
from tracetime.clocks.ids import ClockId
from tracetime.graph.tube.event_readings import EventReadings
from tracetime.graph.tube.measurements import Measured
from tracetime.graph.tube.messages import Between
from tracetime.graph.tube.neighbours import Neighbours
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
