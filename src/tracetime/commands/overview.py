"""`tracetime FILE...`: what is in a file, whether its time is right, and what to do next."""

from __future__ import annotations

import shlex
import shutil
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypedDict

import click

from tracetime.clocks.json_facts import as_json
from tracetime.clocks.snapshot import INT64_MAX
from tracetime.commands.help import Command
from tracetime.commands.limits import domains_of, limit_options
from tracetime.commands.options import (
    json_option,
    limits_of_reading,
    open_as_one,
    partial_anyway,
)
from tracetime.commands.output import result_option
from tracetime.commands.progress import Progress
from tracetime.commands.show import print_json
from tracetime.commands.terminal import echo
from tracetime.text import count, duration, half_width, printable

if TYPE_CHECKING:
    from tracetime.analysis.survey import Survey
    from tracetime.clocks.ids import ClockId
    from tracetime.clocks.json_types import Count
    from tracetime.doctor import Finding
    from tracetime.merging.report import MergeReport
    from tracetime.trace.trace import Trace

Verdict = Literal["right", "unchecked", "doubtful", "wrong"]

_MOST_FINDINGS: Final = 3
_MOST_FILES: Final = 4
_MOST_NEXT: Final = 3
_LONGEST_ABOUT: Final = 100
_LONGEST_TITLE: Final = 300
_MOST_LINES: Final = 12
_LONGEST: Final = "select name, dur, track_name from slices order by dur desc limit 10"
_NOT_BY_BAKE: Final = ("events-far-from-trace", "events-of-another-clock", "odd-times")
"""Codes of findings that times are of another clock or unit, which no bar holds."""


class NextCommand(NamedTuple):
    """A command that comes next for a file.

    Attributes:
        command: as it is typed.
        why: what it tells, or makes.
    """

    command: str
    why: str


class WorstBar(NamedTuple):
    """The widest error bar of events.

    Attributes:
        clock: the clock that they were read in.
        half_width_ns: half of it, ns; null: it is open to a side.
        assumed_ns: how far off readings of the clock are at most, as its format is taken to mean,
            ns; null where that is recorded, or nothing is assumed of this clock alone.
        clocks_left_out: how many clocks of events were not looked at, of many.
    """

    clock: ClockId
    half_width_ns: Count | None
    assumed_ns: Count | None
    clocks_left_out: Count


@as_json(
    "trace format about trace_clock events clocks first_ns last_ns verdict findings worst_bar next"
)
@dataclass(frozen=True, slots=True)
class Overview:
    """A trace at a glance.

    Attributes:
        trace: the trace, as it was named.
        format: the format of the file, as its users call it.
        about: what it is of, in a few words; empty where the file does not say.
        trace_clock: the clock that trace time counts in.
        events: how many events there are.
        clocks: how many clocks events were read in; without events, how many snapshots have.
        first_ns: the trace time of the first event, ns; null where none has one.
        last_ns: the trace time of the last event, ns; null where none has one.
        verdict: whether its time is right: by the doctor's errors and warnings, or unchecked where
            the file has nothing to compare its clock with, or only to one side.
        findings: what is wrong, the worst first.
        worst_bar: the widest error bar of its events; null where all were read on the trace clock.
        next: the commands that come next.
        row: what its users call an event.
    """

    trace: str
    format: str
    about: str
    trace_clock: ClockId
    events: Count
    clocks: Count
    first_ns: int | None
    last_ns: int | None
    verdict: Verdict
    findings: Sequence[Finding]
    worst_bar: WorstBar | None
    next: Sequence[NextCommand]
    row: str


class Place(NamedTuple):
    """The place of a file beside the first one.

    Attributes:
        name: the end of its path that tells it from the others.
        offset_ns: the clock of the first file less its own, in its middle; null: not tied.
        half_width_ns: how far off that may be at worst, ns; null: open, or not tied.
        why_not: why it has no place; null where it has one.
    """

    name: str
    offset_ns: int | None
    half_width_ns: Count | None
    why_not: str | None


class Together(TypedDict):
    """How the clocks of several files lie to each other, and what comes next.

    Attributes:
        files: the files.
        contradictions: how many loops of clocks do not add up.
        findings: what is wrong within each file, the worst first.
        next: the commands that come next.
    """

    files: Sequence[Place]
    contradictions: Count
    findings: Sequence[Finding]
    next: Sequence[NextCommand]


