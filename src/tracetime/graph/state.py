"""The state of a clock graph: all that is saved, restored, pickled and sent to a worker."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TypeAlias

from tracetime._kernels import graph as kernel
from tracetime._kernels.graph import Engine
from tracetime.clocks.domain import ClockDomain
from tracetime.clocks.ids import OWN_PREFIX, ClockId, ClockLike, hashed_name, short_name
from tracetime.graph.tube.lattice import EventReadings
from tracetime.graph.tube.measurements import Column, Measured, Read
from tracetime.graph.tube.messages import Between
from tracetime.graph.tube.orders import Orders
from tracetime.graph.values import Values
from tracetime.text import printable

Key: TypeAlias = tuple[int, int, int, int]
"""A clock as the engine knows it: (clock, sequence, file, machine)."""


@dataclass(slots=True, eq=False)
class GraphState:
    """The columns of a clock graph, and the declared properties of its clocks.

    Attributes:
        engine: the snapshots.
        trace_clock: the clock given as trace clock, if any.
        file: the number that the engine gives the one file there is; callers know it as 0.
        domains: the declared domains, by clock.
        measured: how clocks were read in snapshots.
        between: bounds of clocks that no snapshot has read together.
        events: what clocks read in events, by clock.
        orders: which readings of two clocks happened before which.
        baked: whether the snapshots are those of a baked trace: they place its events, and say
            nothing of its source's clocks.
        given: the names, whose hashes are ids, by which a caller added readings.
    """

    engine: Engine = field(default_factory=Engine)
    trace_clock: ClockId | None = None
    file: int = 0
    domains: dict[ClockId, ClockDomain] = field(default_factory=dict)
    measured: Measured = field(default_factory=Measured)
    between: Between = field(default_factory=Between)
    events: Mapping[ClockId, EventReadings] = field(default_factory=dict)
    orders: Orders = field(default_factory=Orders)
    given: dict[ClockId, str] = field(default_factory=dict)
    baked: bool = False

    def take_import(
        self,
        measured: Mapping[Key, tuple[Values, Values, Values]],
        steered: tuple[Values, Values, Values],
        events: Mapping[Key, tuple[Values, int, int]],
    ) -> None:
        """Take over the findings of an importer besides the readings, which the engine has.

        Args:
            measured: by clock, the snapshots that say how it was read, with its centres and
                half-widths in them.
            steered: (snapshots, machines, 2^-16 ppm) by which kernels steered their clocks.
            events: by clock, the parts of `EventReadings`.
        """
        columns = {
            self.clock(key): Column(snapshots, Read(centre, half))
            for key, (snapshots, centre, half) in measured.items()
        }
        self.measured = Measured(columns, steered)
        self.events = {self.clock(key): EventReadings(*parts) for key, parts in events.items()}

    @property
    def version(self) -> tuple[int, int]:
        """The version of the graph: a new one after each change of the evidence."""
        return kernel.version(self.engine), len(self.orders)

    def key(self, clock: ClockId) -> Key:
        """The engine's key of a clock: only sequence-scoped clocks differ by file."""
        file = self.file if clock.is_sequence_scoped and not clock.file else clock.file
        return clock.clock, clock.sequence, file, clock.machine

    def clock(self, key: Key) -> ClockId:
        """The clock of an engine's key."""
        return clock_of(key, self.file)

    def domain(self, clock: ClockId) -> ClockDomain:
        """The declared domain of a clock, or the one of its kind."""
        return self.domains.get(clock) or ClockDomain.of_kind(clock)

    def ns_per_tick(self, clock: ClockId) -> Fraction | None:
        """The declared rate of a clock, or that of its kind: `domain` takes long to make one."""
        declared = self.domains.get(clock)
        return declared.ns_per_tick if declared else ClockDomain.rate_of_kind(clock)

    def name(self, clock: ClockId) -> str:
        """The declared name of a clock, or the given one, or its id; short, of a clock of ours."""
        # Not `domain`: that of a kind has no name.
        declared = self.domains.get(clock)
        name = (declared and declared.name) or self.given.get(clock) or str(clock)
        ours = name.startswith(OWN_PREFIX)
        return short_name(name, self.full_names.values()) if ours else name

    @property
    def names(self) -> dict[ClockId, str]:
        """The names of clocks as texts show them, by clock."""
        full = self.full_names
        return {clock: short_name(name, full.values()) for clock, name in full.items()}

    @property
    def full_names(self) -> dict[ClockId, str]:
        """The declared names, by clock, and the given ones of others."""
        declared = {clock: d.name for clock, d in self.domains.items() if d.name is not None}
        return self.given | declared

    def take_names(self, *clocks: ClockLike) -> None:
        """Remember the names among what a caller gave for clocks."""
        for text in clocks:
            if hashed_name(text) is not None:
                self.given[ClockId.parse(text)] = printable(str(text).strip())


def tied_by_messages(state: GraphState) -> list[tuple[ClockId, ClockId]]:
    """The pairs of clocks that messages bound, each once."""
    pairs = {frozenset(pair): pair for pair in (*state.between.pairs(), *state.orders.pairs())}
    return list(pairs.values())


def clock_of(key: Key, own_file: int) -> ClockId:
    """The clock of an engine's key; callers know own_file as 0."""
    clock, sequence, file, machine = key
    return ClockId.of_trace(clock, sequence, machine, 0 if file == own_file else file)
