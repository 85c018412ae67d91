"""`tracetime bake`: write a trace that the Perfetto UI draws where a policy puts its events."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import click

from tracetime.commands.help import Command
from tracetime.commands.limits import domains_of, limit_options, warn_of_absent_in
from tracetime.commands.options import json_option, open_as_one, trace_options
from tracetime.commands.output import check_ending, file_for, output_option
from tracetime.commands.progress import Progress
from tracetime.commands.show import console, print_json, print_text, size
from tracetime.commands.terminal import echo
from tracetime.errors import UsageError
from tracetime.text import count, duration, printable
from tracetime.verbs.event_baking.reasons import REASONS

if TYPE_CHECKING:
    from rich.console import Console

    from tracetime.graph.arguments import PolicyName
    from tracetime.verbs.bake import BakeSummary


@click.command("bake", cls=Command)
@trace_options
@output_option("The Perfetto trace to write; - is standard output.", required=True)
@click.option(
    "--policy",
    type=click.Choice(["tube", "floor"]),
    default="tube",
    show_default=True,
    help="Where events go: the best estimate, or where Perfetto puts them anyway.",
)
@click.option("--strip", is_flag=True, help="Keep no error bars, boot ids and host names.")
@limit_options
@json_option
def command(
    trace: str,
    reading: dict[str, Any],
    out: str,
    policy: PolicyName,
    strip: bool,
    as_json: bool,
    **limits: Any,
) -> None:
    """Write TRACE anew, so that Perfetto draws the better times.

    TRACE is a Perfetto trace, raw or compressed; - is standard input, which is kept in a temporary
    file, since it is read twice. Every timestamp becomes trace time, on the trace clock: any tool
    that reads Perfetto traces then shows what --policy tube computes. All else stays as it is.
    Traces of other formats become Perfetto traces: slices, instants, counters and flows.

    \b
    Examples:
      tracetime bake trace.pftrace -o better.pftrace
      tracetime bake trace.pftrace -o plain.pftrace --policy floor
      tracetime bake trace.pftrace -o better.pftrace --clock-rate TSC=2GHz --json
      tracetime bake chrome.json.gz -o chrome.pftrace
      tracetime bake trace.pftrace -o - | ssh host 'cat > better.pftrace'
    """
    from tracetime.verbs.bake import bake

    started = time.perf_counter()
    to_stdout = out == "-"
    if to_stdout and as_json:
        raise UsageError("--json writes the summary to standard output, as -o - does the trace")
    check_ending(out, ".pftrace")
    domains = domains_of(limits)
    with (
        Progress("baking") as progress,
        progress.follow(open_as_one(trace, **reading, domains=domains)) as opened,
        file_for(out, ".pftrace") as file,
    ):
        summary = bake(opened, file, policy=policy, strip=strip)
        warn_of_absent_in(opened.clocks, domains)
    if to_stdout:
        if summary.truncated is not None:
            echo(f"warning: reading stopped early: {summary.truncated}", err=True)
    elif as_json:
        print_json(summary)
    else:
        _print(console(), summary, time.perf_counter() - started)


def _print(screen: Console, summary: BakeSummary, seconds: float) -> None:
    print_text(
        screen,
        f"{printable(summary.out)}: events on {summary.trace_clock} by the {summary.policy} policy "
        f"({size(summary.bytes)}, {seconds:.1f} s)",
        hanging="  ",
    )
    if summary.truncated is not None:
        print_text(screen, f"reading stopped early: {summary.truncated}", hanging="  ")
    for said in _counts(summary):
        print_text(screen, said, hanging="  ")


def _counts(summary: BakeSummary) -> list[str]:
    """The notes for a reader of the output, a line each."""
    worst = duration(summary.worst_rounding_ns)
    lines = (
        (summary.unresolved, "event", "without a trace time: Perfetto leaves them out, as before"),
        (summary.set_aside, "item", "without a trace time set aside, where Perfetto does not look"),
        (summary.forced, "end", "of slices moved beyond their bars, so that they nest as before"),
        (summary.early, "event", "before time 0: Perfetto takes none"),
        *((n, "event", f"left out: {REASONS[why]}") for why, n in summary.left_out_by.items()),
        (summary.moved, "event", "moved to the timestamp of their packet"),
        (summary.stamped, "packet", "without a time of their own have that of their items"),
        (summary.kept_in_order, "event", "kept in the order of the file, within their bars"),
        (summary.reversed, "event", "before one that is earlier in the file: the bars exclude it"),
        (summary.as_floor, "event", "where Perfetto puts them: the tube cannot place them"),
        (summary.late_descriptors, "descriptor", "of threads that floor drops"),
        (summary.rounded, "timestamp", f"rounded, by {worst} at most: the field holds no more"),
    )
    return [f"{count(n, what)} {said}" for n, what, said in lines if n]