@click.command("FILE...", cls=Command)
@click.argument("files", metavar="", nargs=-1, required=True, type=click.Path(allow_dash=True))
@partial_anyway
@limits_of_reading
@limit_options
@result_option
@json_option
def command(files: tuple[str, ...], reading: dict[str, Any], as_json: bool, **limits: Any) -> None:
    """Say what is in FILE, whether its time is right, and what to do next.

    FILE is of Perfetto; JSON of Chrome, PyTorch, ROCm and VizTracer; systrace's text; CTF (LTTng,
    barectf, Zephyr); XDF (Lab Streaming Layer); pcap, pcapng; journals (journalctl -o export);
    spans (OTLP, Jaeger); tables (CSV, Parquet, Arrow); logs (dmesg, perf script, strace, logcat,
    syslog): also compressed, in zip or tar.

    It is looked at as by `tracetime doctor`, and told in a few lines. Of several files: how their
    clocks lie to each other, as by `tracetime merge`. A file that has the name of a command is
    written ./sql.

    \b
    Examples:
      tracetime trace.pftrace
      tracetime rank0.json rank1.json
      tracetime recording.xdf --json | jq .verdict
    """
    options = {"partial": True, **reading, "domains": domains_of(limits)}
    with Progress("looking at it") as progress:
        if len(files) > 1 or _has_several(files[0], options):
            _together(files, options, progress, as_json)
            return
        with progress.follow(open_as_one(files[0], **options)) as trace:
            shown = overview(trace)
            names = trace.clocks.names
        if as_json:
            print_json(shown)
        else:
            echo("\n".join(_lines(shown, names)))


def _has_several(path: str, options: dict[str, Any]) -> bool:
    """Whether a file is an archive of more than one trace."""
    if path == "-":
        return False
    from tracetime.formats import open_archive

    archive, _ = open_archive(path, **options)
    if archive is None:
        return False
    with archive:
        return len(archive.members) > 1


def overview(trace: Trace) -> Overview:
    """Return a trace at a glance; it is read as the doctor reads it."""
    from tracetime.analysis.survey import Survey
    from tracetime.doctor import TOLERANCE_NS, findings_of

    survey = Survey(trace, TOLERANCE_NS)
    findings = findings_of(survey)
    bar = _worst_bar(survey)
    return Overview(
        trace.path,
        trace.format,
        trace.about,
        trace.trace_clock,
        sum(survey.used.values()),
        len([clock for clock in survey.used if clock.clock] or survey.used or survey.infos),
        *_span(survey),
        _verdict(survey, findings, bar),
        findings,
        bar,
        list(_next(trace, findings, survey, has_bars=bar is not None))[:_MOST_NEXT],
        trace.ROW,
    )


def _worst_bar(survey: Survey) -> WorstBar | None:
    """The widest bar of the events; None where all were read on the trace clock, or have none."""
    bars = survey.widest_bars()
    used = [one for one in survey.used if one in survey.infos and one != survey.trace_clock]
    widths = {clock: found.at_most_ns for clock in used if (found := bars.of([clock])) is not None}
    # Orders alone leave a side open.
    orders = survey.graph.state.orders.infos()
    ordered = {clock for order in orders for clock in (order.before, order.after)}
    widths |= dict.fromkeys((ordered - survey.infos.keys()) & survey.used.keys())
    widths.pop(survey.trace_clock, None)
    if not widths:
        return None
    clock = max(widths, key=lambda one: INT64_MAX if widths[one] is None else widths[one] or 0)
    assumed_ns = survey.graph.state.domain(clock).assumed_half_width_ns
    return WorstBar(clock, widths[clock], assumed_ns, sum(not bars.has(one) for one in used))


def _span(survey: Survey) -> tuple[int | None, int | None]:
    """The trace times of the first and the last event that has one."""
    from tracetime.clocks.int_arrays import is_any_of
    from tracetime.errors import ONE_SIDED, PLACED, RESOLVED

    counted = survey.counted
    placed = is_any_of(counted.status, (RESOLVED, ONE_SIDED))
    if not placed.any():
        placed = is_any_of(counted.status, PLACED)
    if not placed.any():
        return None, None
    return int(counted.least_ns[placed].min()), int(counted.most_ns[placed].max())


