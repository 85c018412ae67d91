"""`tracetime at`: convert one timestamp from one clock of a trace to another, and explain it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypedDict, cast

import click

from tracetime.clocks.families import WALL
from tracetime.clocks.ids import BUILTIN_IDS, ClockId, ClockLike
from tracetime.clocks.wall_time import format_wall_time, parse_instant
from tracetime.commands import CHECK_FAILED, DONE
from tracetime.commands.help import Command
from tracetime.commands.limits import domains_of, limit_options, warn_of_absent_in, warn_of_unused
from tracetime.commands.options import (
    Clock,
    clock_in,
    json_option,
    lacks_sequence,
    open_as_one,
    policy_options,
    trace_options,
)
from tracetime.commands.output import result_option
from tracetime.commands.progress import Progress
from tracetime.commands.show import console, print_json, print_text
from tracetime.commands.terminal import echo
from tracetime.errors import TracetimeError, UsageError
from tracetime.text import printable

if TYPE_CHECKING:
    from tracetime.graph.arguments import PolicyName
    from tracetime.graph.clock_graph import ClockGraph
    from tracetime.graph.explanation import Explanation
    from tracetime.graph.tube.explanation import TubeExplanation
    from tracetime.graph.tube.results import Bars
    from tracetime.trace.trace import Trace

REALTIME: Final = ClockId(BUILTIN_IDS["REALTIME"])


class Ends(TypedDict):
    """The ends of the tube's bar, within which the true result is.

    Attributes:
        earliest: the lower end; null where it is open.
        latest: the upper end; null where it is open.
    """

    earliest: int | None
    latest: int | None


class At(TypedDict):
    """A conversion.

    Attributes:
        trace: the trace, as it was named.
    """

    trace: str


class OfFloor(TypedDict):
    """What a conversion by floor has beyond that.

    Attributes:
        true_between: the bar that holds the true result; null where the tube has no way.
    """

    true_between: Ends | None


@click.command("at", cls=Command)
@trace_options
@click.argument("value", metavar="TIME")
@click.option("--from", "src", type=Clock(), help="The clock that TIME is a reading of.")
@click.option("--to", "dst", type=Clock(), help="The clock to convert to.")
@click.option(
    "--sequence",
    type=click.IntRange(1, 2**32 - 1),
    help="The packet sequence of a clock numbered 64 to 127.",
)
@click.option(
    "--near",
    metavar="TIME",
    help="Roughly when that was: of a counter that wraps, which wrap.",
)
@policy_options
@limit_options
@click.option(
    "--strict",
    is_flag=True,
    help="Exit with 1 if TIME is outside the snapshots.",
)
@result_option
@json_option
# long: half of it is its help
def command(  # noqa: PLR0913  a parameter for each option
    trace: str,
    reading: dict[str, Any],
    value: str,
    src: ClockLike | None,
    dst: ClockLike | None,
    sequence: int | None,
    near: str | None,
    policy: PolicyName,
    bars: Bars,
    strict: bool,
    as_json: bool,
    **limits: Any,
) -> int:
    """Convert one TIME from a clock to another, and explain how.

    TIME is what the clock read, in its own unit (ns for most), or:

    \b
      12.5s          so long after the start of the trace, in trace time
      14:48:40.5     a time of day of REALTIME, in UTC, on the day of the start
      2026-08-22T14:48:40.123456789Z
                     a date and time of REALTIME, in ISO 8601

    Give --from, --to or both: the other one is the trace clock.

    \b
    Examples:
      tracetime at trace.pftrace 1104 --from MONOTONIC --to BOOTTIME
      tracetime at trace.pftrace 868258201186 --to REALTIME
      tracetime at trace.pftrace 12.5s --to REALTIME --policy tube

    \f
    For an incremental clock TIME is the absolute value. Put -- before a TIME below 0. A clock is a
    name (MONOTONIC), a number (6, 0x8a01b2c3), a name with dots (com.example.gpu) or 64@seq7.

    The result is in ns, whatever the unit of its clock. Floor's is followed by the ends of the bar
    within which the true one is. With --policy tube that bar is around the tube's own estimate, and
    the output says what it rests on. Only the tube converts from or to a clock that counts ticks
    (TSC, or one with --clock-rate); a result of such a clock is in ticks. If TIME is outside the
    snapshots and orders, the output says how far.

    \b
    More examples:
      tracetime at trace.pftrace 2026-08-22T14:48:40.123456789Z --to MONOTONIC
      tracetime at trace.pftrace 870001 --from 64 --sequence 7
      tracetime at trace.pftrace 1104 --from MONOTONIC --policy tube
      tracetime at trace.pftrace 7021 --from 0x8a01b2c3 --policy tube \\
        --valid-bits 0x8a01b2c3=36 --near 868258201186
    """

    domains = domains_of(limits)
    with (
        Progress("working out clocks") as progress,
        progress.follow(open_as_one(trace, **reading, domains=domains)) as opened,
    ):
        warn_of_absent_in(opened.clocks, domains)
        if policy != "tube":
            warn_of_unused(limits)
        explanation = _explain(opened, value, src, dst, sequence, near, policy, bars)
        between = None
        if policy == "floor":
            between = _between(opened.clocks, explanation, bars)
        truncated, name = opened.truncated, opened.clocks.name
    if truncated is not None:
        echo(f"warning: reading stopped early: {truncated}", err=True)
    if as_json:
        facts: dict[str, Any] = {**At(trace=trace)}
        if policy == "floor":
            facts |= OfFloor(
                true_between=None
                if between is None
                else {"earliest": between.earliest, "latest": between.latest}
            )
        print_json(facts | explanation.to_dict())
    else:
        screen = console()
        first, *lines = str(explanation).split("\n")
        if policy == "floor" and explanation.steps:
            lines = [f"  {_true(between)}", *lines]
        for line in (first, *lines):
            print_text(screen, line, hanging="     ")
        ends = (explanation.src, explanation.value), (explanation.dst, explanation.result)
        for clock, ns in ends:
            if clock.clock in WALL:
                echo(f"{printable(name(clock))} {ns} is {format_wall_time(ns)}")
    return CHECK_FAILED if strict and explanation.outside is not None else DONE


def _between(
    graph: ClockGraph, floor: Explanation | TubeExplanation, bars: Bars
) -> TubeExplanation | None:
    """The tube's conversion of what floor converted; None where it has no way."""
    try:
        found = graph.explain(floor.value, floor.src, floor.dst, policy="tube", bars=bars)
    except TracetimeError:
        return None
    return cast("TubeExplanation", found)


