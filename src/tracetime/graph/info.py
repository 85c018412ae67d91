"""Facts of a graph's clocks and snapshots, as callers get them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from tracetime.clocks.ids import ClockId

if TYPE_CHECKING:
    from tracetime.clocks.json_types import Count


class ClockInfo(NamedTuple):
    """One clock of a graph: its properties, and its readings in the order they were added."""

    clock: ClockId
    unit_ns: Count
    incremental: bool
    monotonic: bool
    snapshots: Count
    first_ns: int | None
    last_ns: int | None


class SeriesInfo(NamedTuple):
    """A list of clocks that snapshots have, and the number of these snapshots.

    Attributes:
        clocks: the clocks, in order.
        snapshots: how many snapshots have this list.
    """

    clocks: tuple[ClockId, ...]
    snapshots: Count


class FlowCounts(NamedTuple):
    """The flows of a trace's events that have some of several machines.

    Attributes:
        flows: how many there are.
        undirected: how many of them say nothing of their direction, or contradict themselves.
        orders: how many orders of two clocks the others are.
        left_out: how many places of events in flows there was no room for, of all flows.
    """

    flows: int
    undirected: int
    orders: int
    left_out: int


class OrdersInfo(NamedTuple):
    """The number of orders in which one clock was read before another."""

    before: ClockId
    after: ClockId
    orders: int


class Readings(NamedTuple):
    """The readings of one clock in some snapshots, in order: int64 arrays of one length.

    Attributes:
        snapshots: numbers of the snapshots, counted over the graph from 0.
        values_ns: the readings, in ns whatever the clock's unit.
        centre_ns: when they were taken, ns of the reference after its own reading.
        half_width_ns: how far from the centre that may have been; -1 where it is not recorded.
    """

    clock: ClockId
    snapshots: npt.NDArray[np.int64]
    values_ns: npt.NDArray[np.int64]
    centre_ns: npt.NDArray[np.int64]
    half_width_ns: npt.NDArray[np.int64]


class OffsetVariations(NamedTuple):
    """The variation of the offsets of some clocks to a target: arrays of one length.

    Attributes:
        hops: how many lead to the target, int8; -1 where none do.
        change_ns: the greatest change of an offset from one snapshot to the next, float64, summed
            over the hops.
        drift_ns: the greatest difference of an offset over all snapshots, float64, summed over
            the hops.
    """

    hops: npt.NDArray[np.int8]
    change_ns: npt.NDArray[np.float64]
    drift_ns: npt.NDArray[np.float64]
