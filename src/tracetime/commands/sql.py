"""`tracetime sql`: query traces in SQL."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from tracetime.commands.help import Command
from tracetime.commands.limits import domains_of, labels, limit_options, warn_of_absent
from tracetime.commands.options import (
    Size,
    apart_option,
    json_option,
    open_as_one,
    policy_options,
    reading_options,
    traces_in,
)
from tracetime.commands.output import check_standard_output, output_option, standard_output
from tracetime.commands.progress import Progress, clear_progress
from tracetime.commands.show import in_no_slice, print_result
from tracetime.commands.terminal import echo
from tracetime.errors import UsageError
from tracetime.formats import split_member
from tracetime.text import of_file, printable

if TYPE_CHECKING:
    from tracetime.graph.arguments import PolicyName
    from tracetime.graph.tube.results import Bars
    from tracetime.sql.session import Result, Session
    from tracetime.trace.trace import Trace

_WINDOWS: Final = 1 << 30
"""Bytes that reading traces may take while a statement runs, besides those of the database."""

_FORMATS: Final = ("table", "csv", "json", "parquet")


@click.command("sql", cls=Command)
@reading_options
@click.argument(
    "arguments",
    metavar="TRACE... [QUERY]",
    nargs=-1,
    required=True,
    type=click.Path(allow_dash=True),
)
@output_option("The .csv, .json or .parquet to write; - is standard output.")
@click.option(
    "--format",
    "kind",
    type=click.Choice(_FORMATS),
    help="Its format, where no file says it.",
)
@click.option(
    "--rows",
    type=click.IntRange(min=1),
    default=100,
    show_default=True,
    help="How many rows of a table are printed.",
)
@click.option(
    "--with-names",
    is_flag=True,
    help="Let * of events have name, category, thread, args and more.",
)
@policy_options
@limit_options
@click.option("--allow-files", is_flag=True, help="Let SQL read and write files.")
@click.option(
    "--memory-limit",
    "memory",
    type=Size(),
    default="2G",
    show_default=True,
    help="Memory for the database; above this it uses temporary files.",
)
@click.option("--merge", "merged", is_flag=True, help="Ask several traces as one on one timeline.")
@apart_option
@json_option
# long: half of it is its help
def command(  # noqa: PLR0913  a parameter for each option
    arguments: tuple[str, ...],
    reading: dict[str, Any],
    out: str | None,
    kind: str | None,
    rows: int,
    with_names: bool,
    policy: PolicyName,
    bars: Bars,
    allow_files: bool,
    memory: int,
    apart: bool,
    merged: bool,
    as_json: bool,
    **limits: Any,
) -> None:
    """Query traces in SQL.

    Without QUERY, statements are read from a prompt, or from standard input.

    The tables are events (as `tracetime convert` writes them), slices (what lasted how long),
    clocks, snapshots (one row for each reading), discontinuities, findings and finding_events. The
    SQL is DuckDB's.

    \b
    Examples:
      tracetime sql trace.pftrace
      tracetime sql trace.pftrace "select name, dur, track_name from slices
        order by dur desc limit 10"
      tracetime sql trace.pftrace "select kind, status, count(*) from events
        group by all"
      tracetime sql a.pftrace b.pftrace "select trace, count(*) from events
        group by trace"

    \f
    With several traces the tables have the column trace; with --merge, they are one trace on one
    timeline, as `tracetime merge` makes it. An archive, zip or tar, is all traces in it, and one
    trace where it has a perfetto_manifest; ARCHIVE:MEMBER is one alone.

    Where a query uses them, events also have the columns of `convert --with-names` (name, category,
    thread_name, args, ...), and events and slices wall_time: trace_time or ts as a TIMESTAMP_NS of
    REALTIME, in UTC.

    to_clock(ts, 'FROM', 'TO') converts a timestamp to ns of the clock TO, by --policy;
    earliest(...) and latest(...) are its error bar, always by the tube. They are NULL where a
    timestamp does not convert. With several traces they take a fourth argument, trace.

    came_before(ts, 'A', ts, 'B') says whether the first reading was before the second: its field
    answer is yes, no or undecided, and the time from the one to the other is between least_ns and
    most_ns. With several traces it takes a fifth argument, trace.

    trace_time('12.5s') is the trace time so long after the start; '14:48:40.5' is a time of day of
    REALTIME, in UTC, on the day of the start; a date and time is in ISO 8601. With several traces
    trace_time takes a second argument, trace.

    A query reads the traces while it scans them; the prompt keeps what it has read. A query cannot
    read or write files unless --allow-files is given. Of several statements, only the result of the
    last one is written.

    \b
    More examples:
      tracetime sql trace.pftrace "from discontinuities" --json
      tracetime sql trace.pftrace -o late.parquet "from events
        where trace_time > to_clock(868258201186, 'MONOTONIC', 'BOOTTIME')"
      tracetime sql trace.pftrace "select name, wall_time from events
        where trace_time between trace_time('12.5s') and trace_time('13s')"
    """
    from tracetime.sql.memory import limited_memory
    from tracetime.sql.session import Session
    from tracetime.sql.streams import View

    paths, query = _split(arguments)
    kind = _format(kind, out, as_json)
    out = None if out == "-" else out
    if query is None and "-" in paths:
        raise UsageError("the trace is read from standard input: give the query as an argument")
    domains = domains_of(limits)
    with contextlib.ExitStack() as stack:
        traces = []
        options = {**reading, "domains": domains}
        found = traces_in(paths, options, apart=apart)
        if merged:
            found = iter([(", ".join(paths), partial(open_as_one, *paths, **options))])
        for path, opened in found:
            with of_file(path):
                traces.append(stack.enter_context(opened()))
        if domains:
            graphs = [trace.clocks for trace in traces]
            present = {info.clock for graph in graphs for info in graph.clocks()}
            warn_of_absent(domains, present, labels(domains))
        # An archive that has one trace is asked in the same way as one that has several.
        in_archives = not merged and any(trace.path not in paths for trace in traces)
        view = View(policy, bars, with_names, labels(domains), by_trace=in_archives)
        session = stack.enter_context(
            Session(
                traces,
                view,
                allow_files=allow_files,
                memory=memory,
                # At the prompt one statement follows another.
                keep=query is None and out is None,
            )
        )
        stack.enter_context(limited_memory(memory + _WINDOWS, from_now=True))
        answer = _Answer(session, traces, kind, out, rows, policy)
        if query is not None:
            answer.give(partial(session.run_all, query, times_as_text=answer.is_text))
        elif sys.stdin is None:
            raise UsageError("there is no standard input to read statements from: give a query")
        elif out is None:
            from tracetime.commands.prompt import prompt

            prompt(session, answer)
        else:
            answer.give(partial(session.run_all, sys.stdin.read(), times_as_text=answer.is_text))


def _split(arguments: Sequence[str]) -> tuple[list[str], str | None]:
    """Return the traces, and the query if the last argument is one and not a file."""
    *paths, last = arguments
    # Every statement with a result has a space, a bracket or a semicolon.
    if any(c.isspace() or c in "(;" for c in last) and not _exists(last):
        if not paths:
            raise UsageError(f"give a trace before the query (there is no file {last!r})")
        return paths, last
    if paths and last != "-" and not _exists(last):
        raise UsageError(
            f"{last!r} is neither an existing file nor a query: a query is one argument, "
            'in quotes, such as "from events"'
        )
    return [*paths, last], None


def _exists(path: str) -> bool:
    try:
        return Path(path).exists() or split_member(path) is not None
    except (OSError, ValueError):
        return False


def _format(kind: str | None, out: str | None, as_json: bool) -> str:
    if as_json:
        if kind not in (None, "json"):
            raise UsageError(f"--json and --format {kind} exclude each other: give one")
        return "json"
    if out == "-":
        if kind is None:
            raise UsageError("standard output has no ending: give --format csv, json or parquet")
        if kind != "table":
            check_standard_output(f".{kind}")
        return kind
    if kind is None:
        kind = "table" if out is None else Path(out).suffix.lower().removeprefix(".")
        if kind not in _FORMATS[1:] and out is not None:
            raise UsageError(
                f"cannot tell the format of {out!r}: let it end in .csv, .json or .parquet, or "
                "give --format"
            )
    if out is not None and kind == "table":
        raise UsageError("a table is for the terminal: -o takes --format csv, json or parquet")
    if out is None and kind == "parquet":
        raise UsageError("Parquet goes to a file: name it with -o")
    return kind


class _Answer:
    """A writer of results to the command line's output, in its format."""

    def __init__(
        self,
        session: Session,
        traces: Sequence[Trace],
        kind: str,
        out: str | None,
        rows: int,
        policy: PolicyName,
    ) -> None:
        self._session = session
        self._policy = policy
        self._traces = traces
        self.kind = kind
        self._out = out
        self._rows = rows
        self._said: set[str] = set()

    @property
    def is_text(self) -> bool:
        """Whether results are written as text."""
        return self.kind != "parquet"

    def give(self, run: Callable[[], Result]) -> None:
        """Run a statement, and write its result; name once the events of a trace that it lacks."""
        with Progress("running the query") as progress:
            for trace in self._traces:
                progress.watch(trace)
            self._write(run())
        for trace in self._traces:
            path = printable(trace.path)
            if trace.truncated is not None:
                self._say(f"warning: {path}: reading stopped early: {trace.truncated}")
            unresolved = self._session.in_no_slice.get(trace.path, 0)
            if unresolved:
                note = in_no_slice(unresolved, "the status of events", self._policy)
                self._say(f"note: {path}: {note}")

    def _say(self, text: str) -> None:
        if text not in self._said:
            self._said.add(text)
            echo(text, err=True)

    def _write(self, result: Result) -> None:
        from tracetime.sql.results import WRITERS, save

        if self._out is not None:
            save(result, self._out, self.kind)
        elif self.kind == "table":
            print_result(result, self._rows, _terminal_width())
        else:
            with standard_output(f".{self.kind}") as target:
                writer = WRITERS[self.kind](target, result.schema)
                for batch in result.batches:
                    clear_progress()
                    writer.write(batch)
                writer.finish()


def _terminal_width() -> int | None:
    """Return the width of the terminal; None if the output is not a terminal."""
    if not sys.stdout.isatty():
        return None
    from rich.console import Console

    return Console().width