def _true(tube: TubeExplanation | None) -> str:
    """The bar that holds the true result, in words."""
    if tube is None:
        return "how far off that can be is not known: the tube has no way there"
    return f"true {tube.in_words} by the tube's {tube.bars} bars"


def _explain(  # noqa: PLR0913  the options of the command that concern the conversion
    trace: Trace,
    text: str,
    src: ClockLike | None,
    dst: ClockLike | None,
    sequence: int | None,
    near: str | None,
    policy: PolicyName,
    bars: Bars,
) -> Explanation | TubeExplanation:
    from tracetime.analysis.trace_instants import reading_of, trace_time_of
    from tracetime.graph.clock_graph import inner
    from tracetime.graph.ticks import refuse_floor_of_ticks

    instant = parse_instant(text)
    if src is None and dst is None and instant.kind == "reading":
        raise UsageError("give the clock to convert from or to: --from CLOCK, --to CLOCK or both")
    if sequence and not (lacks_sequence(src) or lacks_sequence(dst)):
        raise UsageError("--sequence is for a clock numbered 64 to 127 without @seq: none is given")
    if near is not None and policy != "tube":
        raise UsageError("only the tube distinguishes wraps: give --policy tube, too")
    graph = trace.clocks
    source = trace.trace_clock if src is None else clock_in(graph, src, sequence)
    target = trace.trace_clock if dst is None else clock_in(graph, dst, sequence)
    value = instant.ns
    if instant.kind != "reading":
        value, clock = reading_of(trace, instant, policy, bars)
        source = clock if src is None else source
        if source != clock and not (clock == REALTIME and source.clock in WALL):
            what = "trace time" if instant.kind == "elapsed" else "a reading of REALTIME"
            raise UsageError(f"{text!r} is {what}, not of {source}: leave out --from")
    if policy == "floor":
        refuse_floor_of_ticks(inner(graph), source, target)
    around = None if near is None else trace_time_of(trace, near, policy, bars)
    return graph.explain(
        value,
        source,
        target,
        policy=policy,
        bars=bars,
        near=None if around is None else (around, trace.trace_clock),
    )
