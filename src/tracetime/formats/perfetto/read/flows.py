"""The flows of a Perfetto trace, as orders of the clocks of its machines."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt

from tracetime._kernels.perfetto.checks import FlowLog
from tracetime.clocks.ids import ClockId
from tracetime.errors import AS_IS, NO_PATH, RESOLVED, UNKNOWN_SOURCE_CLOCK, UNKNOWN_TARGET_CLOCK
from tracetime.graph.clock_graph import inner
from tracetime.graph.info import FlowCounts
from tracetime.trace.event_clocks import ClockNumbers
from tracetime.trace.events_table import Columns
from tracetime.trace.flows import (
    NO_STEPS,
    FlowEvents,
    FlowSteps,
    by_clocks,
    concatenate_steps,
    flow_orders,
)

if TYPE_CHECKING:
    from tracetime._kernels.perfetto.importer import PacketObserver
    from tracetime.trace.trace import Trace


MOST_STEPS: Final = 1 << 24
"""Places of events in flows that are kept: about 800 MB at most."""

_READ: Final = (RESOLVED, AS_IS, NO_PATH, UNKNOWN_SOURCE_CLOCK, UNKNOWN_TARGET_CLOCK)
"""The statuses of events whose reading is known."""

_NAMING: Final = ("clock", "sequence", "machine")


def flow_events(trace: Trace, read: Callable[[PacketObserver], Iterator[Columns]]) -> FlowEvents:
    """Read a trace from its start: its events in flows, but for those of clocks that wrap."""
    clocks, steps, left_out = _read(trace, read)
    wrapping = [trace.clocks.domain(clock).valid_bits not in (None, 64) for clock in clocks]
    # Which wrap a reading belongs to is open.
    steps = steps.at(~np.array(wrapping, dtype=bool)[steps.clock])
    units = {info.clock: info.unit_ns for info in trace.clocks.clocks()}
    return FlowEvents([(clock, units.get(clock, 1)) for clock in clocks], steps, left_out)


def add_flows(trace: Trace, read: Callable[[PacketObserver], Iterator[Columns]]) -> FlowCounts:
    """Read a trace from its start, and add its flows between machines to its graph as orders."""
    events = flow_events(trace, read)
    machines = np.array([clock.machine for clock, _ in events.clocks], dtype=np.int64)
    found = flow_orders(events.steps, machines[events.steps.clock])
    for one, other, sent, received in by_clocks(events.clocks, found):
        inner(trace.clocks).state.orders.add(one, other, sent, received, 0)
    undirected = found.flows - found.used
    return FlowCounts(found.flows, undirected, len(found.before), events.left_out)


def placed_steps(log: FlowLog, columns: Columns) -> npt.NDArray[np.int64]:
    """The events of a batch in flows that are placed, as `backward_flows` takes them.

    A flow over several machines is one of each.
    """
    flow, row, kind = log.take(len(columns["packet"]))
    placed = columns["status"][row] <= AS_IS
    flow, row, kind = flow[placed], row[placed], kind[placed]
    flow ^= columns["machine"][row].astype(np.uint64) << np.uint64(32)
    times = columns["trace_time"][row], columns["packet"][row].astype(np.int64)
    return np.stack([flow.view(np.int64), kind, *times])


def _read(
    trace: Trace, read: Callable[[PacketObserver], Iterator[Columns]]
) -> tuple[list[ClockId], FlowSteps, int]:
    """The clocks that events of flows name, and the events' places in flows."""
    log = FlowLog(MOST_STEPS)
    # An event without a clock is on trace time: of the home machine only, that is a reading.
    numbers = ClockNumbers([trace.trace_clock], trace.machines)
    parts = [NO_STEPS]
    for columns in read(log):
        flow, row, kind = log.take(len(columns["packet"]))
        known = np.isin(columns["status"][row], _READ)
        flow, row, kind = flow[known], row[known], kind[known]
        if len(row):
            clock = numbers.of_rows({name: columns[name][row] for name in _NAMING})
            clock[columns["clock"][row] == 0] = 0
            parts.append(FlowSteps(flow, kind, clock, columns["source_ns"][row]))
    return numbers.clocks, concatenate_steps(parts), log.left_out
