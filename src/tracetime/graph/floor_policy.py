"""Routes of the floor policy: found by the kernel, kept while no snapshot is added."""

from __future__ import annotations

from collections.abc import Sequence
from threading import RLock
from typing import Any, Final

from tracetime._kernels import graph as kernel
from tracetime._kernels.graph import Router, TangledError
from tracetime.clocks.ids import ClockId
from tracetime.errors import NO_PATH, REASONS, ConversionError
from tracetime.graph.arguments import refusal
from tracetime.graph.contents import Contents
from tracetime.graph.floor import FloorHop, FloorRoute, Values
from tracetime.graph.info import OffsetVariations
from tracetime.graph.state import GraphState

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
        """Why there is no route, as a status; RESOLVED where there is one.

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
        """How much the offsets of clocks to a target varied over the snapshots of their routes.

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
