"""`tracetime clocks`: print the clock graph of a trace as tables, for Graphviz, or as JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypedDict

import click

from tracetime.clocks.ids import ClockId
from tracetime.clocks.json_facts import ClockFacts, as_json
from tracetime.commands.help import Command
from tracetime.commands.limits import domains_of, name_option, warn_of_absent_in
from tracetime.commands.options import json_option, open_as_one, trace_options
from tracetime.commands.output import result_option
from tracetime.commands.progress import Progress
from tracetime.commands.show import (
    console,
    fold,
    print_json,
    print_table,
    print_warnings,
    print_widest,
)
from tracetime.commands.terminal import echo
from tracetime.errors import UsageError
from tracetime.graph.clock_names import coverage
from tracetime.text import count, duration, printable

if TYPE_CHECKING:
    from tracetime.analysis.event_bars import EventBars
    from tracetime.clocks.json_types import Count
    from tracetime.errors import TraceError
    from tracetime.graph.clock_graph import ClockGraph
    from tracetime.graph.info import ClockInfo, SeriesInfo
    from tracetime.trace.facts import TraceWarning, WallClockBounds
    from tracetime.trace.trace import Trace


EDGES_LISTED: Final = 1 << 16
"""Of more edges `--json` gives only the lists of clocks, and `--dot` draws each list as a point.

