"""Events in flows: as orders of the clocks of machines, and those that end before they begin.

An event that begins a flow comes before one that the flow passes, and both before one that ends
it. What only `flow_ids` say has no direction: Perfetto takes it from the times, of which orders are
to be evidence.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from tracetime.clocks.ids import ClockId
from tracetime.graph.values import Values, difference
from tracetime.text import count, duration
from tracetime.trace.notes import Note

_LONGEST: Final = 64
"""A flow with more events than that is an id used again and again."""

_BEGINS, _PASSES, _ENDS, _TERMINATES = range(4)


class FlowSteps(NamedTuple):
    """Places of events in flows: arrays of one length.

    Attributes:
        flow: uint64, its id.
        kind: what the event says of its place.
        clock: that it was read in, by number.
        reading: of that clock, ns.
    """

    flow: npt.NDArray[np.uint64]
    kind: Values
    clock: Values
    reading: Values

    def at(self, rows: npt.NDArray[np.intp] | npt.NDArray[np.bool_] | slice) -> FlowSteps:
        return FlowSteps(self.flow[rows], self.kind[rows], self.clock[rows], self.reading[rows])


_NONE: Final = np.empty(0, dtype=np.int64)
_NO_ROWS: Final = np.empty(0, dtype=np.intp)
NO_STEPS: Final = FlowSteps(np.empty(0, dtype=np.uint64), _NONE, _NONE, _NONE)


class FlowEvents(NamedTuple):
    """The events of a trace that are in flows.

    Attributes:
        clocks: those that they were read in, and of each the ns of its unit.
        steps: their places; `clock` is an index of `clocks`.
        left_out: how many there was no room for.
    """

    clocks: list[tuple[ClockId, int]]
    steps: FlowSteps
    left_out: int


class FlowOrders(NamedTuple):
    """Events of flows that happened before others on another machine.

    Attributes:
        flows: how many flows have events of several machines.
        used: how many of them have a direction.
        before, after: indices of pairs of events, the first before the second, in `steps`.
        steps: the events, in another order than they were given.
        rows: where they were.
    """

    flows: int
    used: int
    before: npt.NDArray[np.intp]
    after: npt.NDArray[np.intp]
    steps: FlowSteps
    rows: npt.NDArray[np.intp]


def flow_orders(steps: FlowSteps, machine: Values) -> FlowOrders:
    """Find the pairs of events of flows of which one happened before the other on another machine.

    machine: of each event.
    """
    rows = _between_machines(steps, machine)
    steps, machine = steps.at(rows), machine[rows]
    starts = _starts(steps.flow)
    if not len(starts):
        return FlowOrders(0, 0, _NO_ROWS, _NO_ROWS, steps, rows)
    directed = _have_direction(steps)
    number = np.repeat(np.arange(len(starts)), np.diff(starts, append=len(machine)))
    pairs = list(_neighbours(steps, directed[number]))
    before, after = (np.concatenate(e) for e in zip((_NO_ROWS, _NO_ROWS), *pairs, strict=True))
    across = machine[before] != machine[after]
    before, after = before[across], after[across]
    used = len(np.unique(number[before]))
    return FlowOrders(len(starts), used, before, after, steps, rows)


def between_files(steps: FlowSteps, file: Values) -> npt.NDArray[np.bool_]:
    """A mask of events in flows that no file both begins and ends: such a flow is the file's own.

    file: of each event.
    """
    flows, number = np.unique(steps.flow, return_inverse=True)
    files, of = np.unique(file, return_inverse=True)
    place = number * len(files) + of
    is_end = steps.kind >= _ENDS
    own = np.zeros(len(flows), dtype=np.bool_)
    own[np.intersect1d(place[is_end], place[~is_end]) // max(len(files), 1)] = True
    return ~own[number]


def by_clocks(
    clocks: list[tuple[ClockId, int]], found: FlowOrders
) -> Iterator[tuple[ClockId, ClockId, Values, Values]]:
    """The readings of orders, before and after, for each pair of clocks.

    clocks: with the ns of their unit, by number.
    """
    steps, before, after = found.steps, found.before, found.after
    keys = steps.clock[before] * len(clocks) + steps.clock[after]
    for key in np.unique(keys).tolist():
        ours = keys == key
        (one, unit), (other, also) = clocks[key // len(clocks)], clocks[key % len(clocks)]
        yield (one, other, steps.reading[before[ours]] // unit, steps.reading[after[ours]] // also)


def concatenate_steps(parts: Sequence[FlowSteps]) -> FlowSteps:
    """All steps of some parts, one part after the other."""
    flows, *rest = zip(*parts, strict=True)
    return FlowSteps(np.concatenate(flows), *map(np.concatenate, rest))


def _between_machines(steps: FlowSteps, machine: Values) -> npt.NDArray[np.intp]:
    """The events of flows over several machines: the events of each flow together, by place."""
    order = np.lexsort((steps.kind, steps.flow))
    starts = _starts(steps.flow[order])
    if not len(starts):
        return order
    machine = machine[order]
    mixed = np.minimum.reduceat(machine, starts) != np.maximum.reduceat(machine, starts)
    rows: npt.NDArray[np.intp] = order[np.repeat(mixed, np.diff(starts, append=len(machine)))]
    return rows


def _have_direction(steps: FlowSteps) -> npt.NDArray[np.bool_]:
    """A mask of the flows, by number, that have one direction.

    An id that begins or terminates twice is used for several flows, and so is one whose events
    contradict it on one clock. One of legacy events has to begin once and to end once.
    """
    starts = _starts(steps.flow)
    sizes = np.diff(starts, append=len(steps.flow))
    directed = sizes <= _LONGEST
    begins, ends, terminates = (
        np.add.reduceat(steps.kind == kind, starts) for kind in (_BEGINS, _ENDS, _TERMINATES)
    )
    directed &= (begins <= 1) & (terminates <= 1)
    # Ids of legacy events are small numbers: two machines may have one for flows of their own.
    is_legacy = begins + ends > 0
    directed &= ~is_legacy | ((begins == 1) & (ends + terminates == 1))
    number = np.repeat(np.arange(len(starts)), sizes)
    for before, after in _neighbours(steps, directed[number]):
        ours = steps.clock[before] == steps.clock[after]
        backwards = steps.reading[before] > steps.reading[after]
        directed[number[before[ours & backwards]]] = False
    return directed


def _neighbours(
    steps: FlowSteps, chosen: npt.NDArray[np.bool_]
) -> Iterator[tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]]:
    """Pairs of events, the first before the second, in flows of the chosen ones: part by part."""
    place = np.minimum(steps.kind, _ENDS)
    rows = np.flatnonzero(chosen)
    for away in range(1, _LONGEST):
        rows = rows[rows + away < len(chosen)]
        rows = rows[steps.flow[rows] == steps.flow[rows + away]]
        if not len(rows):
            return
        before = rows[place[rows] < place[rows + away]]
        yield before, before + away


def _starts(flows: npt.NDArray[np.uint64]) -> npt.NDArray[np.intp]:
    """The rows at which the events of each flow begin."""
    return np.flatnonzero(np.append(True, flows[1:] != flows[:-1])[: len(flows)])


_FEW: Final = 3
_FEW_OF: Final = 0.05
"""So few flows, or so small a part of them, can be ids that are used again."""


def backward_flows(clock: ClockId, steps: npt.NDArray[np.int64], late_ns: int) -> Iterator[Note]:
    """Yield the note about flows that end before they begin, by the times of their events.

    Args:
        clock: of the trace, that the times are of.
        steps: int64[4, n]: of each event its flow, what it says of its place, its time in ns, and
            its packet.
        late_ns: by no more can times run back that are rounded.
    """
    flow, kind, time, packet = steps[
        :, np.lexsort((steps[2], np.minimum(steps[1], _ENDS), steps[0]))
    ]
    starts = _starts(flow)
    if not len(starts):
        return
    last = np.append(starts[1:], len(flow)) - 1
    ends, begins = (np.add.reduceat(which, starts) for which in (kind >= _ENDS, kind == _BEGINS))
    # Of several events that only pass it on, none may be the first; but one is before its end.
    one_way = (ends == 1) & (begins <= 1) & (last > starts)
    first, last = starts[one_way], last[one_way]
    by = difference(time[first], time[last])
    rows = np.flatnonzero(by > late_ns)
    if len(rows) < max(_FEW, _FEW_OF * len(by)):
        return
    worst = rows[np.argmax(by[rows])]
    begun, ended = first[rows], last[rows]
    yield Note(
        "effect-before-cause",
        "flows",
        (int(packet[first[worst]]), int(packet[last[worst]])),
        events=2 * len(rows),
        size_ns=int(by[worst]),
        clocks=(clock,),
        values={
            "flows": f"{len(rows):,}",
            "all_flows": count(len(by), "flow"),
            "usual": duration(int(np.median(by[rows]))),
            "begun": int(packet[first[worst]]),
            "ended": int(packet[last[worst]]),
        },
        places=(
            np.concatenate([time[begun], time[ended]]),
            np.concatenate([packet[begun], packet[ended]]),
        ),
    )
