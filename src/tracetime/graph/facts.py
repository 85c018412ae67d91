"""Facts of a graph's clocks, without any conversion."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, Final

from tracetime.clocks.domain import ClockDomain
from tracetime.clocks.families import WALL
from tracetime.clocks.ids import BUILTIN_IDS, OWN_PREFIX, ClockId, ClockLike, hashed_name, is_clock
from tracetime.errors import ConversionError, UsageError
from tracetime.graph.arguments import checked_domain, clock_list, clock_of_caller
from tracetime.graph.graph import Graph
from tracetime.graph.info import ClockInfo, OrdersInfo, Readings, SeriesInfo
from tracetime.graph.values import Given, take
from tracetime.text import did_you_mean, printable

# The clock that a caller's text names in a graph: an id, a declared name, or a short name.
#
# A recording has names such as `dev.tracetime.tsc`, which the commands that record show as `TSC`.

_TSC: Final = BUILTIN_IDS["TSC"]
_PTP: Final = f"{OWN_PREFIX}ptp."
_DEVICE: Final = re.compile(r"(vulkan|opencl|cuda|ptp)(?::(\d{1,9}))?", re.IGNORECASE | re.ASCII)
_MOST_SUGGESTED: Final = 1 << 10
"""Clocks whose names are compared with a name that is not known: more take long."""


def clock_named(graph: Graph, text: ClockLike) -> ClockId:
    """Return the clock that a caller names; it need not be in a snapshot.

    Raises:
        UsageError: it is no clock's name; several clocks have it.
    """
    if isinstance(text, str) and " " in text.strip():
        alike = [c for c, name in graph.state.names.items() if printable(name) == text.strip()]
        if len(alike) == 1:
            return alike[0]
    parsed, fault = None, None
    try:
        parsed = ClockId.parse(text)
    except UsageError as error:
        fault = error
    # The short name of a clock of a recording is no id, but for TSC.
    if isinstance(text, str) and (parsed is None or parsed.clock == _TSC):
        known = _known(graph)
        if parsed is None or parsed not in known:
            found = _with_name(graph, text)
            if len(found) == 1:
                return found[0]
            if found:
                names = dict.fromkeys(printable(graph.state.name(clock)) for clock in found)
                listing = names if len(names) == len(found) else map(str, found)
                several = ", ".join(islice(listing, 4))
                raise UsageError(f"{text!r} may be any of {several}: give one of these names")
        if fault is not None and known and not is_clock(text.partition("@")[0]):
            near = _near(graph, known, text)
            raise UsageError(
                f"{text!r} is not a clock{near or ':'} {clock_list(known, graph.state.name)}"
            )
    if parsed is None:
        assert fault is not None
        raise fault
    return clock_of_caller(parsed)


def readings(graph: Graph, ts: Any, clock: ClockId) -> Given:
    """Read timestamps as `take`: readings of a clock in its own unit.

    Raises:
        UsageError: as `take`; dates and times, and the clock is no wall clock.
    """
    given = take(ts)
    if not given.is_wall:
        return given
    if clock.clock not in WALL:
        raise UsageError(
            f"dates and times are readings of REALTIME, not of {clock}: give whole numbers, or "
            f"convert them from REALTIME to {clock}"
        )
    with graph.lock:
        unit_ns = graph.contents.unit_ns(clock)
    if (given.values % unit_ns).any():
        raise UsageError(f"{clock} counts {unit_ns} ns: a date and time is between two readings")
    return given._replace(values=given.values // unit_ns)


def with_given_names(graph: Graph, error: ConversionError, *given: ClockLike) -> ConversionError:
    """The error of a conversion between the given clocks: unknown ones by the names given."""
    if error.reason in ("unknown_source_clock", "unknown_target_clock"):
        for text in given:
            unknown = unknown_name(graph, text, error.reason)
            if unknown is not None:
                return unknown
    return error


def unknown_name(
    graph: Graph, text: ClockLike, reason: str = "unknown_source_clock"
) -> ConversionError | None:
    """The error for a name whose hash is the id of no clock of the graph; None for others."""
    name = hashed_name(text)
    if name is None:
        return None
    known = _known(graph)
    if clock_named(graph, text) in known:
        return None
    near, have = _near(graph, known, name), clock_list(known, graph.state.name)
    return ConversionError(f"no snapshot has {text}{near or ':'} {have}", reason)


def _known(graph: Graph) -> Sequence[ClockId]:
    with graph.lock:
        return graph.contents.known()


def _with_name(graph: Graph, text: str) -> list[ClockId]:
    base, _, scope = text.strip().partition("@")
    return [
        clock
        for clock, name in graph.state.full_names.items()
        if _is_called(name, base)
        and (
            str(clock).partition("@")[2] == scope.lower()
            if scope
            else not (clock.machine or clock.file)
        )
    ]


def _is_called(name: str, base: str) -> bool:
    """Whether a caller may call the clock of a name so: `TSC`, `vulkan:0` of one device alone."""
    if base == name or OWN_PREFIX + base.lower() == name:
        return True
    device = _DEVICE.fullmatch(base)
    if device is None:
        return False
    kind = f"{OWN_PREFIX}{device[1].lower()}."
    # The names of PTP clocks have their numbers.
    numbered = kind == _PTP and device[2] is not None
    return name == f"{kind}{device[2]}" if numbered else name.startswith(kind)


def _near(graph: Graph, clocks: Sequence[ClockId], text: str) -> str:
    names = (graph.state.name(clock) for clock in clocks[:_MOST_SUGGESTED])
    return did_you_mean(text, [printable(name) for name in names])


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
        prints it: `TSC`, `TAI`, `ptp:0`; `vulkan:0`, `opencl:0` where one device was recorded.

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
