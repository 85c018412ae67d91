"""`tracetime fleet`: many traces as one data set."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self, TypeVar, cast

import click

from tracetime.commands import CHECK_FAILED, DONE
from tracetime.commands.fleet_summary import command as summary_command
from tracetime.commands.help import Command
from tracetime.commands.limits import domains_of, limit_options
from tracetime.commands.options import (
    Size,
    json_option,
    limits_of_reading,
    policy_options,
    reading_options,
    tolerance_option,
)
from tracetime.commands.show import console, print_json, print_text, size
from tracetime.commands.terminal import echo
from tracetime.text import count, printable

if TYPE_CHECKING:
    from rich.progress import Progress as Bar
    from rich.progress import TaskID

    from tracetime.fleet import FleetSummary, Progress
    from tracetime.graph.arguments import PolicyName
    from tracetime.graph.tube.results import Bars

# The progress of a run over many traces: a line on a terminal, in a log one now and then.

_LOGGED_EVERY_S: Final = 10.0


class FleetProgress:
    """The progress of a run, as a line on stderr, until its `with` ends; called with `Progress`."""

    def __init__(self) -> None:
        self._bar: Bar | None = None
        self._task: TaskID | None = None
        self._logged_s = 0.0

    def __enter__(self) -> Self:
        if sys.stderr is not None and sys.stderr.isatty():
            self._bar = _bar()
            self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def __call__(self, at: Progress) -> None:
        if self._bar is None:
            if at.seconds - self._logged_s >= _LOGGED_EVERY_S:
                self._logged_s = at.seconds
                echo(line(at), err=True)
        elif self._task is None:
            self._task = self._bar.add_task(line(at), total=at.total, completed=at.done)
        else:
            self._bar.update(self._task, description=line(at), completed=at.done)


def _bar() -> Bar:
    from rich import progress
    from rich.console import Console

    return progress.Progress(
        progress.SpinnerColumn(),
        progress.TextColumn("{task.description}", markup=False),
        progress.BarColumn(),
        console=Console(stderr=True),
        transient=True,
        redirect_stdout=False,
        redirect_stderr=False,
    )


def line(at: Progress) -> str:
    """Say how far a run is: traces, MB/s, rejections and the time that is left.

    A trace costs time of its own beside that of its bytes: both say how much is done.
    """
    speed = at.bytes_done / at.seconds if at.seconds else 0.0
    parts = [f"{at.done:,}/{count(at.total, 'trace')}", f"{speed / 1e6:.1f} MB/s"]
    if at.failed:
        parts.append(f"{at.failed:,} rejected")
    if speed and at.done < at.total:
        done = (at.done / at.total + at.bytes_done / at.bytes_total) / 2
        parts.append(f"{_clock(round(at.seconds * (1 / done - 1)))} left")
    return ", ".join(parts)


def _clock(seconds: int) -> str:
    minutes, seconds = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}"


F = TypeVar("F", bound=Callable[..., Any])


class _Group(click.Group):
    """A group that says what to do with traces where a command is expected."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in self.commands and Path(args[0]).exists():
            example = f"{ctx.command_path} convert {args[0]} -o DATASET"
            raise click.UsageError(f"give a command before {args[0]!r}: {example}", ctx)
        return super().resolve_command(ctx, args)


@click.group("fleet", cls=_Group)
def command() -> None:
    """Make one data set of many traces.

    A data set is a directory, or a URL. It has a directory for each table, with one Parquet file
    for each trace; their first column, trace, says which. DuckDB, Spark, Polars and pandas read
    such a directory as one table.

    What the data set has already of a trace stays, unless the trace was changed: run a command
    again after it was interrupted, or for new traces. A trace that cannot be read is rejected: its
    error is in DATASET/rejected, and the other traces are converted.

    \b
    Examples:
      tracetime fleet convert traces/ -o fleet
      tracetime fleet doctor traces/ -o fleet
      tracetime fleet summary fleet
    """


command.add_command(summary_command)


def _fleet_options(table: str) -> Callable[[F], F]:
    """Add the options of all commands of a fleet; the command takes them as `running`."""

    def decorate(function: F) -> F:
        @click.argument("uris", metavar="URI...", nargs=-1, required=True)
        @click.option(
            "-o",
            "--output",
            "out",
            metavar="DATASET",
            required=True,
            help=f"The data set: a directory, or a URL; the table is DATASET/{table}.",
        )
        @click.option(
            "--max-failures",
            type=click.IntRange(min=0),
            default=0,
            show_default=True,
            help="Exit with 1 if more traces than this are rejected.",
        )
        @click.option(
            "--address",
            metavar="ADDRESS",
            help="Use a cluster of Ray: HOST:PORT, auto (this machine's), or local (start one).  "
            "[default: processes of this machine, without Ray]",
        )
        @click.option(
            "--workers",
            type=click.IntRange(min=1),
            help="Traces in work at once.  [default: one for each CPU]",
        )
        @click.option(
            "--memory",
            type=Size(),
            default="2G",
            show_default=True,
            help="What a trace may take in a process; one that needs more is rejected (on Linux).",
        )
        @json_option
        @wraps(function)
        def command(*args: Any, max_failures: int, as_json: bool, **values: Any) -> int:
            running = {name: values.pop(name) for name in ("address", "workers", "memory")}
            with FleetProgress() as progress:
                running["progress"] = progress
                summary: FleetSummary = function(*args, running=running, **values)
            if as_json:
                print_json(summary)
            else:
                _print(summary, table)
            return CHECK_FAILED if summary.rejected > max_failures else DONE

        return cast("F", command)

    return decorate