def _verdict(survey: Survey, findings: Sequence[Finding], bar: WorstBar | None) -> Verdict:
    severities = {finding.severity for finding in findings}
    if "error" in severities:
        return "wrong"
    if "warning" in severities:
        return "doubtful"
    is_open = bar is not None and bar.half_width_ns is None
    return "right" if len(survey.infos) > 1 and not is_open else "unchecked"


def _next(
    trace: Trace, findings: Sequence[Finding], survey: Survey, has_bars: bool
) -> Iterator[NextCommand]:
    """The commands that may come next, the most useful first."""
    from tracetime.doctor.finding import faults

    path = shlex.quote(trace.path if trace.path != "-" else "FILE")
    stem = (
        shlex.quote(Path(trace.path).name.split(".")[0] or "trace") if path != "FILE" else "trace"
    )
    partial = "" if trace.truncated is None else " --partial"

    def typed(name: str, more: str, why: str) -> NextCommand:
        return NextCommand(f"tracetime {name} {path}{more}", why)

    if any(finding.severity != "info" for finding in findings):
        yield typed("doctor", "", "why, and what to do")
    elif faults(findings):
        yield typed("doctor", " -v", "why, and what to do")
    if sum(survey.used.values()) < max(
        (info.snapshots for info in survey.infos.values()), default=0
    ):
        yield typed("clocks", partial, "its clocks, and their ties")
        yield typed("report", f" -o {stem}.html{partial}", "pictures of its clocks")
    elif trace.has_slices:
        is_better = has_bars and not (findings and findings[0].code in _NOT_BY_BAKE)
        if trace.perfetto_reads and (trace.baked_by or not is_better):
            yield typed("open", partial, "in Perfetto")
        else:
            why = "in Perfetto, at better times" if is_better else "in Perfetto"
            yield typed("bake", f" -o {stem}-baked.pftrace{partial}", why)
        yield typed("sql", f' "{_LONGEST}"{partial}', "what took longest")
    table = f"{stem}-events" if Path(trace.path).suffix == ".parquet" else stem
    if has_bars:
        bars = f" -o {table}.parquet --policy tube{partial}"
        yield typed("convert", bars, "a table, with error bars")
    else:
        with_names = f" -o {table}.parquet --with-names{partial}"
        yield typed("convert", with_names, "a table of all events")
    yield typed("report", f" -o {stem}.html{partial}", "pictures of its clocks")
    yield typed("clocks", partial, "its clocks, and their ties")


def _lines(shown: Overview, names: Mapping[ClockId, str]) -> Iterator[str]:
    """The overview in lines, `_MOST_LINES` at most."""
    span = ""
    if shown.first_ns is not None and shown.last_ns is not None:
        span = f" over {duration(shown.last_ns - shown.first_ns)}"
    events = count(shown.events, shown.row) if shown.events else f"snapshots, no {shown.row}s,"
    what = f"{events} of {count(shown.clocks, 'clock')}{span}"
    yield f"{printable(shown.trace)}: {shown.format}, {what}"
    if shown.about:
        yield f"It is of {printable(shown.about, _LONGEST_ABOUT)}."
    findings = [one.with_names(names) for one in shown.findings]
    yield f"Is its time right? {_answer(shown, findings)}."
    bad = [one for one in findings if one.severity != "info"]
    others = 3 + bool(shown.about) + (shown.worst_bar is not None) + len(shown.next)
    yield from _finding_lines(bad, _MOST_LINES - others)
    if shown.worst_bar is not None:
        clock, width, assumed_ns, left_out = shown.worst_bar
        text = half_width(float("nan") if width is None else width)
        more = f"; {count(left_out, 'more clock')} not looked at" if left_out else ""
        name = printable(names.get(clock) or str(clock))
        if assumed_ns and width is not None:
            name += f"; {half_width(assumed_ns)} of it assumed"
        if any(one.code == "events-of-another-clock" for one in findings):
            more += "; none holds for the events of another clock"
        yield f"The widest error bar is {text} ({name}){more}."
    yield from _next_lines(shown.next)


