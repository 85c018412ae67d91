"""Facts of a graph's clocks, without any conversion."""

from __future__ import annotations

from collections.abc import Iterator

from tracetime.clocks.domain import ClockDomain
from tracetime.clocks.ids import ClockId, ClockLike
from tracetime.graph.arguments import checked_domain
from tracetime.graph.clock_lookup import clock_named, unknown_name
from tracetime.graph.graph import Graph
from tracetime.graph.info import ClockInfo, OrdersInfo, Readings, SeriesInfo


class GraphFacts:
    """The clocks of a graph, their declared domains, and the evidence that ties them."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph

    def declare(self, domain: ClockDomain) -> None:
        """Declare the properties of a clock, in place of any that were declared before."""
        self._graph.declare(checked_domain(domain))

    def domain(self, clock: ClockLike) -> ClockDomain:
        """The declared domain of a clock, or the one of its kind."""
        return self._graph.state.domain(ClockId.parse(clock))

    @property
    def names(self) -> dict[ClockId, str]:
        """The names of clocks, as declared or added: the id of a named clock is a hash."""
        return self._graph.state.names

    @property
    def declared(self) -> dict[ClockId, ClockDomain]:
        """The declared domains, by clock."""
        return dict(self._graph.state.domains)

    @property
    def trace_clock(self) -> ClockId | None:
        """The clock given as trace clock, if any."""
        return self._graph.state.trace_clock

    def clock(self, clock: ClockLike, *, known: bool = False) -> ClockId:
        """The clock that `ClockId.parse` finds in a text, or that has this name in the graph.

        That is the name of a declared domain, or of a recording's clock as `tracetime record`
        prints it: `TSC`, `TAI`, `ptp.0`; `vulkan:0`, `opencl.0` where one device was recorded.

        Args:
            known: refuse a name with dots that no snapshot has.

        Raises:
            UsageError: it is no clock's name, or that of several; a sequence-scoped clock without
                its sequence.
            ConversionError: no snapshot has it (`known`).
        """
        unknown = unknown_name(self._graph, clock) if known else None
        if unknown is not None:
            raise unknown
        return clock_named(self._graph, clock)

    def name(self, clock: ClockId) -> str:
        """The declared name of a clock, or its id."""
        return self._graph.name(clock)

    def clocks(self) -> list[ClockInfo]:
        """Every clock of a snapshot, in Perfetto's order."""
        return self._graph.clocks()

    def series(self) -> list[SeriesInfo]:
        """The ordered lists of clocks that snapshots have, in order of appearance."""
        with self._graph.lock:
            return list(self._graph.contents.series())

    def readings(self) -> Iterator[Readings]:
        """Every reading of every snapshot; a clock comes once for each list that has it."""
        return self._graph.contents.readings()

    def orders(self) -> list[OrdersInfo]:
        """The numbers of orders of clocks, by direction, in order of appearance."""
        with self._graph.lock:
            return self._graph.state.orders.infos()

    def edges(self) -> list[tuple[ClockId, ClockId, int]]:
        """The conversions of one hop: (source, target, snapshots).

        A snapshot of n clocks makes n (n - 1) of them.
        """
        with self._graph.lock:
            return self._graph.contents.edges()

    def _repr_html_(self) -> str:
        from tracetime.graph.clock_names import graph_table

        return graph_table(self.clocks(), self.series(), self.orders(), self.name, self.trace_clock)

    def __repr__(self) -> str:
        clocks = self._graph.contents.known()
        return f"<ClockGraph of {len(clocks)} clocks: {', '.join(map(self.name, clocks[:6]))}>"
