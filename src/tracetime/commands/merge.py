"""`tracetime merge`: put traces of several files on one timeline."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final, TypedDict

import click

from tracetime.commands.help import Command
from tracetime.commands.limits import domains_of, limit_options
from tracetime.commands.options import json_option, reading_options
from tracetime.commands.progress import Progress
from tracetime.commands.show import console, print_json, print_table, print_text, size
from tracetime.commands.terminal import echo
from tracetime.errors import UsageError
from tracetime.text import count, duration, half_width, printable, signed_duration
from tracetime.verbs.event_baking.reasons import REASONS

if TYPE_CHECKING:
    from rich.console import Console

    from tracetime.clocks.ids import ClockId
    from tracetime.merging.output_report import WrittenFile, WrittenTrace
    from tracetime.merging.report import FileReport, MergeReport
    from tracetime.merging.steps import ClockStep
    from tracetime.trace.open_options import OpenOptions

_PROCESSES: Final = 2
"""More would wait for the one that writes."""

_MOST_PAIRS: Final = 6
"""So many pairs of files are named with one reason; --json names all."""

_MOST_STEPS: Final = 8
"""So many steps are told one by one; the table has their number."""

_FAR_NS: Final = 24 * 3600 * 10**9
"""Files that lie farther apart are hardly of one time."""

_MOST_PIDS: Final = 4
"""So many pids are named."""


_MOST_NAMES: Final = 2
"""So many files that one is tied with are named in its row."""

_TIES: Final = {
    "clocks": "clocks of one boot",
    "sync": "a given offset",
    "wall_clocks": "wall clocks",
    "messages": "{n} messages",
    "together": "{n} collectives",
}


class Merge(TypedDict):
    """The places of files on one timeline, and their ties. It is printed before an error about
    files that nothing ties, too.

    Attributes:
        out: the file to write; null without -o.
    """

    out: str | None


@click.command("merge", cls=Command)
@click.argument("traces", nargs=-1, required=True, type=click.Path())
@click.option(
    "-o", "--output", "out", type=click.Path(), help="Write .pftrace, .zip or .html (a report)."
)
@click.option("--sync", multiple=True, help="A known offset: A:CLOCK=B:CLOCK+OFFSET+-HALF.")
@click.option(
    "--at", metavar="NAME", help="Align files: the first event NAME of each is one instant."
)
@click.option("--match", multiple=True, help="Messages: send=EVENT recv=EVENT key=ARG,ARG.")
@click.option("--together", multiple=True, help="Collectives: name=SLICE key=ARG,ARG.")
@click.option("--same", multiple=True, help="A,B: these files are of one boot of one machine.")
@click.option("--different", multiple=True, help="A,B: these files are not.")
@click.option(
    "--collective-ends",
    metavar="TIME",
    help="Take collectives to end within TIME: 50us.",
)
@click.option(
    "--assume-wall-clock",
    metavar="HALF",
    help="Take wall clocks for right within HALF: 20ms.",
)
@click.option("--strip", is_flag=True, help="Keep no error bars, boot ids and host names.")
@click.option("--error-tracks", is_flag=True, help="Add tracks of how far off events can be.")
@click.option(
    "--explain", nargs=2, metavar="A B", help="Tell the evidence between these two files, too."
)
@reading_options
@limit_options
@json_option
# long: a line for each option, twice
def command(  # noqa: PLR0913  a parameter for each option
    traces: tuple[str, ...],
    out: str | None,
    sync: tuple[str, ...],
    match: tuple[str, ...],
    together: tuple[str, ...],
    same: tuple[str, ...],
    different: tuple[str, ...],
    collective_ends: str | None,
    assume_wall_clock: str | None,
    at: str | None,
    strip: bool,
    error_tracks: bool,
    explain: tuple[str, str] | None,
    reading: dict[str, Any],
    as_json: bool,
    **limits: Any,
) -> None:
    """Put TRACES of several clocks on one timeline.

    Say what ties them, and how far off that may be.

    With -o NAME.pftrace, write one Perfetto trace of all events, on BOOTTIME of the first file; the
    drift of each file is corrected all along.

    With -o NAME.zip, write an archive of the files as they are, with a manifest of one constant
    offset each, for Perfetto; what dropping their drift costs is printed.

    \b
    Examples:
      tracetime merge rank0.json rank1.json -o ranks.pftrace
      tracetime merge a.gz b.gz --sync a.gz:REALTIME=b.gz:REALTIME+250ms+-1ms
      tracetime merge a.json b.json --at start -o aligned.pftrace
      tracetime merge a.json b.json c.json --explain a.json c.json
    """
    from tracetime.merging.merge import merge
    from tracetime.trace.open_options import OpenOptions

    is_page = out is not None and out.endswith(".html")
    if is_page and (strip or error_tracks):
        raise UsageError("--strip and --error-tracks are for a trace: give -o NAME.pftrace")
    with Progress("merging") as progress, TemporaryDirectory(prefix="tracetime-") as folder:
        merged = Path(folder) / "merged.pftrace"
        report = merge(
            traces,
            merged if is_page else out,
            sync=sync,
            match=match,
            together=together,
            same=same,
            different=different,
            collective_ends=collective_ends,
            assume_wall_clock=assume_wall_clock,
            at=at,
            strip=strip,
            error_tracks=error_tracks,
            explain=explain,
            **reading,
            domains=domains_of(limits),
            before_writing=partial(_print_json, out) if as_json else partial(_print, console()),
            opened=progress.follow,
            processes=_PROCESSES if sys.platform == "linux" else 0,
        )
        if is_page:
            options = OpenOptions(**reading, domains=tuple(domains_of(limits)))
            _write_page(merged, traces, str(out), options, as_json)
            return
    report.check_tied()
    _print_end(out, report, as_json)


def _write_page(
    merged: Path, traces: tuple[str, ...], out: str, options: OpenOptions, as_json: bool
) -> None:
    """Write the report on what is merged, and print its verdict."""
    from tracetime.merging.one_trace import open_merged
    from tracetime.reporting import report

    with open_merged(merged, traces, options) as opened:
        page = report(opened, out)
    if not as_json:
        print_text(console(), f"{printable(out)}: {page.verdict}", hanging="  ")


def _print_end(out: str | None, report: MergeReport, as_json: bool) -> None:
    """Print the outcome of writing."""
    if as_json:
        if report.written is not None:
            _print_facts(out, report)
    elif report.written is not None:
        _print_written(console(), report.written)
    elif out is not None:
        worst = max(file.constant_error_ns or 0 for file in report.files)
        text = f"{printable(out)}: constant offsets; dropping the drift costs up to "
        print_text(console(), text + duration(worst), hanging="  ")


def _print_json(out: str | None, report: MergeReport) -> None:
    """Print the report, unless it is to have the outcome of writing, too."""
    if out is None or not out.endswith(".pftrace") or not report.is_tied:
        _print_facts(out, report)


def _print_facts(out: str | None, report: MergeReport) -> None:
    facts: Merge = {"out": out}
    print_json(facts | report.to_dict())


def _print_written(screen: Console, written: WrittenTrace) -> None:
    text = f"{printable(written.out)}: events on BOOTTIME by the tube policy"
    print_text(screen, f"{text} ({size(written.bytes)})", hanging="  ")
    for file in written.files:
        for said in _counts(file):
            print_text(screen, f"{printable(file.name)}: {said}", hanging="  ")


def _counts(file: WrittenFile) -> list[str]:
    """The notes for a reader of the output on a file, a line each."""
    lines = (
        (file.unresolved, "event", "without a trace time: Perfetto leaves them out"),
        (file.early, "event", "before time 0 of the output or of the file: Perfetto takes none"),
        *((n, "event", f"left out: {REASONS[why]}") for why, n in file.left_out_by.items()),
        (file.carried, "event", "that no clock relates are where the file itself has them"),
        (file.forced, "end", "of slices moved beyond their bars, so that they nest as before"),
        (file.kept, "event", "kept in the order of the file, within their bars"),
        (file.reversed, "event", "before one that is earlier in the file: the bars exclude it"),
        (file.rounded, "timestamp", "rounded: the field holds no more"),
        (file.set_aside, "item", "without a trace time set aside: their clock is tied now"),
    )
    return [f"{count(n, what)} {said}" for n, what, said in lines if n]


def _print(screen: Console, report: MergeReport) -> None:
    for text in report.left_out:
        echo(f"note: left out: {text}", err=True)
    for name, value in report.attributes:
        print_text(screen, f"{printable(name)}: {printable(str(value))}", hanging="  ")
    _print_files(screen, report)
    for line in _boots(report):
        print_text(screen, line, hanging="  ")
    for line in _shared_pids(report):
        print_text(screen, line, hanging="  ")
    for line in _far_apart(report):
        print_text(screen, f"warning: {line}", hanging="  ")
    for line in contradictions(report):
        print_text(screen, f"contradiction: {line}", hanging="  ")
    for step in report.steps[:_MOST_STEPS]:
        print_text(screen, _step(step, report), hanging="  ")
    if len(report.steps) > _MOST_STEPS:
        echo(f"and {count(len(report.steps) - _MOST_STEPS, 'step')} more")
    for one in report.suspends:
        name = printable(report.files[one.file].name)
        text = (
            f"suspend: the machine of {name} sleeps while its clock reads {one.from_ns} to "
            f"{one.to_ns}: BOOTTIME may count that wrongly, by up to a second, and bars to other "
            "machines rest on what was read on the same side alone"
        )
        print_text(screen, text, hanging="  ")
    for line in report.without_ties if report.is_tied else ():
        print_text(screen, f"no ties by {line}", hanging="  ")
    for line in "" if report.explained is None else str(report.explained).split("\n"):
        print_text(screen, line, hanging="      ")


def _far_apart(report: MergeReport) -> Iterator[str]:
    """The given offsets that put files of different times on one timeline."""
    for tie in dict.fromkeys(tie for file in report.files for tie in file.ties):
        if tie.apart_ns > _FAR_NS:
            far = f"puts their times {duration(tie.apart_ns)} apart: is it right?"
            yield f"{printable(tie.said)} {far}"


def _shared_pids(report: MergeReport) -> Iterator[str]:
    """The processes that may be one in the output although their names differ."""
    for shared in report.shared_pids[:_MOST_PIDS]:
        one, other = (printable(report.files[n].name) for n in (shared.one, shared.other))
        yield (
            f"pid {shared.pid} is {printable(shared.one_name)} in {one} and "
            f"{printable(shared.other_name)} in {other}: the output may show one process; if these "
            f"are two machines or boots, give --different {one},{other}"
        )
    more = len(report.shared_pids) - _MOST_PIDS
    if more > 0:
        yield f"and {count(more, 'pid')} more"


def contradictions(report: MergeReport) -> Iterator[str]:
    """The contradictions, once for each two clocks or files, with the worst of each."""
    loops: dict[str, list[int]] = {}
    for one in report.contradictions:
        ends = " and ".join(printable(_file_of(clock, report)) for clock in (one.src, one.dst))
        loops.setdefault(ends, []).append(one.gap_ns)
    for ends, gaps in loops.items():
        places = f" in {len(gaps)} places, at worst" if len(gaps) > 1 else ""
        yield f"{ends} miss each other{places} by {duration(max(gaps))}"
    wrong: dict[str, list[int | None]] = {}
    for order in report.wrong_orders:
        ends = " and ".join(printable(_file_of(clock, report)) for clock in (order.src, order.dst))
        size = None if order.size_ns is None else min(map(abs, order.size_ns))
        wrong.setdefault(ends, []).append(size)
    for ends, sizes in wrong.items():
        times = f" {len(sizes)} times" if len(sizes) > 1 else ""
        worst = max((size for size in sizes if size is not None), default=None)
        by = "" if worst is None else f", by {duration(worst)} at least"
        if worst is not None and len(sizes) > 1:
            by = f", at worst by {duration(worst)} at least"
        yield f"between {ends} something ends before it begins{times}{by}"


def _step(step: ClockStep, report: MergeReport) -> str:
    name, where = (printable(report.files[n].name) for n in (step.file, step.at_file))
    size = "by an unknown amount"
    if step.least_ns is not None and step.most_ns is not None:
        size = f"by {signed_duration(step.least_ns)} to {signed_duration(step.most_ns)}"
    others = [printable(report.files[n].name) for n in step.against]
    seen = others[0] if len(others) == 1 else f"{len(others)} other files"
    return (
        f"step: the clock of {name} jumps {size} against {seen}, "
        f"while that of {where} reads {step.from_ns} to {step.to_ns}"
    )


def _boots(report: MergeReport) -> Iterator[str]:
    """The files of one boot, and those that are not; of many for one reason their number."""
    decided: dict[tuple[bool, str], list[str]] = {}
    for decision in report.boots:
        files = [report.files[n] for n in (decision.one, decision.other)]
        if decision.same or not any(file.empty for file in files):
            names = " and ".join(printable(file.name) for file in files)
            decided.setdefault((decision.same, decision.reason), []).append(names)
    for (same, reason), pairs in decided.items():
        what = "one boot" if same else "different machines or boots"
        named = pairs if len(pairs) <= _MOST_PAIRS else [f"{len(pairs):,} pairs of files"]
        for pair in named:
            yield f"{pair}: {what}: {reason}"


def _file_of(clock: ClockId, report: MergeReport) -> str:
    return next((file.name for file in report.files if file.clock == clock), str(clock))


def place(file: FileReport, report: MergeReport) -> str:
    """The place of a file on the timeline, in words."""
    from tracetime.merging.pair_evidence import drift_text

    if file.empty:
        return "it has no event on its trace clock: nothing of it is placed or written"
    if file.offset_ns is None:
        to = report.trace_time or "the first file"
        return f"nothing ties it to {to}: {printable(file.why_not or '')}"
    if file.clock == report.clock:
        return "on the clock of the first file" if report.trace_time is None else "on trace time"
    if file.half_width_ns is None or file.worst_half_width_ns is None:
        why = (
            "nothing ties it on one side of a suspend"
            if report.suspends
            else "messages go one way only"
        )
        bar = f"{why}: the bar is open"
    else:
        bar = f"{half_width(file.half_width_ns)} ({half_width(file.worst_half_width_ns)} at worst)"
    drift = drift_text(file.drift_ppm, file.drift_half_ppm)
    first = report.trace_time or printable(report.files[0].name)
    side = "behind" if file.offset_ns > 0 else "ahead of"
    text = f"its clock is {duration(abs(file.offset_ns))} {side} {first}, {bar}; drift {drift}"
    if file.read_twice:
        text += (
            f"; its clock was set back and may have read {file.read_twice} of 257 instants twice"
        )
    return text


def _print_files(screen: Console, report: MergeReport) -> None:
    """Print a row for each file; below them what there is to say of some."""
    columns = (
        "file",
        "machine",
        "tied with",
        "by",
        ">offset",
        ">bar",
        ">at most",
        ">drift",
        ">steps",
    )
    print_table(screen, "", columns, report.files, partial(_cells, report), len(report.files))
    echo()
    ties = {tie for file in report.files for tie in file.ties}
    for tie in sorted(ties) if len(ties) <= _MOST_PAIRS else ():
        ends = " and ".join(printable(report.files[n].name) for n in (tie.one, tie.other))
        print_text(screen, f"{ends}: tied by {printable(tie.said)}", hanging="  ")
    for file in report.files:
        for said in _said(file, report):
            print_text(screen, f"{printable(file.name)}: {said}", hanging="  ")
        for what in file.looked_for:
            print_text(screen, f"  not by {what}", hanging="  ")


def _cells(report: MergeReport, file: FileReport) -> tuple[str, ...]:
    number = report.files.index(file)
    others = [report.files[tie.one + tie.other - number].name for tie in file.ties]
    others = list(dict.fromkeys(others))
    kinds: Counter[str] = Counter()
    for tie in file.ties:
        kinds[tie.kind] += tie.ties
    steps = sum(step.file == number for step in report.steps)
    return (
        printable(file.name),
        str(file.clock.machine),
        printable(", ".join(others))
        if len(others) <= _MOST_NAMES
        else f"{printable(others[0])} and {len(others) - 1} more",
        ", ".join(_TIES[kind].format(n=f"{n:,}") for kind, n in kinds.items()),
        *_place_cells(file, report),
        f"{steps:,}" if steps else "",
    )


def _place_cells(file: FileReport, report: MergeReport) -> tuple[str, str, str, str]:
    """The offset of a file, its median bar, the widest, and its drift."""
    from tracetime.merging.pair_evidence import drift_text

    if file.offset_ns is None:
        return ("no events" if file.empty else "not tied"), "", "", ""
    if file.clock == report.clock:
        return "timeline", "", "", ""
    median, widest = (
        "open" if half is None else half_width(half)
        for half in (file.half_width_ns, file.worst_half_width_ns)
    )
    drift = drift_text(file.drift_ppm, file.drift_half_ppm)
    return signed_duration(file.offset_ns), median, widest, drift.removeprefix("drift ")


def _said(file: FileReport, report: MergeReport) -> Iterator[str]:
    """What there is to say of a file beside its row."""
    if file.truncated is not None:
        yield f"reading stopped early: {file.truncated}"
    if file.empty:
        yield "it has no event on its trace clock: nothing of it is placed or written"
    elif file.offset_ns is None:
        to = report.trace_time or "the first file"
        yield f"nothing ties it to {to}: {printable(file.why_not or '')}"
    elif file.half_width_ns is None:
        why = "messages go one way only"
        if report.suspends:
            why = "nothing ties it on one side of a suspend"
        yield f"{why}: the bar is open"
    if file.read_twice:
        yield f"its clock was set back and may have read {file.read_twice} of 257 instants twice"