The help of the command names this number.
"""

_LONGEST_ABOUT: Final = 200
"""Characters of what a file says that it is of: a job may have many devices."""


@click.command("clocks", cls=Command)
@trace_options
@click.option("--dot", is_flag=True, help="Print the graph in the language of Graphviz.")
@click.option(
    "--all", "every", is_flag=True, help="Give each clock of each packet sequence its own line."
)
@name_option
@result_option
@json_option
def command(
    trace: str,
    reading: dict[str, Any],
    dot: bool,
    every: bool,
    as_json: bool,
    **limits: Any,
) -> None:
    """Print the clocks of TRACE and their snapshots.

    A clock number that many packet sequences use has one line, as 64@seq*.

    A snapshot of n clocks makes n (n - 1) edges of the graph. With more than 65,536, "edges" in
    --json is null, and "series", the lists of clocks that were read together, has the same
    information; --dot then draws each of these lists as a point, with a line to each clock.

    \b
    Examples:
      tracetime clocks trace.pftrace
      tracetime clocks trace.pftrace --dot | dot -Tsvg > clocks.svg
      tracetime clocks trace.pftrace --json | jq '.clocks[].clock'
    """

    if dot and as_json:
        raise UsageError("--dot and --json exclude each other: give one")
    domains = domains_of(limits)
    with (
        Progress("working out clocks") as progress,
        progress.follow(open_as_one(trace, **reading, domains=domains)) as opened,
    ):
        warn_of_absent_in(opened.clocks, domains)
        if as_json:
            print_json(_facts(opened))
        elif dot:
            echo("\n".join(_dot_lines(opened.clocks, every)))
        else:
            _print(opened, every)


class _Widest(TypedDict):
    """The widest error bar of a clock on trace time, as a half-width.

    Attributes:
        at_most_ns: half of it, ns; null: a side of it is open.
        at: the reading that has it, in the unit of the clock.
    """

    at_most_ns: Count | None
    at: int


@as_json("clock unit_ns incremental monotonic snapshots first_ns last_ns name scope bar")
@dataclass(frozen=True, slots=True)
class _ListedClock(ClockFacts):
    """A clock, and its readings.

    Attributes:
        name: the name that the trace or --clock-name declares.
        bar: its widest error bar; null: not looked for, or nothing leads to trace time.
    """

    name: str | None
    bar: _Widest | None


class _Edge(TypedDict):
    """Timestamps of one clock convert to the other.

    Attributes:
        src: the one.
        dst: the other.
        snapshots: how many snapshots have both.
    """

    src: ClockId
    dst: ClockId
    snapshots: Count


class _Orders(TypedDict):
    """Orders of two clocks, one way.

    Attributes:
        before: the clock that was read first.
        after: the clock that was read after it.
        orders: how many there are.
    """

    before: ClockId
    after: ClockId
    orders: Count


class Clocks(TypedDict):
    """The clock graph of a trace.

    Attributes:
        trace: the trace, as it was named.
        trace_clock: the clock that trace time counts in.
        clocks: the clocks of the snapshots.
        edges: the edges of the graph; null where there are more than 65,536: series has them.
        series: the lists of clocks that snapshots have.
        orders: the readings of one clock that happened before those of another, which bound both.
        wall_clock_bounds: what time services said of the wall clocks while they were recorded.
        warnings: what is wrong in the trace and did not end its reading: the first of them.
        n_warnings: how many warnings there are in all.
        events_dropped: events that the recorder says it dropped: they are not in the trace.
        truncated: with --partial, the error after which the rest was not read; null if all was
            read.
    """

    trace: str
    trace_clock: ClockId
    clocks: list[_ListedClock]
    edges: list[_Edge] | None
    series: list[SeriesInfo]
    orders: list[_Orders]
    wall_clock_bounds: Sequence[WallClockBounds]
    warnings: Sequence[TraceWarning]
    n_warnings: Count
    events_dropped: Count
    truncated: TraceError | None


def _facts(trace: Trace) -> Clocks:
    from tracetime.analysis.event_bars import widest_in_trace
    from tracetime.graph.clock_graph import inner

    graph = trace.clocks
    bars = widest_in_trace(inner(graph), trace.trace_clock, {})
    return {
        "trace": trace.path,
        "trace_clock": trace.trace_clock,
        "clocks": [
            _ListedClock(*info, graph.names.get(info.clock), _widest(bars, info))
            for info in graph.clocks()
        ],
        "edges": _edges(graph),
        "series": graph.series(),
        "orders": [
            {"before": before, "after": after, "orders": orders}
            for before, after, orders in graph.orders()
        ],
        "wall_clock_bounds": trace.wall_clock_bounds,
        "warnings": trace.warnings,
        "n_warnings": trace.n_warnings,
        "events_dropped": trace.events_dropped,
        "truncated": trace.truncated,
    }


def _widest(bars: EventBars, info: ClockInfo) -> _Widest | None:
    found = bars.of([info.clock])
    if found is None:
        return None
    return {"at_most_ns": found.at_most_ns, "at": found.at_ns // info.unit_ns}


def _most_edges(graph: ClockGraph) -> int:
    """Return an upper bound of the number of edges: lists of clocks may have edges in common."""
    return sum(len(clocks) * (len(clocks) - 1) for clocks, _ in graph.series())


def _edges(graph: ClockGraph) -> list[_Edge] | None:
    """Return the edges; None if they are too many, and `series` has the same information."""
    if _most_edges(graph) > EDGES_LISTED:
        return None
    return [
        {"src": src, "dst": dst, "snapshots": snapshots} for src, dst, snapshots in graph.edges()
    ]


def _print(trace: Trace, every: bool) -> None:
    from tracetime.analysis.event_bars import widest_in_trace
    from tracetime.graph.clock_graph import inner

    graph, screen = trace.clocks, console()
    infos = graph.clocks()
    echo(f"Trace time is {printable(graph.name(trace.trace_clock))}.")
    if trace.about:
        echo(f"The trace is of {printable(trace.about, _LONGEST_ABOUT)}.")
    for bounds in trace.wall_clock_bounds:
        name, within = printable(graph.name(bounds.clock)), duration(bounds.within_ns)
        at = count(bounds.snapshots, "snapshot")
        echo(f"{name} was within {within} of UTC, as {bounds.source} said at {at}.")
    print_warnings(screen, trace.warnings, trace.n_warnings, trace.truncated, trace.events_dropped)
    if not infos:
        echo("The trace has no clock snapshots: timestamps stay as they are.")
        _print_orders(graph, every)
        return
    names = fold((info.clock for info in infos), every, graph.names)
    columns = ("clock", "scope", ">unit ns", ">snapshots", ">coverage", "notes")
    lines: dict[str, list[ClockInfo]] = {}
    for info in infos:
        lines.setdefault(names[info.clock], []).append(info)
    print_table(screen, "Clocks", columns, lines.items(), partial(_clock_cells, trace.trace_clock))
    bars = widest_in_trace(inner(graph), trace.trace_clock, {})
    home = printable(graph.name(trace.trace_clock))
    print_widest(screen, f"{home}, between the snapshots", bars, lines.items())
    series = Counter[str]()
    for clocks, snapshots in graph.series():
        series[", ".join(names[clock] for clock in clocks)] += snapshots
    print_table(
        screen,
        "Clocks read together in snapshots",
        (">snapshots", "clocks"),
        series.items(),
        lambda line: (f"{line[1]:,}", line[0]),
    )
    _print_orders(graph, every)


def _print_orders(graph: ClockGraph, every: bool) -> None:
    """Print the orders of clocks; nothing without any."""
    infos = graph.orders()
    names = fold((clock for info in infos for clock in info[:2]), every, graph.names)
    orders = Counter[tuple[str, str]]()
    for before, after, n in infos:
        orders[names[before], names[after]] += n
    if orders:
        print_table(
            console(),
            "Orders",
            (">orders", "before", "after"),
            orders.items(),
            lambda line: (f"{line[1]:,}", *line[0]),
        )


def _clock_cells(trace_clock: ClockId, line: tuple[str, list[ClockInfo]]) -> tuple[str, ...]:
    name, infos = line
    return (
        name,
        infos[0].clock.scope,
        ", ".join(f"{unit:,}" for unit in sorted({info.unit_ns for info in infos})),
        f"{sum(info.snapshots for info in infos):,}",
        coverage(infos, decimals=True),
        ", ".join(_notes(infos, trace_clock)),
    )


def _notes(infos: list[ClockInfo], trace_clock: ClockId) -> Iterator[str]:
    if any(info.clock == trace_clock for info in infos):
        yield "trace time"
    for note, n in (
        ("incremental", sum(info.incremental for info in infos)),
        ("ran backwards", sum(not info.monotonic for info in infos)),
    ):
        if n:
            yield note if n == len(infos) else f"{n} {note}"


def _dot_lines(graph: ClockGraph, every: bool) -> Iterator[str]:
    """Yield the graph in Graphviz's language: an arrow for an edge, or for two opposite ones."""
    infos = graph.clocks()
    names = fold((info.clock for info in infos), every, graph.names)
    yield "digraph clocks {"
    yield "  node [shape=box, style=rounded, fontname=sans]; edge [fontname=sans, fontsize=10];"
    drawn = set()
    for info in infos:
        name = names[info.clock]
        if name not in drawn:
            drawn.add(name)
            bold = ", penwidth=3" if info.clock == graph.trace_clock else ""
            backwards = "" if info.monotonic else ', color=red, tooltip="ran backwards"'
            yield f"  {_dot(name)} [label={_dot(name)}{bold}{backwards}];"
    if _most_edges(graph) > EDGES_LISTED:
        yield from _dot_points(graph, names)
    else:
        yield from _dot_edges(graph.edges(), names)
    yield "}"


