"""What `tracetime convert` says of the file that it wrote."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tracetime.clocks.ids import ClockId
from tracetime.commands.show import (
    console,
    fold,
    in_no_slice,
    print_table,
    print_text,
    print_warnings,
    size,
)
from tracetime.commands.terminal import echo
from tracetime.graph.clock_names import coverage, named
from tracetime.text import count, duration, printable
from tracetime.verbs.convert import SlicesSummary

if TYPE_CHECKING:
    from rich.console import Console

    from tracetime.analysis.summary import ClockUse, Summary, Unresolved

_MOST_CLOCKS: Final = 8
"""Clocks that a reason names: about three lines."""


def print_summary(
    summary: Summary | SlicesSummary, seconds: float, names: Mapping[ClockId, str]
) -> None:
    """Print how many events or slices there are in the file, and what is not in it."""
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
    if cost.events_reordered is None:
        order = "--policy tube says how many events that puts in the wrong order"
    else:
        events = count(cost.events_reordered, "event")
        order = f"it puts {events} in an order that is wrong by their bars"
    if untied:
        order += f"; {untied}"
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
