"""`tracetime doctor`: what is wrong with the clocks of traces, and what mends it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

import click

from tracetime.commands import CHECK_FAILED, DONE, SCHEMA, exit_code
from tracetime.commands.limits import domains_of, limit_options, warn_of_absent
from tracetime.commands.options import json_option, limits_of_reading, tolerance_option
from tracetime.commands.show import console, print_json, print_text, wrapped
from tracetime.commands.terminal import echo, tell_error
from tracetime.errors import TracetimeError
from tracetime.graph.clock_names import named
from tracetime.text import count, printable

if TYPE_CHECKING:
    from rich.console import Console

    from tracetime.clocks.ids import ClockId
    from tracetime.doctor import Finding

_COLOURS: Final[dict[str, str]] = {"error": "red", "warning": "yellow", "info": "blue"}
_MOST_ALIKE: Final = 5
"""How many findings of one code and severity are shown one by one, unless all are asked for."""


@click.command("doctor")
@click.argument(
    "traces", metavar="TRACE...", nargs=-1, required=True, type=click.Path(allow_dash=True)
)
@tolerance_option
@click.option(
    "--fail-on",
    type=click.Choice(["error", "warning"]),
    help="Exit with 1 if there is a finding as bad as this, or worse.",
)
@limits_of_reading
@click.option("-v", "--verbose", is_flag=True, help="Explain info, too, and show all findings.")
@limit_options
@json_option
# long: a third of it is its help
def command(
    traces: tuple[str, ...],
    tolerance: int,
    fail_on: str | None,
    reading: dict[str, Any],
    verbose: bool,
    as_json: bool,
    **limits: Any,
) -> int:
    """Say what is wrong with clocks, and what mends it.

    Findings come worst first. An error loses events, or misplaces them by more than the tolerance;
    a warning could; an info is worth knowing and normal. What follows from a finding stands below
    it.

    --json gives one object, however many traces there are: "schema", 1, and "traces", each with its
    "findings", or with the "error" for which it could not be read. The exit code is then 2 or 3, as
    of one trace alone.

    \b
    Examples:
      tracetime doctor trace.pftrace
      tracetime doctor trace.pftrace --json | jq '.traces[].findings[].code'
      tracetime doctor trace.pftrace --fail-on error --tolerance 100us
    """
    from tracetime.doctor import SEVERITIES, diagnose
    from tracetime.formats import open_trace

    domains = domains_of(limits)
    told: list[dict[str, Any]] = []
    code = DONE
    worst = len(SEVERITIES)
    called: dict[ClockId, str] = {}
    present: set[ClockId] = set()
    for path in traces:
        try:
            with open_trace(path, partial=True, **reading, domains=domains) as trace:
                findings = diagnose(trace, tolerance)
                names = trace.clocks.names
                present |= {info.clock for info in trace.clocks.clocks()}
                called |= names
        except TracetimeError as error:
            # The others are still worth a look.
            code = max(code, exit_code(error))
            told.append({"trace": path, "error": error.to_dict()})
            if not as_json:
                of = f"{printable(path)}: " if len(traces) > 1 else ""
                tell_error("tracetime: error", f"{of}{error}")
            continue
        worst = min([worst, *(SEVERITIES.index(finding.severity) for finding in findings)])
        told.append({"trace": path, "findings": [finding.to_dict() for finding in findings]})
        if not as_json:
            _print(path, findings, names, verbose)
    if as_json:
        print_json({"schema": SCHEMA, "traces": told})
    if any("findings" in one for one in told):
        warn_of_absent(domains, present, called)
    if code != DONE:
        return code
    failed = fail_on is not None and worst <= SEVERITIES.index(fail_on)
    return CHECK_FAILED if failed else DONE


def _print(path: str, findings: list[Finding], names: Mapping[ClockId, str], verbose: bool) -> None:
    screen = console()
    path = printable(path)
    counts = Counter[str](finding.severity for finding in findings)
    if not counts["error"] and not counts["warning"]:
        echo(f"{path}: the clocks are in order.")
    else:
        told = [
            f"{n} {severity}" if severity == "info" else count(n, severity)
            for severity in _COLOURS
            if (n := counts[severity])
        ]
        echo(f"{path}: {', '.join(told)}")
    before = None
    for finding, more in _folded(findings, verbose):
        brief = finding.severity == "info" and not verbose
        if not (brief and before == "info"):
            echo()
        _print_finding(screen, finding, names, "", verbose, more)
        before = finding.severity


def _folded(findings: Iterable[Finding], verbose: bool) -> Iterator[tuple[Finding, int]]:
    """The findings to show, each with how many like it are left out after it."""
    findings = list(findings)
    left = Counter((finding.severity, finding.code) for finding in findings)
    shown = Counter[tuple[str, str]]()
    for finding in findings:
        alike = finding.severity, finding.code
        shown[alike] += 1
        if verbose or shown[alike] <= _MOST_ALIKE:
            last = not verbose and shown[alike] == _MOST_ALIKE
            yield finding, left[alike] - _MOST_ALIKE if last else 0


def _print_finding(
    screen: Console,
    finding: Finding,
    names: Mapping[ClockId, str],
    indent: str,
    verbose: bool,
    more: int,
) -> None:
    head = finding.severity
    title = named(f"{head}: {finding.title} [{finding.code}]", names)
    lines = wrapped(screen, title, indent, indent + "  ")
    # Coloured after wrapping, which would count the codes.
    coloured = click.style(head, fg=_COLOURS[finding.severity], bold=True)
    echo(lines.replace(head, coloured, 1), styled=True)
    if finding.severity != "info" or verbose:
        for line in _details(finding):
            print_text(screen, named(line, names), indent + "  ", indent + "    ")
        for consequence, others in _folded(finding.consequences, verbose):
            print_text(screen, "which leads to", indent + "  ")
            _print_finding(screen, consequence, names, indent + "    ", verbose, others)
    if more:
        told = f"{head}: {more:,} more [{finding.code}]; --verbose shows them"
        print_text(screen, told, indent, indent + "  ")


def _details(finding: Finding) -> Iterator[str]:
    where = []
    if finding.events:
        where.append(f"{count(finding.events, 'event')} touched")
    if finding.packets:
        shown = ", ".join(map(str, finding.packets[:5]))
        more = ", ..." if len(finding.packets) > 5 else ""
        where.append(f"packet{'' if len(finding.packets) == 1 else 's'} {shown}{more}")
    if where:
        yield "; ".join(where)
    yield f"why: {finding.why}"
    yield f"fix: {finding.fix}"
