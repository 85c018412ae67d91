"""`tracetime report`: a page that shows what the clocks of a trace did."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any, Final

import click

from tracetime.commands.limits import domains_of, limit_options, warn_of_absent_in
from tracetime.commands.options import json_option, output_option, tolerance_option, trace_options
from tracetime.commands.show import console, print_json, print_text, size
from tracetime.text import printable

_MOST_CLOCKS: Final = 1 << 16
"""A page of more takes seconds and half a gigabyte, and shows the first of them all the same."""


@click.command("report", context_settings={"default_map": {"max_clocks": _MOST_CLOCKS}})
@trace_options
@output_option("The HTML file to write. By default the trace's name with .html added, here.")
@tolerance_option
@limit_options
@json_option
def command(
    trace: str,
    reading: dict[str, Any],
    out: str | None,
    tolerance: int,
    as_json: bool,
    **limits: Any,
) -> None:
    """Write a page that shows what the clocks of TRACE did.

    One HTML file that needs no network: the clock graph, events over time, the offset of each pair
    of clocks with its error bars, drift, and the doctor's findings beside what they point at.

    \b
    Examples:
      tracetime report trace.pftrace -o report.html
      tracetime report trace.pftrace --clock-name 0x8a01b2c3=com.example.gpu
    """
    from tracetime.formats import open_trace
    from tracetime.reporting import report

    domains = domains_of(limits)
    path = out or (("stdin" if trace == "-" else Path(trace).name) + ".html")
    with open_trace(trace, **reading, domains=domains) as opened:
        made = report(opened, path, tolerance)
        warn_of_absent_in(opened.clocks, domains)
    if as_json:
        print_json(
            {
                "trace": trace,
                "report": made.path,
                "bytes": made.size,
                "findings": [finding.to_dict() for finding in made.findings],
                "pairs": [{"hub": hub, "clock": clock} for hub, clock in made.pairs],
                "left_out": made.left_out,
            }
        )
        return
    screen = console()
    counts = Counter[str](finding.severity for finding in made.findings)
    bad = [
        f"{n} {what}{'' if n == 1 else 's'}" for what in ("error", "warning") if (n := counts[what])
    ]
    said = " and ".join(bad) if bad else "the clocks are in order"
    print_text(screen, f"{printable(trace)}: {said}.", hanging="  ")
    print_text(screen, f"report: {printable(made.path)} ({size(made.size)})", hanging="  ")
