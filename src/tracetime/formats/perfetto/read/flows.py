"""Flows between machines, as orders of their clocks.

An event that begins a flow comes before one that the flow passes, and both before one that ends
it. What only `flow_ids` say has no direction: Perfetto takes it from the times, of which orders are
to be evidence.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from tracetime._kernels.perfetto.flow_log import FlowLog
from tracetime.clocks.ids import ClockId
from tracetime.errors import AS_IS, NO_PATH, RESOLVED, UNKNOWN_SOURCE_CLOCK, UNKNOWN_TARGET_CLOCK
from tracetime.event_clocks import ClockNumbers
from tracetime.events_table import Columns
from tracetime.graph.info import FlowCounts

if TYPE_CHECKING:
    from tracetime._kernels.perfetto.observer import PacketObserver
    from tracetime.trace import Trace

Values = npt.NDArray[np.int64]

MOST_STEPS: Final = 1 << 24
"""Places of events in flows that are kept: about 800 MB at most."""

_LONGEST: Final = 64
"""A flow with more events than that is an id used again and again."""

_BEGINS, _PASSES, _ENDS, _TERMINATES = range(4)

_READ: Final = (RESOLVED, AS_IS, NO_PATH, UNKNOWN_SOURCE_CLOCK, UNKNOWN_TARGET_CLOCK)
"""The statuses of events whose reading is known."""


class _Steps(NamedTuple):
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

    def at(self, rows: npt.NDArray[np.intp] | npt.NDArray[np.bool_] | slice) -> _Steps:
        return _Steps(self.flow[rows], self.kind[rows], self.clock[rows], self.reading[rows])


_NONE: Final = np.empty(0, dtype=np.int64)
_NO_STEPS: Final = _Steps(np.empty(0, dtype=np.uint64), _NONE, _NONE, _NONE)
_NAMING: Final = ("clock", "sequence", "machine")


def add_flows(trace: Trace, read: Callable[[PacketObserver], Iterator[Columns]]) -> FlowCounts:
    """Read a trace from its start, and add its flows between machines to its graph as orders."""
    clocks, steps, left_out = _read(trace, read)
    wrapping = [trace.clocks.domain(clock).valid_bits not in (None, 64) for clock in clocks]
    # Which wrap a reading belongs to is open.
    steps = steps.at(~np.array(wrapping, dtype=bool)[steps.clock])
    steps = _between_machines(steps, clocks)
    starts = _starts(steps.flow)
    if not len(starts):
        return FlowCounts(0, 0, 0, left_out)
    machine = np.array([clock.machine for clock in clocks], dtype=np.int64)[steps.clock]
    directed = _directed(steps)
    number = np.repeat(np.arange(len(starts)), np.diff(starts, append=len(machine)))
    pairs = list(_neighbours(steps, directed[number]))
    before, after = (np.concatenate(ends) for ends in zip((_NONE, _NONE), *pairs, strict=True))
    across = machine[before] != machine[after]
    before, after = before[across], after[across]
    _add(trace, clocks, steps, before, after)
    used = len(np.unique(number[before]))
    return FlowCounts(len(starts), len(starts) - used, len(before), left_out)


def _add(
    trace: Trace,
    clocks: list[ClockId],
    steps: _Steps,
    before: npt.NDArray[np.intp],
    after: npt.NDArray[np.intp],
) -> None:
    """Add orders of the events of flows, by pair of clocks."""
    units = {info.clock: info.unit_ns for info in trace.clocks.clocks()}
    keys = steps.clock[before] * len(clocks) + steps.clock[after]
    for key in np.unique(keys).tolist():
        ours = keys == key
        one, other = clocks[key // len(clocks)], clocks[key % len(clocks)]
        trace.clocks._parts.state.orders.add(
            one,
            other,
            steps.reading[before[ours]] // units.get(one, 1),
            steps.reading[after[ours]] // units.get(other, 1),
            0,
        )


def _read(
    trace: Trace, read: Callable[[PacketObserver], Iterator[Columns]]
) -> tuple[list[ClockId], _Steps, int]:
    """The clocks that events of flows name, and the events' places in flows."""
    log = FlowLog(MOST_STEPS)
    # An event without a clock is on trace time: of the home machine only, that is a reading.
    numbers = ClockNumbers([trace.trace_clock], trace.machines)
    base = 0
    parts = [_NO_STEPS]
    for columns in read(log):
        flow, row, kind = log.take()
        row -= base
        base += len(columns["packet"])
        log.next_batch(len(columns["packet"]))
        known = np.isin(columns["status"][row], _READ)
        flow, row, kind = flow[known], row[known], kind[known]
        if len(row):
            clock = numbers.of_rows({name: columns[name][row] for name in _NAMING})
            clock[columns["clock"][row] == 0] = 0
            parts.append(_Steps(flow, kind, clock, columns["source_ns"][row]))
    flows, *rest = zip(*parts, strict=True)
    steps = _Steps(np.concatenate(flows), *map(np.concatenate, rest))
    return numbers.clocks, steps, log.left_out


def _between_machines(steps: _Steps, clocks: list[ClockId]) -> _Steps:
    """The flows that have events of several machines: each one's events together, by place."""
    steps = steps.at(np.lexsort((steps.kind, steps.flow)))
    machine = np.array([clock.machine for clock in clocks], dtype=np.int64)[steps.clock]
    starts = _starts(steps.flow)
    if not len(starts):
        return steps
    mixed = np.minimum.reduceat(machine, starts) != np.maximum.reduceat(machine, starts)
    return steps.at(np.repeat(mixed, np.diff(starts, append=len(machine))))


def _directed(steps: _Steps) -> npt.NDArray[np.bool_]:
    """Which flows, by number, have one direction.

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
    steps: _Steps, chosen: npt.NDArray[np.bool_]
) -> Iterator[tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]]:
    """Pairs of events, the first before the second, of the chosen ones' flows: part by part."""
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
    """Where each flow's events begin."""
    return np.flatnonzero(np.append(True, flows[1:] != flows[:-1])[: len(flows)])
