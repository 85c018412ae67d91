"""`tracetime convert`: write every event of a trace, on trace time, to a table file."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from tracetime.clocks.ids import ClockId, ClockLike
from tracetime.commands import CHECK_FAILED, DONE
from tracetime.commands.help import Command
from tracetime.commands.limits import domains_of, limit_options, warn_of_absent
from tracetime.commands.options import (
    Clock,
    clock_in,
    json_option,
    open_as_one,
    policy_options,
    trace_options,
)
from tracetime.commands.output import file_for, output_option
from tracetime.commands.progress import Progress
from tracetime.commands.show import (
    bar_cells,
    console,
    fold,
    in_no_slice,
    print_json,
    print_table,
    print_text,
    print_warnings,
    size,
)
from tracetime.commands.tables import TableOptions, convert_mapped, is_no_trace, table_options
from tracetime.commands.terminal import echo
from tracetime.errors import UsageError
from tracetime.graph.clock_names import coverage, named
from tracetime.text import count, duration, printable

if TYPE_CHECKING:
    from rich.console import Console

    from tracetime.analysis.summary import ClockUse, Summary, Unresolved
    from tracetime.analysis.trace_instants import Span
    from tracetime.graph.arguments import PolicyName
    from tracetime.graph.tube.results import Bars
    from tracetime.trace.trace import Trace
    from tracetime.verbs.convert import SlicesSummary

# The report of `tracetime convert` on the file that it wrote.

_MOST_CLOCKS: Final = 8
"""Clocks that a reason names: about three lines."""


def print_summary(
    summary: Summary | SlicesSummary, seconds: float, names: Mapping[ClockId, str]
) -> None:
    """Print the numbers of events or slices in the file, and of those left out."""
    from tracetime.verbs.convert import SlicesSummary

    screen = console()
    slices = isinstance(summary, SlicesSummary)
    written = size(Path(summary.out).stat().st_size)
    print_text(
        screen,
        f"{count(summary.rows, 'slice' if slices else 'event')} on trace time "
        f"{named(str(summary.trace_clock), names)} in {printable(summary.out)} "
        f"({written}, {seconds:.1f} s)",
    )
    print_warnings(
        screen, summary.warnings, summary.n_warnings, summary.truncated, summary.events_dropped
    )
    if isinstance(summary, SlicesSummary):
        _print_slices(summary)
    else:
        _print_events(screen, summary, names)


def _print_slices(summary: SlicesSummary) -> None:
    if summary.unresolved:
        how = "convert without --slices"
        echo(f"\n{in_no_slice(summary.unresolved, how, summary.policy)}")
    if summary.open:
        echo(f"\n{count(summary.open, 'slice')} did not end: dur is -1")
    if summary.unmatched:
        echo(f"\n{count(summary.unmatched, 'slice end')} without a begin: in no slice")
    if summary.reversed:
        echo(f"\n{count(summary.reversed, 'slice')} left out: the end is before the begin")
    if summary.left_out or summary.names_left_out:
        names = f"{count(summary.names_left_out, 'name')} or arguments"
        echo(f"\n{count(summary.left_out, 'slice')} and {names} left out: there are too many")
    if summary.not_nested:
        slices = count(summary.not_nested, "slice")
        echo(f"\n{slices} left out, as in Perfetto: across others of their track, or too deep")


def _print_events(screen: Console, summary: Summary, names: Mapping[ClockId, str]) -> None:
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
    _print_bars(screen, summary, names)
    cost = _floor_cost(summary, names)
    if cost:
        echo()
        print_text(screen, cost)
    if summary.rate_unproven:
        echo()
        print_text(screen, _unproven(summary.rate_unproven, names))
    if summary.names_left_out:
        echo(f"\n{count(summary.names_left_out, 'name')} left out: there are too many")
    if summary.to is not None and summary.to_unresolved:
        echo(f"\n{count(summary.to_unresolved, 'event')} without a time on {summary.to}")
    if summary.reasons:
        echo(f"\n{count(summary.unresolved, 'event')} without a trace time")
        for reason in summary.reasons:
            print_text(screen, _reason(reason, names), "  ", " " * 4)
            print_text(screen, named(reason.advice, names), " " * 4, " " * 4)


def _print_bars(screen: Console, summary: Summary, names: Mapping[ClockId, str]) -> None:
    """Print how far off events can be, by clock; nothing where no bar is known, or wider than 0."""
    home, noted = summary.trace_clock, summary.floor_cost.bars
    known = {one.clock for one in summary.error_bars if one.clock != home or one.at_most_ns}
    rows = []
    for name, uses in _by_name(summary.clocks, names).items():
        here = [use.clock for use in uses if use.events > use.unresolved and use.clock.clock]
        if not here or (here == [home] and home not in known):
            continue
        events = f"{sum(use.events for use in uses):,}"
        rows.append((name, events, *bar_cells(noted.of(here), known.issuperset(here))))
    if known:
        columns = ("clock", ">events", ">bar at most", ">median", ">drawn late by")
        print_table(screen, "How far off events can be", columns, rows)


def _was_converted(use: ClockUse, summary: Summary) -> bool:
    """Whether snapshots placed events of a clock; clock 0 stands for events that name none."""
    placed = use.events > use.unresolved
    return placed and use.clock.clock != 0 and use.clock != summary.trace_clock


def _unproven(clocks: Sequence[ClockId], names: Mapping[ClockId, str]) -> str:
    """The clocks whose bars take a rate that two snapshots show."""
    listed = list(dict.fromkeys(fold(clocks, labels=names).values()))
    more = f" and {len(listed) - _MOST_CLOCKS} more" if len(listed) > _MOST_CLOCKS else ""
    return (
        f"Two snapshots prove no rate: bars of {', '.join(listed[:_MOST_CLOCKS])}{more} take the "
        "one that they show. `--bars guaranteed` holds what else it may have been"
    )


def _floor_cost(summary: Summary, names: Mapping[ClockId, str]) -> str:
    """Return the error of floor in the columns that it wrote, or would have written."""
    cost, floor = summary.floor_cost, summary.policy == "floor"
    to_cost = _to_cost(summary, names)
    unknown = ""
    if cost is not None and cost.untied:
        unknown = f"how far off {count(len(cost.untied), 'clock')} can be is not known"
    if cost is None or cost.clock is None:
        converted = any(_was_converted(use, summary) for use in summary.clocks)
        if to_cost:
            also = f"; {unknown}" if unknown else ""
            return f"The floor policy's {to_cost}{also}. --policy tube follows the drift"
        if unknown:
            return f"The error of the floor policy's trace time is not known: {unknown}"
        if summary.rows and not converted:
            return "The floor policy has no error here: no event was converted from another clock"
        return ""
    name = names.get(cost.clock, str(cost.clock))
    if cost.events_reordered is None:
        order = "--policy tube says how many events that puts in the wrong order"
    else:
        events = count(cost.events_reordered, "event")
        order = f"it puts {events} in an order that is wrong by their bars"
    if unknown:
        order += f"; {unknown}"
    if floor:
        also = f", and its {to_cost}" if to_cost else ""
        return (
            f"The floor policy's trace time is {_limit(cost.at_most_ns, cost.settled)} from the "
            f"tube's estimate here ({name}){also}; {order}. --policy tube writes the estimate, "
            "with error bars"
        )
    at_most = duration(cost.at_most_ns, decimals=True)
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


@click.command("convert", cls=Command)
@trace_options
@output_option(
    "The .parquet, .arrow or .csv to write; - is standard output.",
    required=True,
)
@click.option(
    "--format",
    "kind",
    type=click.Choice(["parquet", "arrow", "csv"]),
    help="Its format, where its name does not end so.",
)
@click.option("--to", type=Clock(), help="Add the column to_time: trace time, on this clock.")
@click.option(
    "--with-names",
    is_flag=True,
    help="Add names, tracks, processes, threads and arguments.",
)
@click.option(
    "--slices",
    is_flag=True,
    help="Write slices instead: what lasted how long, and within what.",
)
@click.option(
    "--from",
    "start",
    metavar="TIME",
    help="Leave out events, and slices that end, before TIME.",
)
@click.option(
    "--until",
    metavar="TIME",
    help="Leave out events, and slices that begin, at TIME and after it.",
)
@table_options
@policy_options
@limit_options
@click.option(
    "--strict",
    is_flag=True,
    help="Exit with 1 unless all was read, and has a trace time.",
)
@json_option
# long: half of it is its help
def command(  # noqa: PLR0913  a parameter for each option
    trace: str,
    reading: dict[str, Any],
    out: str,
    kind: str | None,
    to: ClockLike | None,
    with_names: bool,
    slices: bool,
    start: str | None,
    until: str | None,
    table: TableOptions,
    policy: PolicyName,
    bars: Bars,
    strict: bool,
    as_json: bool,
    **limits: Any,
) -> int:
    """Write every event of TRACE, on trace time, to a table file.

    Each event keeps its raw timestamp and its clock, and has a trace_time and a status. With
    --policy tube, trace_time follows the drift between snapshots, and the columns earliest and
    latest are its error bar.

    \b
    Examples:
      tracetime convert trace.pftrace -o events.parquet
      tracetime convert trace.pftrace -o events.parquet --with-names --policy tube
      tracetime convert trace.pftrace -o slices.parquet --slices
      tracetime convert trace.pftrace -o events.csv --from 12.5s --until 13s

    \f
    TRACE is a trace of any format, raw or compressed; - is standard input. A summary is printed:
    the trace clock, the events and clocks found, and why events have no trace time. Options such as
    --max-drift-ppm and --clock-rate describe clocks that the trace does not describe.

    TIME is a trace time in ns, or one as people write it: 12.5s after the start of the trace,
    14:48:40.5 (a time of day of REALTIME, in UTC), or a date and time in ISO 8601.

    TRACE may be a table, too: Parquet, Arrow, CSV, or duckdb: and a SELECT. --map then says which
    columns are times, and in which clock each was read; --graph says how the clocks are tied. The
    output has all columns of the table, and for each mapped one its time, a status, and with the
    tube its error bar.

    \b
    More examples:
      tracetime convert trace.pftrace -o events.parquet --to REALTIME
      tracetime convert trace.pftrace -o - --format csv | head
      tracetime convert t.pftrace -o t.parquet --policy tube --clock-rate TSC=2GHz
      adb shell cat /data/misc/perfetto-traces/t | tracetime convert - -o t.arrow
      tracetime convert broken.pftrace -o events.csv --partial --json
      tracetime convert my.csv -o out.csv --map ts:MONOTONIC --graph t.pftrace
    """
    from tracetime.analysis.summary import Summary, settle_cost
    from tracetime.verbs.convert import convert, convert_slices

    started = time.perf_counter()
    to_stdout = out == "-"
    if to_stdout:
        _check_stdout(kind, as_json)
    domains = domains_of(limits)
    if table.maps or is_no_trace(trace):
        if slices or with_names or start or until:
            raise UsageError("a table has no slices and no trace time: leave all but --to out")
        return convert_mapped(
            trace,
            out,
            table,
            kind=kind,
            to=to,
            policy=policy,
            bars=bars,
            reading=reading,
            domains=domains,
            strict=strict,
            as_json=as_json,
        )
    if slices and (to is not None or with_names):
        raise UsageError("slices have names, and no to_time: --slices goes with neither option")
    with (
        Progress("converting") as progress,
        progress.follow(open_as_one(trace, **reading, domains=domains)) as opened,
        file_for(out, f".{kind}") as file,
    ):
        if to is not None:
            to = clock_in(opened.clocks, to)
        span = _span(opened, start, until, policy, bars)
        if slices:
            writing: Callable[..., Summary | SlicesSummary]
            writing = partial(convert_slices, opened, file)
        else:
            writing = partial(convert, opened, file, to=to, names=with_names)
        summary = writing(policy=policy, bars=bars, span=span, kind=kind)
        if isinstance(summary, Summary):
            settle_cost(opened, summary)
            present = {use.clock for use in summary.clocks if use.clock.clock}
        else:
            present = {info.clock for info in opened.clocks.clocks()}
        names = opened.clocks.names
        extent = "" if span is None or summary.rows else _extent(opened)
        has_slices = opened.has_slices
    if extent:
        echo(f"warning: nothing is between --from and --until: {extent}", err=True)
    warn_of_absent(domains, present, names)
    if to_stdout:
        if summary.truncated is not None:
            echo(f"warning: reading stopped early: {summary.truncated}", err=True)
    elif as_json:
        print_json(summary)
    else:
        print_summary(summary, time.perf_counter() - started, names)
        _print_more(summary, has_slices)
    failed = strict and (summary.unresolved or summary.truncated is not None)
    return CHECK_FAILED if failed else DONE


def _print_more(summary: Summary | SlicesSummary, has_slices: bool) -> None:
    """Print what else a conversion gives, where events were written without names."""
    from tracetime.analysis.summary import Summary

    if isinstance(summary, Summary) and summary.rows and summary.names_left_out is None:
        what = "; --slices writes what lasted how long instead" if has_slices else ""
        echo()
        print_text(console(), f"--with-names adds names, tracks, threads and arguments{what}")


def _check_stdout(kind: str | None, as_json: bool) -> None:
    if kind is None:
        raise UsageError("standard output has no ending: give --format parquet, arrow or csv")
    if as_json:
        raise UsageError("--json writes the summary to standard output, as -o - does the events")


def _span(
    trace: Trace, start: str | None, until: str | None, policy: PolicyName, bars: Bars
) -> Span | None:
    if start is None and until is None:
        return None
    from tracetime.analysis.trace_instants import Span, trace_time_of

    first, end = (
        None if text is None else trace_time_of(trace, text, policy, bars)
        for text in (start, until)
    )
    if first is not None and end is not None and first >= end:
        raise UsageError(f"--until {until} is not after --from {start}")
    return Span(first, end)


def _extent(trace: Trace) -> str:
    """Return the span of a trace in words."""
    from tracetime.analysis.trace_instants import bounds_of

    try:
        start, end = bounds_of(trace)
    except UsageError as error:
        return str(error)
    return f"the trace starts at {start} ns, and lasts {duration(end - start)}"
