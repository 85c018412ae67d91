"""`tracetime convert` of a table: the columns that --map names, by the clocks of --graph."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast, get_args

import click

from tracetime.clocks.ids import ClockId, ClockLike
from tracetime.clocks.wall_time import FloatUnit
from tracetime.commands import CHECK_FAILED, DONE
from tracetime.commands.limits import given_names, warn_of_absent_in
from tracetime.commands.options import clock_in
from tracetime.commands.output import file_for
from tracetime.commands.progress import Progress
from tracetime.commands.show import console, print_json, print_text, size
from tracetime.commands.terminal import echo
from tracetime.errors import UsageError
from tracetime.text import count, printable

if TYPE_CHECKING:
    from tracetime.clocks.domain import ClockDomain
    from tracetime.graph.arguments import PolicyName
    from tracetime.graph.clock_graph import ClockGraph
    from tracetime.graph.tube.results import Bars
    from tracetime.tables.file_conversion import TableSummary

F = TypeVar("F", bound=Callable[..., Any])


def is_no_trace(path: str) -> bool:
    """Whether this is a query, or CSV by its ending and no trace by its beginning."""
    from tracetime.formats import is_of_a_format
    from tracetime.tables import QUERY

    return path.startswith(QUERY) or (
        path.lower().endswith((".csv", ".csv.gz", ".tsv")) and not is_of_a_format(path)
    )


class TableOptions(NamedTuple):
    """The options of a table.

    Attributes:
        maps: the texts of --map.
        graph: the file that ties the clocks.
        float_unit: of columns of floats.
    """

    maps: tuple[str, ...]
    graph: str | None
    float_unit: FloatUnit | None


class Mapped(NamedTuple):
    """The columns that the texts of --map name.

    Attributes:
        columns: in which clock each was read, as `convert_table` takes it.
        names: of the new columns, where they are given.
    """

    columns: dict[str, ClockLike]
    names: dict[str, str]


def table_options(function: F) -> F:
    """Add --map, --graph and --float-unit; the command takes them as `table`."""

    @click.option(
        "--map",
        "mapped",
        multiple=True,
        metavar="[NEW=]COLUMN:CLOCK",
        help="Of a table: the clock that a column was read in, or @ and the column that names it. "
        "The new column is NEW, or COLUMN_time. Repeatable.",
    )
    @click.option(
        "--graph",
        type=click.Path(),
        metavar="FILE",
        help="What ties the clocks of --map: a trace, or a graph that ClockGraph.save wrote.",
    )
    @click.option(
        "--float-unit",
        type=click.Choice(get_args(FloatUnit)),
        help="Of a table: what 1.0 is in columns of floats, which are rounded to ns.",
    )
    @wraps(function)
    def command(
        *args: Any,
        mapped: tuple[str, ...],
        graph: str | None,
        float_unit: FloatUnit | None,
        **values: Any,
    ) -> Any:
        if not mapped and (graph is not None or float_unit is not None):
            raise UsageError(
                "--graph and --float-unit are for columns that --map names: give --map "
                "COLUMN:CLOCK, or --map COLUMN:@clock where the column clock names the clock"
            )
        return function(*args, table=TableOptions(mapped, graph, float_unit), **values)

    return cast("F", command)


def _parse_map(texts: Iterable[str], known: Collection[str]) -> Mapped:
    """The clocks and the new names of columns, from [NEW=]COLUMN:CLOCK; known: the columns."""
    mapped = Mapped({}, {})
    for text in texts:
        name, column, clock = _parts(text, known)
        if column in mapped.columns:
            raise UsageError(
                f"--map names the column {column!r} twice: a column was read in one clock; to have "
                "it on several clocks, convert once more (--to)"
            )
        mapped.columns[column] = given_names().get(clock, clock)
        if name:
            mapped.names[column] = name
    return mapped


def _parts(text: str, known: Collection[str]) -> tuple[str, str, str]:
    """The new name, the column and the clock; = and : may be in names of columns, too."""
    found = []
    for end in (at for at, sign in enumerate(text) if sign == ":"):
        head, clock = text[:end], text[end + 1 :]
        equals = [at for at, sign in enumerate(head) if sign == "="]
        splits = [(head[:at], head[at + 1 :]) for at in reversed(equals) if at] or [("", head)]
        found += [(name, column, clock) for name, column in (*splits, ("", head))]
    whole = [one for one in found if one[1] and one[2]]
    there = [one for one in whole if one[1] in known]
    if not there and (not whole or text.startswith("=")):
        raise UsageError(
            f"--map {text!r} is not [NEW=]COLUMN:CLOCK, as in ts:MONOTONIC or "
            "start=begin_ns:com.example.gpu"
        )
    # Of several, the longest column.
    return max(there, key=lambda one: len(one[1])) if there else whole[0]


def convert_mapped(  # noqa: PLR0913  the options of the command
    path: str,
    out: str,
    table: TableOptions,
    *,
    kind: str | None,
    to: ClockLike | None,
    policy: PolicyName,
    bars: Bars,
    reading: dict[str, Any],
    domains: list[ClockDomain],
    strict: bool,
    as_json: bool,
) -> int:
    """Convert a table file, and print the outcome."""
    from tracetime.tables.file_conversion import convert_table_file
    from tracetime.tables.inputs import open_table

    if not table.maps:
        raise UsageError(
            f"{path!r} is a table, and does not say which of its columns are times: say which, and "
            "of which clock (--map COLUMN:CLOCK), and what ties the clocks (--graph)"
        )
    started = time.perf_counter()
    with contextlib.ExitStack() as stack:
        stack.enter_context(Progress("converting"))
        source = stack.enter_context(open_table(path, reading["max_expansion"], reading["partial"]))
        mapped = _parse_map(table.maps, source.columns)
        graph, target = stack.enter_context(_graph(table.graph, reading, domains))
        if table.graph is None:
            target = _only_clock(graph, mapped, to)
        elif to is not None:
            target = clock_in(graph, to)
        file = stack.enter_context(file_for(out, f".{kind}"))
        warn_of_absent_in(graph, domains)
        summary = convert_table_file(
            source,
            graph,
            mapped.columns,
            file,
            to=target,
            policy=policy,
            bars=bars,
            float_unit=table.float_unit,
            names=mapped.names,
            kind=kind,
        )
    if summary.truncated is not None:
        echo(f"warning: reading stopped early: {summary.truncated}", err=True)
    for column in summary.columns:
        if column.warning is not None:
            echo(f"warning: {printable(column.column)}: {column.warning}", err=True)
    if as_json:
        print_json(summary)
    elif out != "-":
        _print(summary, mapped, graph, time.perf_counter() - started)
    failed = strict and (summary.unresolved or summary.truncated is not None)
    return CHECK_FAILED if failed else DONE


@contextlib.contextmanager
def _graph(
    path: str | None, reading: dict[str, Any], domains: list[ClockDomain]
) -> Iterator[tuple[ClockGraph, ClockId | None]]:
    """The graph of a file that `ClockGraph.save` wrote, or of a trace, and its trace clock.

    Without a file, a graph that ties nothing.
    """
    from tracetime.formats import open_trace
    from tracetime.graph.clock_graph import ClockGraph
    from tracetime.graph.storage.load import is_saved_graph

    if path is None or is_saved_graph(path):
        graph = ClockGraph() if path is None else ClockGraph.load(path)
        for domain in domains:
            graph.declare(domain.over(graph.domain(domain.id)))
        yield graph, graph.trace_clock
        return
    with open_trace(path, **reading, domains=domains) as trace:
        yield trace.clocks, trace.trace_clock


def _only_clock(graph: ClockGraph, mapped: Mapped, to: ClockLike | None) -> ClockId:
    """The clock of all columns and of the new ones: to itself it converts without a tie."""
    given = (*mapped.columns.values(), *(() if to is None else (to,)))
    clocks = {graph.clock(one) for one in given if not str(one).startswith("@")}
    if len(clocks) != 1:
        raise UsageError(
            "nothing ties the clocks of --map: give a trace or a saved graph (--graph); one clock "
            "that all columns were read in needs none (--to names it)"
        )
    return clocks.pop()


def _print(summary: TableSummary, mapped: Mapped, graph: ClockGraph, seconds: float) -> None:
    screen = console()
    clock, out = printable(graph.name(summary.to)), printable(summary.out)
    written = size(Path(summary.out).stat().st_size)
    rows = count(summary.rows, "row")
    print_text(screen, f"{rows} on {clock} in {out} ({written}, {seconds:.1f} s)")
    for column in summary.columns:
        statuses = dict(column.statuses)
        if column.nulls:
            statuses["null"] = column.nulls
        counts = ", ".join(f"{n:,} {status}" for status, n in statuses.items()) or "no rows"
        read_in = mapped.columns[column.column]
        print_text(screen, f"{column.name}: {column.column} of {read_in}: {counts}", hanging="  ")
