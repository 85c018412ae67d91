"""What a clock graph consists of: what is saved, restored, pickled and sent to a worker."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from tracetime._kernels.graph.engine import Engine
from tracetime.clocks.domain import ClockDomain
from tracetime.clocks.ids import ClockId
from tracetime.graph.tube.measurements import Measured
from tracetime.graph.tube.messages import Between
from tracetime.graph.tube.tick_periods import EventReadings


class GraphState(NamedTuple):
    """The parts of a clock graph.

    Attributes:
        engine: the snapshots.
        trace_clock: as the graph was given it.
        file: the number that the engine gives the one file there is; callers know it as 0.
        domains: that were declared, by clock.
        measured: how clocks were read in snapshots.
        between: bounds of clocks that no snapshot has read together.
        events: what clocks read in events, by clock.
    """

    engine: Engine
    trace_clock: ClockId | None
    file: int
    domains: Mapping[ClockId, ClockDomain]
    measured: Measured
    between: Between
    events: Mapping[ClockId, EventReadings]

    def clock(self, key: tuple[int, int, int, int]) -> ClockId:
        """The clock that the engine numbers so: (clock, sequence, file, machine)."""
        return clock_of(key, self.file)


def clock_of(key: tuple[int, int, int, int], own_file: int) -> ClockId:
    """The clock of an engine's (clock, sequence, file, machine); callers know own_file as 0."""
    clock, sequence, file, machine = key
    return ClockId.of_trace(clock, sequence, machine, 0 if file == own_file else file)
