"""A graph: its state, and the results of it, made where they are needed.

The routes of the floor policy are found by the kernel, and kept while no snapshot is added; those
of the tube have a room of their own (`tube/policy.py`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from threading import RLock
from typing import TYPE_CHECKING, Any, Final

from tracetime._kernels import graph as kernel
from tracetime._kernels.graph import Router, TangledError
from tracetime.clocks.domain import ClockDomain
from tracetime.clocks.ids import ClockId
from tracetime.errors import NO_PATH, REASONS, ConversionError
from tracetime.graph.arguments import PolicyName, refusal
from tracetime.graph.contents import Contents, Numbering
from tracetime.graph.floor import FloorHop, FloorRoute
from tracetime.graph.info import ClockInfo, OffsetVariations
from tracetime.graph.state import GraphState, tied_by_messages
from tracetime.graph.values import Values

if TYPE_CHECKING:
    from tracetime.graph.tube.policy import TubePolicy

_MOST_ROUTES: Final = 64
"""Routes and routers that are kept: more than the clocks that a caller converts at a time."""


class FloorPolicy:
    """Floor's routes, for one state of a graph."""

    def __init__(self, state: GraphState, contents: Contents, lock: RLock) -> None:
        self._state = state
        self._contents = contents
        self._lock = lock
        self._routers: dict[ClockId, Router | None] = {}
        self._routes: dict[tuple[ClockId, ClockId], FloorRoute] = {}

    def route(self, source: ClockId, target: ClockId) -> FloorRoute:
        """The route between two different clocks.

        Raises:
            ConversionError: a clock is unknown, there is no path, or source has run backwards.
        """
        with self._lock:
            found = self._routes.get((source, target))
            if found is None:
                if len(self._routes) >= _MOST_ROUTES:
                    self._routes.clear()
                found = self._routes[source, target] = self._make_route(source, target)
            return found

    def refused(self, source: ClockId, target: ClockId) -> int:
        """The reason why there is no route, as a status; RESOLVED where there is one.

        `route` spells it out: a trace can have very many clocks.
        """
        with self._lock:
            try:
                key = self._state.key(source)
                return kernel.route(self._state.engine, key, self._router(target))[0]
            except TangledError:
                return NO_PATH

    def path(self, source: ClockId, target: ClockId) -> list[ClockId]:
        """The clocks of the route, source first; raises as `route`."""
        with self._lock:
            _, hops = self._found(source, target)
            return [source, *(self._state.clock(there) for _, there, _, _ in hops)]

    def variations(
        self, clocks: Sequence[ClockId], target: ClockId, spans_ns: Values | None = None
    ) -> OffsetVariations:
        """The variation of the offsets of clocks to a target over the snapshots of their routes.

        Where the clocks are tied together in too many ways, there is no route.

        Args:
            spans_ns: for each clock the least and the greatest reading of the target that matter,
                int64, (n, 2): beyond snapshots an offset changes as fast as it did at most.
        """
        engine = self._state.engine
        with self._lock:
            keys = [self._state.key(clock) for clock in clocks]
            try:
                router = self._router(target)
                return OffsetVariations(*kernel.variations(engine, keys, router, spans_ns))
            except TangledError:
                return OffsetVariations(*kernel.variations(engine, keys, None))

    def _make_route(self, source: ClockId, target: ClockId) -> FloorRoute:
        engine, clock = self._state.engine, self._state.clock
        unit_ns, hops = self._found(source, target)
        return FloorRoute(
            unit_ns,
            [
                FloorHop.of(clock(here), clock(there), series, kernel.hop_columns(engine, *columns))
                for here, there, columns, series in hops
            ],
        )

    def _found(self, source: ClockId, target: ClockId) -> tuple[int, list[tuple[Any, ...]]]:
        """The unit of the source, ns, and the hops to the target, as the kernel has them."""
        try:
            status, unit_ns, hops = kernel.route(
                self._state.engine, self._state.key(source), self._router(target)
            )
        except TangledError as error:
            raise ConversionError(
                f"no path from {source} to {target}: {error}", "no_path"
            ) from error
        if status:
            ordered = self._state.orders.clocks()
            raise refusal(REASONS[status], source, target, self._contents.known(), ordered)
        return unit_ns, hops

    def _router(self, target: ClockId) -> Router | None:
        if target not in self._routers:
            if len(self._routers) >= _MOST_ROUTES:
                self._routers.clear()
            self._routers[target] = kernel.make_router(self._state.engine, self._state.key(target))
        return self._routers[target]