def _dot_points(graph: ClockGraph, names: dict[ClockId, str]) -> Iterator[str]:
    """Yield a point for each list of clocks, and its lines: n lines instead of n^2 edges."""
    backwards = {info.clock for info in graph.clocks() if not info.monotonic}
    for i, (clocks, snapshots) in enumerate(graph.series()):
        yield f'  series{i} [shape=point, xlabel="{snapshots}"];'
        for name, both in {names[clock]: clock not in backwards for clock in clocks}.items():
            yield f"  series{i} -> {_dot(name)}{' [dir=both]' if both else ''};"


def _dot_edges(
    edges: Iterable[tuple[ClockId, ClockId, int]], names: dict[ClockId, str]
) -> Iterator[str]:
    counts = Counter[tuple[str, str]]()
    for src, dst, snapshots in edges:
        counts[names[src], names[dst]] += snapshots
    for (left, right), snapshots in counts.items():
        both = (right, left) in counts
        if both and left > right:
            continue
        style = ", dir=both" if both and left != right else ""
        yield f'  {_dot(left)} -> {_dot(right)} [label="{snapshots}"{style}];'


def _dot(name: str) -> str:
    """Return a string of Graphviz's language, in which a backslash begins an escape."""
    return '"' + printable(name).replace("\\", "\\\\").replace('"', '\\"') + '"'
