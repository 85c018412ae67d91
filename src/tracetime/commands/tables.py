"""`tracetime convert` of a table: the columns that --map names, by the clocks of --graph."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterable, Iterator
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast, get_args

import click

from tracetime.clocks.ids import ClockId, ClockLike
from tracetime.clocks.instants import FloatUnit
from tracetime.commands import CHECK_FAILED, DONE
from tracetime.commands.limits import given_names, warn_of_absent_in
from tracetime.commands.options import clock_in
from tracetime.commands.output import file_for
from tracetime.commands.progress import Progress
from tracetime.commands.show import console, print_json, print_text, size
from tracetime.errors import UsageError
from tracetime.text import count, printable

if TYPE_CHECKING:
    from tracetime.clocks.domain import ClockDomain
    from tracetime.graph.arguments import PolicyName
    from tracetime.graph.graph import ClockGraph
    from tracetime.graph.tube.bars import Bars
    from tracetime.table_file_conversion import TableSummary

F = TypeVar("F", bound=Callable[..., Any])


def is_plain_csv(path: str) -> bool:
    """Whether a file is CSV by its ending, and no trace by its beginning."""
    from tracetime.formats import is_of_a_format

    return path.lower().endswith((".csv", ".csv.gz")) and not is_of_a_format(path)


class TableOptions(NamedTuple):
    """What the options say of a table.

    Attributes:
        columns: in which clock each was read, as `convert_table` takes it.
        names: of the new columns, where they are given.
        graph: the file that ties the clocks.
        float_unit: of columns of floats.
    """

    columns: dict[str, ClockLike]
    names: dict[str, str]
    graph: str | None
    float_unit: FloatUnit | None


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
        columns, names = _mapped(mapped)
        if not columns and (graph is not None or float_unit is not None):
            raise UsageError("--graph and --float-unit are for tables: say which columns (--map)")
        return function(*args, table=TableOptions(columns, names, graph, float_unit), **values)

    return cast("F", command)


def _mapped(texts: Iterable[str]) -> tuple[dict[str, ClockLike], dict[str, str]]:
    """The clocks and the new names of columns, from [NEW=]COLUMN:CLOCK."""
    columns: dict[str, ClockLike] = {}
    names: dict[str, str] = {}
    for text in texts:
        head, colon, clock = text.partition(":")
        name, equals, column = head.rpartition("=")
        if not (colon and clock and column) or (equals and not name):
            raise UsageError(
                f"--map {text!r} is not [NEW=]COLUMN:CLOCK, as in ts:MONOTONIC or "
                "start=begin_ns:com.example.gpu"
            )
        if column in columns:
            raise UsageError(f"--map names the column {column!r} twice")
        columns[column] = given_names().get(clock, clock)
        if name:
            names[column] = name
    return columns, names


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
    """Convert a table file, and print what came of it."""
    from tracetime.table_file_conversion import convert_table_file

    if not table.columns:
        raise UsageError(
            f"{path!r} is a table: say which of its columns are times, and of which clock "
            "(--map COLUMN:CLOCK), and what ties the clocks (--graph)"
        )
    started = time.perf_counter()
    with (
        Progress("converting"),
        _graph(table.graph, reading, domains) as (graph, trace_clock),
        file_for(out, f".{kind}") as file,
    ):
        warn_of_absent_in(graph, domains)
        summary = convert_table_file(
            path,
            graph,
            table.columns,
            file,
            to=trace_clock if to is None else clock_in(graph, to),
            policy=policy,
            bars=bars,
            float_unit=table.float_unit,
            names=table.names,
            kind=kind,
        )
    if as_json:
        print_json(summary.to_dict())
    elif out != "-":
        _print(summary, table, graph, time.perf_counter() - started)
    return CHECK_FAILED if strict and summary.unresolved else DONE


@contextlib.contextmanager
def _graph(
    path: str | None, reading: dict[str, Any], domains: list[ClockDomain]
) -> Iterator[tuple[ClockGraph, ClockId | None]]:
    """The graph of a file that `ClockGraph.save` wrote, or of a trace, and its trace clock."""
    from tracetime.formats import open_trace
    from tracetime.graph.graph import ClockGraph
    from tracetime.graph.storage.load import is_saved_graph

    if path is None:
        raise UsageError(
            "nothing ties the clocks of --map: give a trace or a saved graph (--graph)"
        )
    if is_saved_graph(path):
        graph = ClockGraph.load(path)
        for domain in domains:
            graph.declare(domain)
        yield graph, graph.trace_clock
        return
    with open_trace(path, **reading, domains=domains) as trace:
        yield trace.clocks, trace.trace_clock


def _print(summary: TableSummary, table: TableOptions, graph: ClockGraph, seconds: float) -> None:
    screen = console()
    written = size(Path(summary.out).stat().st_size)
    print_text(
        screen,
        f"{count(summary.rows, 'row')} on {graph.name(summary.to)} in {printable(summary.out)} "
        f"({written}, {seconds:.1f} s)",
    )
    for column in summary.columns:
        statuses = dict(column.statuses)
        if column.nulls:
            statuses["null"] = column.nulls
        said = ", ".join(f"{n:,} {status}" for status, n in statuses.items()) or "no rows"
        read_in = table.columns[column.column]
        print_text(screen, f"{column.name}: {column.column} of {read_in}: {said}", hanging="  ")