class Graph:
    """A graph's state, and its contents and policies as of the latest snapshot or order.

    Callers have it in a coat: `ClockGraph`.

    Attributes:
        state: the columns, to which snapshots and orders are added.
        lock: held by all that adds to a graph that threads share, or reads what may be added to.
        most_tubes: how many pairs of clocks may have a tube; None for any number.
    """

    def __init__(self, state: GraphState) -> None:
        self.state = state
        self.lock = RLock()
        self.most_tubes: int | None = None
        self._numbering = Numbering(state, self.lock)
        self._tubes: TubePolicy | None = None
        self._forget()

    def declare(self, domain: ClockDomain) -> None:
        """Declare the properties of a clock, in place of those declared before."""
        with self.lock:
            self.state.domains[domain.id] = domain
            self._forget()

    def _forget(self) -> None:
        """Drop all results of the state, which has changed."""
        self._contents = Contents(self.state, self._numbering, self.lock)
        self._floor = FloorPolicy(self.state, self._contents, self.lock)
        self._tubes = None
        self._version = self.state.version

    @property
    def contents(self) -> Contents:
        """The contents of the snapshots as they are now."""
        self._refresh()
        return self._contents

    @property
    def floor(self) -> FloorPolicy:
        """The floor policy for the snapshots as they are now."""
        self._refresh()
        return self._floor

    @property
    def tubes(self) -> TubePolicy:
        """The tube policy for the snapshots as they are now."""
        with self.lock:
            self._refresh()
            if self._tubes is None:
                self._tubes = self._make_tubes()
            return self._tubes

    def clocks(self) -> list[ClockInfo]:
        """Every clock of a snapshot, in Perfetto's order."""
        with self.lock:
            return list(self.contents.clocks())

    def domain(self, clock: ClockId) -> ClockDomain:
        """The declared domain of a clock, or the one of its kind."""
        return self.state.domain(clock)

    def name(self, clock: ClockId) -> str:
        """The declared name of a clock, or its id."""
        return self.state.name(clock)

    def path(self, source: ClockId, target: ClockId, policy: PolicyName = "floor") -> list[ClockId]:
        """The clocks of a conversion, source first; see `ClockGraph.path`."""
        if source == target:
            return [source]
        if policy == "tube":
            return list(self.tubes.path(source, target))
        return self.floor.path(source, target)

    def counts_ticks(self, clock: ClockId) -> bool:
        """Whether readings of a clock are no ns: of another unit, or of another or an open rate."""
        return self.contents.unit_ns(clock) != 1 or self.state.ns_per_tick(clock) != 1

    def shared(self, one: ClockId, other: ClockId) -> tuple[Any, Any, Any]:
        """The shared readings of two clocks: (snapshots, readings of one, of the other)."""
        return self.contents.shared(one, other)

    def _refresh(self) -> None:
        if self.state.version != self._version:
            with self.lock:
                self._forget()

    def _make_tubes(self) -> TubePolicy:
        # Some thirty modules that the floor policy does not need.
        from tracetime.graph.tube.graph_data import GraphData, Neighbours
        from tracetime.graph.tube.machines import Machines, Together
        from tracetime.graph.tube.pairs import Pairs
        from tracetime.graph.tube.paths import Reach
        from tracetime.graph.tube.policy import TubePolicy
        from tracetime.graph.tube.tick_periods import Ticks

        state, contents = self.state, self._contents
        bounded = tied_by_messages(state)
        messages: defaultdict[ClockId, set[ClockId]] = defaultdict(set)
        for one, other in bounded:
            messages[one].add(other)
            messages[other].add(one)
        neighbours = Neighbours(
            lambda c: set() if state.baked else contents.neighbours(c).union(messages.get(c, ())),
            lambda c, n: (
                not state.baked
                and len(contents.neighbours(c, n + 1).union(messages.get(c, ()))) > n
            ),
        )
        data = GraphData(
            shared=contents.shared,
            readings=lambda clock: contents.readings_of(clock)[1],
            unit_ns=contents.unit_ns,
            domain=state.domain,
            neighbours=neighbours,
            measured=state.measured,
            between=state.between,
            orders=state.orders,
            events=state.events,
        )
        pairs = Pairs(data, Ticks(data).of, self.most_tubes)
        machines = Machines(
            contents.mixed_series,
            bounded,
            lambda one, other: bool(len(pairs.shared(one, other)[0])),
        )
        self._numbering.clocks()
        reach = Reach(state.engine, self._numbering.numbers, bounded, self.most_tubes)
        together = Together(
            pairs,
            neighbours,
            state.domain,
            lambda: [] if state.baked else [*contents.lists().of_machines(), *bounded],
        )
        return TubePolicy(pairs, neighbours, machines, reach, together, state.orders.pairs())
