"""How statements see traces: what is the same for all statements of a session."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tracetime.clocks.ids import ClockId
from tracetime.graph.arguments import PolicyName

if TYPE_CHECKING:
    from tracetime.graph.clock_graph import ClockGraph
    from tracetime.graph.tube.bars import Bars


@dataclass(frozen=True, slots=True)
class View:
    """How statements see traces.

    Attributes:
        policy, bars: of the events and of `to_clock`, as for `Trace.events`.
        names: whether events have columns that say what they are in all statements.
        labels: names given to clocks.
        by_trace: whether rows of one trace have the column `trace`, too, as those of several.
    """

    policy: PolicyName = "floor"
    bars: Bars = "estimated"
    names: bool = False
    labels: Mapping[ClockId, str] = field(default_factory=dict)
    by_trace: bool = False

    def name(self, clock: ClockId, graph: ClockGraph) -> str:
        """Return the name of a clock: a label, the name that the trace gives it, or its id."""
        return self.labels.get(clock) or graph.name(clock)
