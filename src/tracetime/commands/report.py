"""`tracetime report`: an HTML page on the clocks of a trace."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

import click

from tracetime.commands.help import Command
from tracetime.commands.limits import domains_of, limit_options, warn_of_absent_in
from tracetime.commands.options import json_option, open_as_one, reading_options, tolerance_option
from tracetime.commands.output import check_ending, file_for, output_option
from tracetime.commands.progress import Progress
from tracetime.commands.show import console, print_json, print_text, size
from tracetime.commands.terminal import echo
from tracetime.errors import UsageError
from tracetime.text import printable

if TYPE_CHECKING:
    from tracetime.clocks.json_types import Count
    from tracetime.doctor import Finding
    from tracetime.reporting import Report as Page


class _PicturedPair(TypedDict):
    """Two clocks that have a picture.

    Attributes:
        hub: the display name of the clock that the other is compared with.
        clock: the display name of the clock.
    """

    hub: str
    clock: str


class Report(TypedDict):
    """The outcome of writing the page.

    Attributes:
        trace: the trace, as it was named.
        report: the page that was written.
        bytes: its size.
        findings: what is wrong, the worst first.
        pairs: the pairs of clocks that have a picture.
        left_out: the clocks without a picture: there are too many, or they matter less.
    """

    trace: str
    report: str
    bytes: Count
    findings: Sequence[Finding]
    pairs: list[_PicturedPair]
    left_out: Sequence[str]


@click.command("report", cls=Command)
@click.argument("traces", nargs=-1, required=True, type=click.Path(allow_dash=True))
@reading_options
@output_option(
    "The HTML file to write; - is standard output. By default the first trace's name with .html "
    "added, here."
)
@click.option("--open", "opened_after", is_flag=True, help="Open the page in the browser.")
@tolerance_option
@limit_options
@json_option
def command(
    traces: tuple[str, ...],
    reading: dict[str, Any],
    out: str | None,
    opened_after: bool,
    tolerance: int,
    as_json: bool,
    **limits: Any,
) -> None:
    """Write an HTML page on the clocks of TRACE, or of several as one.

    It shows the doctor's findings, the clock graph, events over time, and for each pair of clocks
    the offset with error bars and the drift. The page is one file and needs no network.

    \b
    Examples:
      tracetime report trace.pftrace -o report.html
      tracetime report trace.pftrace --open
      tracetime report rank0.json rank1.json -o ranks.html
      tracetime report trace.pftrace -o - | ssh host 'cat > report.html'
      tracetime report trace.pftrace --clock-name 0x8a01b2c3=com.example.gpu
    """
    from tracetime.reporting import report

    to_stdout = out == "-"
    if to_stdout and opened_after:
        raise UsageError("--open shows a file, and -o - writes none: give -o FILE")
    if to_stdout and as_json:
        raise UsageError("--json writes the summary to standard output, as -o - does the page")
    domains = domains_of(limits)
    if out is not None:
        check_ending(out, ".html")
    path = out or (("stdin" if traces[0] == "-" else Path(traces[0]).name) + ".html")
    trace = ", ".join(traces)
    with (
        Progress("drawing the page") as progress,
        progress.follow(open_as_one(*traces, **reading, domains=domains)) as opened,
        file_for(path, ".html") as file,
    ):
        page = report(opened, file, tolerance)
        warn_of_absent_in(opened.clocks, domains)
    if to_stdout:
        return
    if as_json:
        facts: Report = {
            "trace": trace,
            "report": page.path,
            "bytes": page.size,
            "findings": page.findings,
            "pairs": [{"hub": reference, "clock": clock} for reference, clock in page.pairs],
            "left_out": page.left_out,
        }
        print_json(facts)
    else:
        _print(trace, page)
    if opened_after and not _open(page.path):
        echo("no browser could be started: open the page", err=True)


def _open(path: str) -> bool:
    """Open a file in the browser; return whether one could be started."""
    import webbrowser

    return webbrowser.open_new_tab(Path(path).resolve().as_uri())


def _print(trace: str, page: Page) -> None:
    screen = console()
    print_text(screen, f"{printable(trace)}: {page.verdict}.", hanging="  ")
    print_text(screen, f"report: {printable(page.path)} ({size(page.size)})", hanging="  ")
