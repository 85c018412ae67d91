"""`tracetime report`: an HTML page on the clocks of a trace."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any, Final

import click

from tracetime.commands.limits import domains_of, limit_options, warn_of_absent_in
from tracetime.commands.options import json_option, output_option, tolerance_option, trace_options
from tracetime.commands.show import console, print_json, print_text, size
from tracetime.text import count, printable

_MOST_CLOCKS: Final = 1 << 16
"""Of more clocks a page takes seconds and 0.5 GB, and still shows only the first ones."""


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
    """Write an HTML page on the clocks of TRACE.

    It shows the doctor's findings, the clock graph, events over time, and for each pair of clocks
    the offset with error bars and the drift. The page is one file and needs no network.

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
        page = report(opened, path, tolerance)
        warn_of_absent_in(opened.clocks, domains)
    if as_json:
        print_json(
            {
                "trace": trace,
                "report": page.path,
                "bytes": page.size,
                "findings": [finding.to_dict() for finding in page.findings],
                "pairs": [{"hub": reference, "clock": clock} for reference, clock in page.pairs],
                "left_out": page.left_out,
            }
        )
        return
    screen = console()
    counts = Counter[str](finding.severity for finding in page.findings)
    bad = [count(n, what) for what in ("error", "warning") if (n := counts[what])]
    verdict = " and ".join(bad) if bad else "the clocks are in order"
    print_text(screen, f"{printable(trace)}: {verdict}.", hanging="  ")
    print_text(screen, f"report: {printable(page.path)} ({size(page.size)})", hanging="  ")
