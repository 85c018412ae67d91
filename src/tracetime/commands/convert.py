"""`tracetime convert`: write every event of a trace, on trace time, to a table file."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from tracetime.clocks.ids import ClockId
from tracetime.commands import CHECK_FAILED, DONE
from tracetime.commands.limits import domains_of, limit_options, warn_of_absent
from tracetime.commands.options import (
    Clock,
    clock_in,
    json_option,
    output_option,
    policy_options,
    trace_options,
)
from tracetime.commands.show import (
    console,
    fold,
    print_json,
    print_table,
    print_text,
    print_warnings,
    size,
)
from tracetime.commands.terminal import echo
from tracetime.errors import UsageError
from tracetime.graph.clock_names import coverage, named
from tracetime.text import count, duration, printable

if TYPE_CHECKING:
    from tracetime.analysis.summary import ClockUse, Summary, Unresolved
    from tracetime.convert import SlicesSummary
    from tracetime.graph.arguments import PolicyName
    from tracetime.graph.tube.bars import Bars
    from tracetime.trace import Trace


_MOST_CLOCKS: Final = 8
"""Clocks that a reason names: about three lines."""


@click.command("convert")
@trace_options
@output_option("The file to write: .parquet, .arrow or .csv, by its ending.", required=True)
@click.option("--to", type=Clock(), help="Add the column to_time: trace time, on this clock.")
@click.option(
    "--with-names",
    is_flag=True,
    help="Add columns that say what each event is: name, category, type, track, process, thread, "
    "args.",
)
@click.option(
    "--slices",
    is_flag=True,
    help="Write what lasted how long instead of events: begins and ends matched, and nested.",
)
@policy_options
@limit_options
@click.option(
    "--strict",
    is_flag=True,
    help="Exit with 1 if any event has no trace time, or the trace was not read to its end.",
)
@json_option
# long: half of it is its help
def command(  # noqa: PLR0913  a parameter for each option
    trace: str,
    reading: dict[str, Any],
    out: str,
    to: ClockId | None,
    with_names: bool,
    slices: bool,
    policy: PolicyName,
    bars: Bars,
    strict: bool,
    as_json: bool,
    **limits: Any,
) -> int:
    """Write every event of TRACE, on trace time, to a table file.

    TRACE is a Perfetto trace, raw or compressed; - is standard input. Each event keeps its raw
    timestamp and its clock, and has a trace_time and a status. A summary follows: the trace clock,
    the events and clocks found, and why events have no trace time. With --slices, begins and ends
    are matched instead, and the table has what lasted how long.

    With --policy tube, trace_time follows the drift between snapshots, and the columns earliest and
    latest are its error bar. Options such as --max-drift-ppm and --clock-rate describe clocks that
    the trace does not describe.

    \b
    Examples:
      tracetime convert trace.pftrace -o events.parquet
      tracetime convert trace.pftrace -o events.parquet --to REALTIME
      tracetime convert trace.pftrace -o events.parquet --with-names
      tracetime convert trace.pftrace -o slices.parquet --slices
      tracetime convert t.pftrace -o t.parquet --policy tube --clock-rate TSC=2GHz
      adb shell cat /data/misc/perfetto-traces/t | tracetime convert - -o t.arrow
      tracetime convert broken.pftrace -o events.csv --partial --json
    """
    from tracetime.analysis.summary import settle_cost
    from tracetime.convert import convert
    from tracetime.formats import open_trace

    started = time.perf_counter()
    domains = domains_of(limits)
    if slices and (to is not None or with_names):
        raise UsageError("slices have names, and no to_time: --slices goes with neither option")
    with open_trace(trace, **reading, domains=domains) as opened:
        if slices:
            written = _write_slices(opened, out, policy, bars, as_json)
            failed = strict and (written.unresolved or written.truncated is not None)
            return CHECK_FAILED if failed else DONE
        if to is not None:
            to = clock_in(opened.clocks, to)
        with _progress(opened, visible=not as_json) as progress:
            summary = convert(
                opened,
                out,
                to=to,
                policy=policy,
                bars=bars,
                names=with_names,
                progress=progress,
            )
        settle_cost(opened, summary)
        names = opened.clocks.names
    warn_of_absent(domains, {use.clock for use in summary.clocks if use.clock.clock}, names)
    if as_json:
        print_json(summary.to_dict())
    else:
        _print_summary(summary, time.perf_counter() - started, names)
    failed = strict and (summary.unresolved or summary.truncated is not None)
    return CHECK_FAILED if failed else DONE


def _write_slices(
    trace: Trace, out: str, policy: PolicyName, bars: Bars, as_json: bool
) -> SlicesSummary:
    """Write slices, and say how many."""
    from tracetime.convert import convert_slices

    started = time.perf_counter()
    with _progress(trace, visible=not as_json) as progress:
        summary = convert_slices(trace, out, policy=policy, bars=bars, progress=progress)
    if as_json:
        print_json(summary.to_dict())
        return summary
    screen = console()
    written = size(Path(summary.out).stat().st_size)
    print_text(
        screen,
        f"{count(summary.rows, 'slice')} on trace time {summary.trace_clock} in "
        f"{printable(summary.out)} ({written}, {time.perf_counter() - started:.1f} s)",
    )
    print_warnings(
        screen, summary.warnings, summary.n_warnings, summary.truncated, summary.events_dropped
    )
    if summary.unresolved:
        events = count(summary.unresolved, "event")
        echo(f"\n{events} without a trace time, in no slice: convert without --slices says why")
    if summary.open:
        echo(f"\n{count(summary.open, 'slice')} did not end: dur is -1")
    if summary.left_out or summary.names_left_out:
        names = f"{count(summary.names_left_out, 'name')} or arguments"
        echo(f"\n{count(summary.left_out, 'slice')} and {names} left out: there are too many")
    return summary


@contextlib.contextmanager
def _progress(trace: Trace, visible: bool) -> Iterator[Callable[[int], None] | None]:
    """Show a progress bar on stderr, if that is a terminal."""
    if not (visible and sys.stderr.isatty()):
        yield None
        return
    from rich import progress
    from rich.console import Console

    with progress.Progress(
        progress.BarColumn(),
        progress.DownloadColumn(),
        progress.TransferSpeedColumn(),
        progress.TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    ) as bar:
        task = bar.add_task("", total=trace.size)
        yield lambda at: bar.update(task, completed=at)


def _print_summary(summary: Summary, seconds: float, names: Mapping[ClockId, str]) -> None:
    screen = console()
    written = size(Path(summary.out).stat().st_size)
    print_text(
        screen,
        f"{count(summary.rows, 'event')} on trace time {summary.trace_clock} "
        f"in {printable(summary.out)} ({written}, {seconds:.1f} s)",
    )
    print_warnings(
        screen, summary.warnings, summary.n_warnings, summary.truncated, summary.events_dropped
    )
    if summary.rows:
        kinds = [
            (kind.kind, status, f"{n:,}")
            for kind in summary.kinds
            for status, n in kind.statuses.items()
        ]
        print_table(screen, "Events", ("kind", "status", ">events"), kinds)
    if summary.clocks:
        columns = ("clock", "scope", ">snapshots", ">coverage", ">events", ">unresolved")
        lines = _by_name(summary.clocks, names)
        print_table(screen, "Clocks", columns, lines.items(), _clock_cells)
    cost = _floor_cost(summary, names)
    if cost:
        echo()
        print_text(screen, cost)
    if summary.names_left_out:
        echo(f"\n{count(summary.names_left_out, 'name')} left out: there are too many")
    if summary.to is not None and summary.to_unresolved:
        echo(f"\n{count(summary.to_unresolved, 'event')} without a time on {summary.to}")
    if summary.reasons:
        echo(f"\n{count(summary.unresolved, 'event')} without a trace time")
        for reason in summary.reasons:
            print_text(screen, _reason(reason, names), "  ", " " * 4)
            print_text(screen, named(reason.advice, names), " " * 4, " " * 4)


def _was_converted(use: ClockUse, summary: Summary) -> bool:
    """Whether snapshots placed events of a clock; clock 0 stands for events that name none."""
    placed = use.events > use.unresolved
    return placed and use.clock.clock != 0 and use.clock != summary.trace_clock


def _floor_cost(summary: Summary, names: Mapping[ClockId, str]) -> str:
    """Return how far off floor is in the columns that it wrote, or would have written."""
    cost, floor = summary.floor_cost, summary.policy == "floor"
    to_cost = _to_cost(summary, names)
    untied = ""
    if cost is not None and cost.untied:
        untied = f"how far off {count(len(cost.untied), 'clock')} can be is not known"
    if cost is None or cost.clock is None:
        converted = any(_was_converted(use, summary) for use in summary.clocks)
        if to_cost:
            also = f"; {untied}" if untied else ""
            return f"The floor policy's {to_cost}{also}. --policy tube follows the drift"
        if untied:
            return f"The error of the floor policy's trace time is not known: {untied}"
        if summary.rows and not converted:
            return "The floor policy has no error here: no event was converted from another clock"
        return ""
    name = names.get(cost.clock, str(cost.clock))
    if cost.reordered is None:
        order = "--policy tube says how many events that puts in the wrong order"
    else:
        order = f"it puts {count(cost.reordered, 'event')} in an order that is certainly wrong"
    if untied:
        order += f"; {untied}"
    if floor:
        also = f", and its {to_cost}" if to_cost else ""
        return (
            f"The floor policy's trace time is {_limit(cost.largest_ns, cost.settled)} from the "
            f"tube's estimate here ({name}){also}; {order}. --policy tube writes the estimate, "
            "with error bars"
        )
    at_most = duration(cost.largest_ns, decimals=True)
    return (
        f"The floor policy's trace time is at most {at_most} from these estimates ({name}); {order}"
    )


def _to_cost(summary: Summary, names: Mapping[ClockId, str]) -> str:
    if summary.to is None or summary.to_cost_ns is None:
        return ""
    limit = _limit(summary.to_cost_ns, summary.to_cost_is_limit)
    name = names.get(summary.to, str(summary.to))
    return f"to_time is {limit} from where the tube puts that trace time on {name}"


def _limit(ns: int, is_limit: bool) -> str:
    return f"at {'most' if is_limit else 'least'} {duration(ns, decimals=True)}"


def _by_name(
    uses: tuple[ClockUse, ...], labels: Mapping[ClockId, str]
) -> dict[str, list[ClockUse]]:
    names = fold((use.clock for use in uses), labels=labels)
    lines: dict[str, list[ClockUse]] = {}
    for use in uses:
        lines.setdefault(names[use.clock], []).append(use)
    return lines


def _clock_cells(line: tuple[str, list[ClockUse]]) -> tuple[str, ...]:
    name, uses = line
    return (
        name if uses[0].clock.clock else "none given",
        uses[0].clock.scope if uses[0].clock.clock else "",
        f"{sum(use.snapshots for use in uses):,}",
        coverage(uses, decimals=True),
        f"{sum(use.events for use in uses):,}",
        f"{sum(use.unresolved for use in uses):,}",
    )


def _reason(reason: Unresolved, labels: Mapping[ClockId, str]) -> str:
    names = fold((clock for clock, _ in reason.clocks), labels=labels)
    counts: dict[str, int] = {}
    for clock, n in reason.clocks:
        name = names[clock] if clock.clock else "no clock"
        counts[name] = counts.get(name, 0) + n
    clocks = [f"{name}: {n:,}" for name, n in list(counts.items())[:_MOST_CLOCKS]]
    if len(counts) > _MOST_CLOCKS:
        clocks.append(f"{len(counts) - _MOST_CLOCKS} more clocks")
    return f"{reason.reason}: {count(reason.events, 'event')} ({', '.join(clocks)})"
