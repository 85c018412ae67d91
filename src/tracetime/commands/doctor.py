"""`tracetime doctor`: what is wrong with the clocks of traces, and how to fix it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, NotRequired, TypedDict

import click

from tracetime.commands import CHECK_FAILED, DONE, SCHEMA, exit_code
from tracetime.commands.help import Command
from tracetime.commands.limits import domains_of, limit_options, warn_of_absent
from tracetime.commands.options import (
    apart_option,
    json_option,
    limits_of_reading,
    partial_anyway,
    tolerance_option,
    traces_in,
)
from tracetime.commands.output import result_option
from tracetime.commands.progress import Progress
from tracetime.commands.show import (
    console,
    fold,
    print_json,
    print_result,
    print_text,
    print_widest,
    wrap,
)
from tracetime.commands.terminal import echo, echo_error
from tracetime.errors import TraceError, TracetimeError, UsageError
from tracetime.text import count, did_you_mean, printable

if TYPE_CHECKING:
    import pyarrow as pa
    from rich.console import Console

    from tracetime.analysis.event_bars import EventBars
    from tracetime.analysis.survey import Survey
    from tracetime.clocks.ids import ClockId
    from tracetime.clocks.json_types import Count, FindingCode, NotEmpty, Status
    from tracetime.doctor import Finding
    from tracetime.graph.info import ClockInfo
    from tracetime.trace.trace import Trace

_COLOURS: Final[dict[str, str]] = {"error": "red", "warning": "yellow", "info": "blue"}
_IN_ORDER: Final = "the clocks are in order."
_MOST_EVENTS: Final = 100
"""Events of a finding that are printed; --json has all."""
_MOST_ALIKE: Final = 5
"""Findings of one code and severity that are printed without --verbose: about a screen."""


@click.command("doctor", cls=Command)
@click.argument(
    "traces", metavar="TRACE...", nargs=-1, required=True, type=click.Path(allow_dash=True)
)
@tolerance_option
@click.option(
    "--fail-on",
    type=click.Choice(["error", "warning"]),
    help="Exit with 1 if there is a finding of this severity, or a worse one.",
)
@click.option(
    "--events",
    "code",
    metavar="FINDING",
    help="List the events of the findings with this code, and how far off each is.",
)
@partial_anyway
@limits_of_reading
@click.option(
    "-v",
    "--verbose",
    is_flag=True,
    help="Explain findings of severity info, too, and print all findings.",
)
@apart_option
@limit_options
@result_option
@json_option
# long: a third of it is its help
def command(  # noqa: PLR0913  a parameter for each option
    traces: tuple[str, ...],
    tolerance: int,
    fail_on: str | None,
    code: str | None,
    reading: dict[str, Any],
    verbose: bool,
    apart: bool,
    as_json: bool,
    **limits: Any,
) -> int:
    """Say what is wrong with clocks, and how to fix it.

    Findings come worst first. An error loses events, or misplaces them by more than the tolerance;
    a warning could do so; an info is normal, and worth knowing. The consequences of a finding are
    listed below it. An archive is all traces in it, with a perfetto_manifest as one.

    --json prints one object, however many traces there are: "schema", 1, and "traces", each with
    its "findings", or with the "error" if it cannot be read. The exit code is then 2 or 3, as for
    one trace alone.

    --events FINDING lists the events that the findings of a code are about: off_ns is how much
    later they are by the floor policy than by the tube. In --json they are "events" of the trace.
    The table finding_events of `tracetime sql` has those of all findings.

    \b
    Examples:
      tracetime doctor trace.pftrace
      tracetime doctor trace.pftrace --json | jq '.traces[].findings[].code'
      tracetime doctor trace.pftrace --events clock-without-snapshot
      tracetime doctor trace.pftrace --fail-on error --tolerance 100us
    """
    from tracetime.analysis.event_bars import EventBars
    from tracetime.analysis.survey import Survey
    from tracetime.doctor import SEVERITIES, findings_of

    if code is not None:
        _check_code(code)
    domains = domains_of(limits)
    results: list[Read | Unread] = []
    exit_with = DONE
    worst = len(SEVERITIES)
    names: dict[ClockId, str] = {}
    present: set[ClockId] = set()
    told: dict[tuple[str, str], str] = {}
    with Progress("looking for faults") as progress:
        options = {"partial": True, **reading, "domains": domains}
        for path, opened in traces_in(traces, options, apart=apart, with_damage=True):
            try:
                with progress.follow(opened()) as trace:
                    survey = Survey(trace, tolerance)
                    findings = findings_of(survey)
                    # A list of events is printed without bars.
                    bars = survey.widest_bars() if as_json or code is None else EventBars()
                    events = None if code is None else _events(trace, findings, code)
                    own_names = trace.clocks.names
                    present |= {info.clock for info in trace.clocks.clocks()}
                    names |= own_names
            except TracetimeError as error:
                # The other traces are read all the same.
                exit_with = max(exit_with, exit_code(error))
                results.append({"trace": path, "error": error})
                if not as_json:
                    named = error.of(path) if isinstance(error, TraceError) else error
                    echo_error("tracetime: error", str(named))
                continue
            worst = min([worst, *(SEVERITIES.index(finding.severity) for finding in findings)])
            result: Read = {"trace": path, "findings": findings, "bars": _facts(survey, bars)}
            if events is not None:
                result["events"] = events.to_pylist()
            results.append(result)
            if as_json:
                continue
            if code is None or events is None:
                shown = [one.with_names(own_names) for one in findings]
                _print(path, shown, verbose, survey.has_evidence, told)
                _print_bars(survey, bars, own_names)
            else:
                _print_events(path, findings, code, events)
    if as_json:
        report: Doctor = {"schema": SCHEMA, "traces": results}
        print_json(report)
    if any("findings" in result for result in results):
        warn_of_absent(domains, present, names)
    if exit_with != DONE:
        return exit_with
    failed = fail_on is not None and worst <= SEVERITIES.index(fail_on)
    return CHECK_FAILED if failed else DONE


class FindingEvent(TypedDict):
    """One event.

    Attributes:
        finding: the number of its finding, as in the report of all findings.
        code: the code of its finding.
        packet: the index of its packet.
        kind: what it is.
        item: its index in the packet, of its kind.
        name: its name; null without any.
        timestamp: its timestamp, in its own clock.
        trace_time: when it was, ns of trace time; null: unknown.
        status: whether it has a trace time, or why not.
        off_ns: how much later floor places it than the tube, ns; null: not compared.
    """

    finding: Count
    code: FindingCode
    packet: Count
    kind: str
    item: Count
    name: str | None
    timestamp: int
    trace_time: int | None
    status: Status
    off_ns: int | None


class WidestBar(TypedDict):
    """The widest error bar of a clock on trace time, as a half-width.

    Attributes:
        clock: the clock.
        at_most_ns: half of the bar, ns; null: a side of it is open.
        at: the reading that has it, in the unit of the clock.
    """

    clock: ClockId
    at_most_ns: Count | None
    at: int


class Read(TypedDict):
    """A trace that was read.

    Attributes:
        trace: the trace, as it was named.
        findings: what is wrong, the worst first.
        bars: the widest error bar of each clock on trace time, of at most 40 clocks.
        events: with --events, the events of the findings with that code.
    """

    trace: str
    findings: Sequence[Finding]
    bars: list[WidestBar]
    events: NotRequired[list[FindingEvent]]


class Unread(TypedDict):
    """A trace that cannot be read.

    Attributes:
        trace: the trace, as it was named.
        error: why it cannot be read.
    """

    trace: str
    error: TracetimeError


class Doctor(TypedDict):
    """What is wrong with the clocks of traces.

    Attributes:
        schema: the version of this shape.
        traces: the traces, in the order of the arguments.
    """

    schema: Literal[1]
    traces: Annotated[list[Read | Unread], NotEmpty]


def _facts(survey: Survey, bars: EventBars) -> list[WidestBar]:
    found = ((info, bars.of([info.clock])) for info in survey.infos.values())
    return [
        {"clock": info.clock, "at_most_ns": bar.at_most_ns, "at": bar.at_ns // info.unit_ns}
        for info, bar in found
        if bar is not None
    ]


def _print_bars(survey: Survey, bars: EventBars, names: Mapping[ClockId, str]) -> None:
    lines: dict[str, list[ClockInfo]] = {}
    for clock, name in fold(survey.infos, labels=names).items():
        lines.setdefault(name, []).append(survey.infos[clock])
    home = printable(survey.graph.name(survey.trace_clock))
    print_widest(console(), home, bars, lines.items())


def _check_code(code: str) -> None:
    """Raise UsageError for a code that no finding has."""
    from tracetime.doctor.catalogue import CATALOGUE

    if code not in CATALOGUE:
        raise UsageError(f"there is no finding {code!r}{did_you_mean(code, CATALOGUE)}")


def _events(trace: Trace, findings: list[Finding], code: str) -> pa.Table:
    """Return the events of the findings with a code."""
    import pyarrow as pa

    from tracetime.doctor.finding import in_order
    from tracetime.doctor.finding_events import finding_events
    from tracetime.trace.events_table import FINDING_EVENTS

    numbered = enumerate(in_order(findings))
    return pa.Table.from_batches(
        finding_events(trace, {k: one for k, one in numbered if one.code == code}), FINDING_EVENTS
    )


def _print_events(path: str, findings: list[Finding], code: str, events: pa.Table) -> None:
    from tracetime.doctor.finding import in_order
    from tracetime.sql.session import Result

    found = [one for one in in_order(findings) if one.code == code]
    total = sum(one.events for one in found)
    if not found:
        text = "there is no such finding"
    elif total and not events.num_rows:
        text = f"{count(total, 'event')}, of which the number alone is known: none can be listed"
    elif events.num_rows > _MOST_EVENTS:
        text = f"{count(events.num_rows, 'event')}; --json has all, these are the first"
    else:
        text = count(events.num_rows, "event")
    echo(f"{printable(path)}: {code}: {text}")
    if events.num_rows:
        shown = events.drop_columns(["finding", "code"]).slice(0, _MOST_EVENTS)
        print_result(Result(shown.schema, iter(shown.to_batches())), _MOST_EVENTS, None)


def _print(
    path: str,
    findings: list[Finding],
    verbose: bool,
    is_checked: bool,
    told: dict[tuple[str, str], str],
) -> None:
    """Print the findings of a trace.

    told: in which trace each why and fix was printed, which is not printed again for the next one.
    """
    from tracetime.doctor.finding import NOTHING_TO_CHECK, faults

    screen = console()
    path = printable(path)
    counts = Counter[str](finding.severity for finding in findings)
    if not counts["error"] and not counts["warning"]:
        verdict = _IN_ORDER if is_checked else f"{NOTHING_TO_CHECK}."
        if faults(findings):
            verdict = f"no errors or warnings, {counts['info']} info"
        echo(f"{path}: {verdict}")
    else:
        found = [
            f"{n} {severity}" if severity == "info" else count(n, severity)
            for severity in _COLOURS
            if (n := counts[severity])
        ]
        echo(f"{path}: {', '.join(found)}")
    before = None
    for finding, more in _fold(findings, verbose):
        brief = finding.severity == "info" and not verbose
        if not (brief and before == "info"):
            echo()
        _print_finding(screen, finding, "", verbose, more, path, told)
        before = finding.severity
    if before == "info" and not verbose:
        echo("  --verbose says why, and what to do")


def _fold(findings: Iterable[Finding], verbose: bool) -> Iterator[tuple[Finding, int]]:
    """Yield the findings to print, each with how many alike are left out after it."""
    findings = list(findings)
    total = Counter((finding.severity, finding.code) for finding in findings)
    printed = Counter[tuple[str, str]]()
    for finding in findings:
        kind = finding.severity, finding.code
        printed[kind] += 1
        if verbose or printed[kind] <= _MOST_ALIKE:
            last = not verbose and printed[kind] == _MOST_ALIKE
            yield finding, total[kind] - _MOST_ALIKE if last else 0


def _print_finding(
    screen: Console,
    finding: Finding,
    indent: str,
    verbose: bool,
    more: int,
    path: str,
    told: dict[tuple[str, str], str],
) -> None:
    head = finding.severity
    title = f"{head}: {finding.title} [{finding.code}]"
    lines = wrap(screen, title, indent, indent + "  ")
    # Coloured after wrapping, which would count the characters of the colour.
    coloured = click.style(head, fg=_COLOURS[finding.severity], bold=True)
    echo(lines.replace(head, coloured, 1), styled=True)
    if finding.severity != "info" or verbose:
        for line in _details(finding, path, told):
            print_text(screen, line, indent + "  ", indent + "    ")
        for consequence, others in _fold(finding.consequences, verbose):
            print_text(screen, "This leads to:", indent + "  ")
            _print_finding(screen, consequence, indent + "    ", verbose, others, path, told)
    if more:
        text = f"{head}: {more:,} more [{finding.code}]; --verbose prints them"
        print_text(screen, text, indent, indent + "  ")


def _details(finding: Finding, path: str, told: dict[tuple[str, str], str]) -> Iterator[str]:
    where = []
    if finding.events:
        where.append(f"{count(finding.events, 'event')} affected")
    if finding.packets:
        first = ", ".join(map(str, finding.packets[:5]))
        more = ", ..." if len(finding.packets) > 5 else ""
        where.append(f"packet{'' if len(finding.packets) == 1 else 's'} {first}{more}")
    if where:
        yield "; ".join(where)
    first = told.setdefault((finding.why, finding.fix), path)
    if first != path:
        yield f"why and fix: as of {first}"
        return
    yield f"why: {finding.why}"
    yield f"fix: {finding.fix}"