@command.command("convert", cls=Command)
@_fleet_options("events")
@click.option("--to", metavar="CLOCK", help="Add the column to_time: trace time, on this clock.")
@click.option("--with-names", is_flag=True, help="Add columns that say what each event is.")
@policy_options
@reading_options
@limit_options
def convert(  # noqa: PLR0913  a parameter for each option
    uris: tuple[str, ...],
    out: str,
    to: str | None,
    with_names: bool,
    policy: PolicyName,
    bars: Bars,
    reading: dict[str, Any],
    running: dict[str, Any],
    **limits: Any,
) -> FleetSummary:
    """Write every event of many traces, on the trace time of each.

    URI is a path, a pattern, a directory (all files below it), a URL such as s3://bucket/traces, or
    @ and the path of a file that lists these, one a line. URLs need: pip install tracetime[fleet].

    \b
    Examples:
      tracetime fleet convert traces/ -o fleet
      tracetime fleet convert 'traces/**/*.pftrace' -o fleet --policy tube
      tracetime fleet convert @list.txt -o s3://bucket/fleet --max-failures 10
    """
    from tracetime import fleet

    opening = {**reading, "domains": tuple(domains_of(limits))}
    return fleet.convert(
        uris, out, policy=policy, bars=bars, to=to, names=with_names, **running, **opening
    )


@command.command("slices", cls=Command)
@_fleet_options("slices")
@policy_options
@reading_options
@limit_options
def slices(
    uris: tuple[str, ...],
    out: str,
    policy: PolicyName,
    bars: Bars,
    reading: dict[str, Any],
    running: dict[str, Any],
    **limits: Any,
) -> FleetSummary:
    """Write what lasted how long in many traces.

    URI is what `tracetime fleet convert` takes. A trace of a format without slices is rejected.

    \b
    Examples:
      tracetime fleet slices traces/ -o fleet
      tracetime fleet slices traces/ -o fleet --policy tube --workers 4
    """
    from tracetime import fleet

    opening = {**reading, "domains": tuple(domains_of(limits))}
    return fleet.slices(uris, out, policy=policy, bars=bars, **running, **opening)


@command.command("doctor", cls=Command)
@_fleet_options("findings")
@tolerance_option
@limits_of_reading
@limit_options
def doctor(
    uris: tuple[str, ...],
    out: str,
    tolerance: int,
    reading: dict[str, Any],
    running: dict[str, Any],
    **limits: Any,
) -> FleetSummary:
    """Write what is wrong with the clocks of many traces.

    URI is what `tracetime fleet convert` takes. A trace that is cut off is a finding; one of which
    nothing can be read is rejected.

    \b
    Examples:
      tracetime fleet doctor traces/ -o fleet
      tracetime fleet doctor @list.txt -o fleet --tolerance 100us
    """
    from tracetime import fleet

    opening = {**reading, "domains": tuple(domains_of(limits))}
    return fleet.doctor(uris, out, tolerance_ns=tolerance, **running, **opening)


def _print(summary: FleetSummary, table: str) -> None:
    screen = console()
    place = printable(summary.out)
    done = [f"{summary.converted:,} new"]
    if summary.unchanged:
        done.append(f"{summary.unchanged:,} unchanged")
    if summary.rejected:
        done.append(f"{summary.rejected:,} rejected")
    print_text(
        screen,
        f"{count(summary.traces, 'trace')}: {', '.join(done)}; {count(summary.rows, 'row')} in "
        f"{place}/{table} ({size(summary.bytes_read)} read, {summary.seconds:.1f} s)",
    )
    for uri, message in summary.errors:
        print_text(screen, f"rejected: {printable(uri)}: {printable(message)}", hanging="  ")
    if summary.rejected > len(summary.errors):
        echo(f"and {summary.rejected - len(summary.errors):,} more")
    if summary.rejected:
        echo(f"{place}/rejected/{table} has each error")
    if table == "findings" and summary.traces > summary.rejected:
        echo(f"tracetime fleet summary {place} sums them up")
