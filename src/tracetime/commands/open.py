"""`tracetime open`: open a trace in the Perfetto UI."""

from __future__ import annotations

from typing import IO, TYPE_CHECKING, Annotated, Any, Final, TypedDict

import click

from tracetime.commands import CHECK_FAILED, DONE
from tracetime.commands.help import Command
from tracetime.commands.limits import domains_of, limit_options, warn_of_absent_in
from tracetime.commands.options import Seconds, json_option, open_as_one, reading_options
from tracetime.commands.progress import Progress
from tracetime.commands.show import console, print_json, print_table, print_text, shift_cell
from tracetime.commands.terminal import echo
from tracetime.errors import TraceError, UsageError
from tracetime.text import count, duration

if TYPE_CHECKING:
    from collections.abc import Callable

    from msgspec import Meta

    from tracetime.analysis.placement_errors import BEFORE_ZERO, ClockError
    from tracetime.clocks.domain import ClockDomain
    from tracetime.clocks.ids import ClockId
    from tracetime.clocks.json_types import Count
    from tracetime.errors import REASONS
    from tracetime.verbs.error_tracks import ErrorTracks

_MOST_LISTED: Final = 8
"""Clocks without an error bar that are listed: about three lines."""


@click.command("open", cls=Command)
@click.argument("trace", type=click.Path())
@click.option(
    "--tube",
    is_flag=True,
    help="Add tracks that say, for each clock, how far off its events can be.",
)
@click.option("--no-browser", is_flag=True, help="Only print the link.")
@click.option(
    "--timeout",
    type=Seconds(min=0, min_open=True),
    help="Exit with 1 if the UI has not fetched the trace by then: 500ms, or seconds.",
)
@click.option(
    "--ui",
    metavar="URL",
    help="Another UI than https://ui.perfetto.dev. Only this UI may read the trace.",
)
@reading_options
@limit_options
@json_option
def command(
    trace: str,
    tube: bool,
    no_browser: bool,
    timeout: float | None,
    ui: str | None,
    reading: dict[str, Any],
    as_json: bool,
    **limits: Any,
) -> int:
    """Open TRACE in the Perfetto UI.

    The trace is served on 127.0.0.1, port 9001 (the only one that the UI fetches from), until the
    UI has fetched it. Nothing is uploaded, and no other file is served. Ctrl-C ends it.

    The UI places events by Perfetto's rule. With --tube it also shows, in a group of tracks named
    tracetime, how far off they can be there: for each clock but the trace clock its error, and by
    how much later than the tube's best estimate its events are drawn. The file stays as it is.

    \b
    Examples:
      tracetime open trace.pftrace
      tracetime open trace.pftrace --tube
      tracetime open trace.pftrace --tube --assume-half-width BOOTTIME=100ns
      tracetime open trace.pftrace --no-browser --timeout 60
    """
    from tracetime.verbs.serve import UI, serving

    if any(limits.values()) and not tube:
        raise UsageError("options that describe clocks are for error bars: give --tube, too")
    content, tracks = None, None
    name: Callable[[ClockId], str] = str
    if tube:
        content, tracks, name = _with_tracks(trace, reading, domains_of(limits))
    inserted, end = ((), None) if tracks is None else (tracks.inserted, tracks.end)
    with serving(trace, content=content, inserted=inserted, end=end, ui=ui or UI) as served:
        if as_json:
            errors = None if tracks is None else _facts(tracks, name)
            facts: Open = {
                "trace": trace,
                "url": served.url,
                "link": served.link,
                "errors": errors,
            }
            print_json(facts)
        else:
            if tracks is not None:
                _print_errors(tracks, name)
            echo(served.link)
        if not (no_browser or _browse(served.link)):
            echo("no browser could be started: open the link above", err=True)
        with Progress("waiting for the UI to fetch the trace"):
            is_fetched = served.wait(timeout)
        if not is_fetched:
            echo(f"the UI did not fetch the trace within {timeout:g} s", err=True)
            return CHECK_FAILED
        if not as_json:
            echo("The UI has fetched the trace.")
    return DONE


def _browse(link: str) -> bool:
    import webbrowser

    return webbrowser.open_new_tab(link)


def _with_tracks(
    trace: str, reading: dict[str, Any], domains: list[ClockDomain]
) -> tuple[IO[bytes], ErrorTracks, Callable[[ClockId], str]]:
    """The file to serve, the tracks to add, and the names of clocks."""
    from tracetime.verbs.error_tracks import with_error_tracks

    try:
        with (
            Progress("working out error bars") as progress,
            progress.follow(open_as_one(trace, **reading, domains=domains)) as opened,
        ):
            warn_of_absent_in(opened.clocks, domains)
            return *with_error_tracks(opened), opened.clocks.name
    except TraceError as error:
        message = f"{error.message}; without --tube it is opened as it is"
        raise TraceError(message, error.offset, error.packet) from error