def _finding_lines(bad: Sequence[Finding], room: int) -> Iterator[str]:
    """The worst findings, their titles in full where so many lines have room for them."""
    columns = shutil.get_terminal_size().columns
    more = len(bad) - _MOST_FINDINGS
    for left, finding in zip(range(min(len(bad), _MOST_FINDINGS) - 1, -1, -1), bad, strict=False):
        lines = textwrap.wrap(
            f"{finding.severity}: {printable(finding.title, _LONGEST_TITLE)} [{finding.code}]",
            columns - 1,
            initial_indent="  ",
            subsequent_indent="    ",
            max_lines=max(room - left - (more > 0), 1),
            placeholder=f"… [{finding.code}]",
            break_on_hyphens=False,
        )
        room -= len(lines)
        yield from lines
    if more > 0:
        yield f"  and {more:,} more"


def _answer(shown: Overview, findings: Sequence[Finding]) -> str:
    """Whether the time of a trace is right, in words."""
    from tracetime.doctor.finding import faults
    from tracetime.doctor.finding import verdict as in_words

    found = in_words(findings)
    has_faults = bool(faults(findings))
    match shown.verdict:
        case "wrong":
            return f"No: {found}"
        case "doubtful":
            return f"Perhaps not: {found}"
        case "unchecked":
            said = f"Perhaps: {found}" if has_faults else "Nothing speaks against it"
            why = "it has no second clock to check it by"
            return f"{said}; {why if shown.worst_bar is None else 'how far off it is, is open'}"
        case "right":
            return f"{'Mostly' if has_faults else 'Yes'}: {found}"


def _next_lines(commands: Sequence[NextCommand]) -> Iterator[str]:
    yield "Next:"
    widest = max(len(one.why) for one in commands)
    for one in commands:
        yield f"  {one.why.ljust(widest)}  {printable(one.command)}"


def _together(
    files: Sequence[str], options: dict[str, Any], progress: Progress, as_json: bool
) -> None:
    """Say how the clocks of several files lie to each other, and what is wrong within each."""
    from tracetime.doctor import TOLERANCE_NS, within
    from tracetime.doctor.finding import rank
    from tracetime.merging.merge import merge
    from tracetime.merging.one_trace import each_input

    report = merge(files, **options, opened=progress.follow)
    findings = sorted(within(each_input(files, **options), TOLERANCE_NS), key=rank)
    following = list(_next_together(files, report))
    if as_json:
        places = [
            Place(file.name, file.offset_ns, file.worst_half_width_ns, file.why_not)
            for file in report.files
        ]
        facts: Together = {
            "files": places,
            "contradictions": len(report.contradictions),
            "findings": findings,
            "next": following,
        }
        print_json(facts)
    else:
        lines, bad = list(_lines_together(report)), [f for f in findings if f.severity != "info"]
        lines += _finding_lines(bad, _MOST_LINES - len(lines) - 1 - len(following))
        echo("\n".join((*lines, *_next_lines(following))))


def _lines_together(report: MergeReport) -> Iterator[str]:
    from tracetime.commands.merge import contradictions, place

    for file in report.files[:_MOST_FILES]:
        yield f"{printable(file.name)}: {place(file, report)}"
    if len(report.files) > _MOST_FILES:
        yield f"and {count(len(report.files) - _MOST_FILES, 'more file')}"
    wrong = list(contradictions(report))
    yield from (f"contradiction: {line}" for line in wrong[:1])
    if len(wrong) > 1:
        yield f"and {count(len(wrong) - 1, 'more contradiction')}"


def _next_together(files: Sequence[str], report: MergeReport) -> Iterator[NextCommand]:
    every = " ".join(map(shlex.quote, files))
    if report.is_tied:
        why = "one Perfetto trace of them"
        yield NextCommand(f"tracetime merge {every} -o merged.pftrace", why)
        ends = " ".join(shlex.quote(file.name) for file in report.files[:2])
        yield NextCommand(f"tracetime merge {every} --explain {ends}", "what ties these two")
    else:
        yield NextCommand(f"tracetime merge {every}", "why not, and what would tie them")
    yield NextCommand(f"tracetime doctor {every}", "what is wrong within each")
    if not report.is_tied and len(files) > 1:
        for file in files[:2]:
            yield NextCommand(f"tracetime clocks {shlex.quote(file)}", "its clocks")