class _Shift(TypedDict):
    """The time by which events are drawn later than the tube's estimate, ns.

    Attributes:
        least: the least.
        greatest: the greatest.
    """

    least: int
    greatest: int


class _DrawnClock(TypedDict):
    """One clock.

    Attributes:
        clock: the clock of the events.
        name: its display name.
        events: how many events it has.
        error_ns: how far off an event can be at most, ns.
        shift_ns: how much later than the tube's estimate they are drawn, ns.
        track: whether it has a track: the worst ones have.
    """

    clock: ClockId
    name: str
    events: Count
    error_ns: Count
    shift_ns: _Shift
    track: bool


class _Without(TypedDict):
    """The events of one clock.

    Attributes:
        clock: the clock of the events.
        name: its display name.
        events: how many there are.
        drawn: whether they are.
        reason: why they have no error bar, or are not drawn.
    """

    clock: ClockId
    name: str
    events: Count
    drawn: bool
    reason: Annotated[str, Meta(extra_json_schema={"enum": [*REASONS, BEFORE_ZERO]})]


class _Errors(TypedDict):
    """The errors of drawn events; null without --tube.

    Attributes:
        truncated: with --partial, the error after which the rest was not read; null if all was
            read.
        clocks: the clocks of events with error bars, the worst first; the trace clock has no error.
        without_error: events without an error bar, and those that are not drawn.
    """

    truncated: TraceError | None
    clocks: list[_DrawnClock]
    without_error: list[_Without]


class Open(TypedDict):
    """The address of the trace that is served, and the link that opens it.

    Attributes:
        trace: the trace, as it was named.
        url: where the UI fetches the trace.
        link: the link that opens the UI with the trace.
        errors: how far off events are drawn; null without --tube.
    """

    trace: str
    url: str
    link: str
    errors: _Errors | None


def _facts(tracks: ErrorTracks, name: Callable[[ClockId], str]) -> _Errors:
    return {
        "truncated": tracks.truncated,
        "clocks": [_clock_facts(one, name, True) for one in tracks.clocks]
        + [_clock_facts(one, name, False) for one in tracks.left_out],
        "without_error": [
            {
                "clock": one.clock,
                "name": name(one.clock),
                "events": one.events,
                "drawn": one.drawn,
                "reason": one.reason,
            }
            for one in tracks.others
        ],
    }


def _clock_facts(one: ClockError, name: Callable[[ClockId], str], track: bool) -> _DrawnClock:
    return {
        "clock": one.clock,
        "name": name(one.clock),
        "events": one.events,
        "error_ns": one.most_ns,
        "shift_ns": {"least": one.earliest_shift_ns, "greatest": one.latest_shift_ns},
        "track": track,
    }


def _print_errors(tracks: ErrorTracks, name: Callable[[ClockId], str]) -> None:
    screen = console()
    if tracks.truncated is not None:
        print_text(screen, f"warning: reading stopped early: {tracks.truncated}", hanging="  ")
    if tracks.clocks:
        print_text(screen, "How far off events can be in the UI: tracks in the group tracetime")
        print_table(
            screen,
            "",
            ("clock", ">events", ">at most", ">drawn late by"),
            [
                (
                    name(c.clock),
                    f"{c.events:,}",
                    duration(c.most_ns),
                    shift_cell(c.earliest_shift_ns, c.latest_shift_ns),
                )
                for c in tracks.clocks
            ],
        )
    elif not tracks.others:
        echo("All events are in trace time already: no tracks are added.")
    if tracks.left_out:
        most = duration(tracks.left_out[0].most_ns)
        print_text(
            screen,
            f"and {count(len(tracks.left_out), 'clock')} more without a track: {most} at most",
        )
    for drawn, what in ((True, "no error bar, but drawn"), (False, "not drawn")):
        those = [one for one in tracks.others if one.drawn == drawn]
        if those:
            listed = ", ".join(
                f"{count(one.events, 'event')} in {name(one.clock)} ({one.reason})"
                for one in those[:_MOST_LISTED]
            )
            more = len(those) - _MOST_LISTED
            also = f", and {more:,} more" if more > 0 else ""
            print_text(screen, f"{what}: {listed}{also}", hanging="  ")
    echo()
