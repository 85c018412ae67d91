"""`tracetime merge`: put traces of several files on one timeline."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import click

from tracetime.commands.show import console, print_text
from tracetime.text import duration, printable, signed_duration

if TYPE_CHECKING:
    from rich.console import Console

    from tracetime.clocks.ids import ClockId
    from tracetime.merging.report import FileReport, MergeReport


@click.command("merge")
@click.argument("traces", nargs=-1, required=True, type=click.Path())
@click.option(
    "-o", "--output", "out", type=click.Path(), help="The zip archive to write; without, none."
)
@click.option("--sync", multiple=True, help="A known offset: A:CLOCK=B:CLOCK+OFFSET+-HALF.")
@click.option("--match", multiple=True, help="Messages: send=EVENT recv=EVENT key=ARG,ARG.")
@click.option("--together", multiple=True, help="Collectives: name=SLICE key=ARG,ARG.")
@click.option("--same", multiple=True, help="A,B: these files are of one boot of one machine.")
@click.option("--different", multiple=True, help="A,B: these files are not.")
def command(
    traces: tuple[str, ...],
    out: str | None,
    sync: tuple[str, ...],
    match: tuple[str, ...],
    together: tuple[str, ...],
    same: tuple[str, ...],
    different: tuple[str, ...],
) -> None:
    """Put TRACES of several clocks on one timeline.

    Say what ties them to each other, and how far off that may be.

    With -o, write an archive of the files as they are, with a manifest by which Perfetto shows them
    on one timeline. It holds one constant offset a file, and so drops their drift; what that costs
    is printed.

    \b
    Examples:
      tracetime merge rank0.json rank1.json
      tracetime merge a.pftrace b.pftrace -o merged.zip
      tracetime merge a.gz b.gz --sync a.gz:REALTIME=b.gz:REALTIME+250ms+-1ms
    """
    from tracetime.merging.merge import merge

    screen = console()
    report = merge(
        traces,
        out,
        sync=sync,
        match=match,
        together=together,
        same=same,
        different=different,
        before_writing=partial(_print, screen),
    )
    report.check_tied()
    if out is not None:
        worst = max(file.constant_error_ns or 0 for file in report.files)
        text = f"{printable(out)}: constant offsets; dropping the drift costs up to "
        print_text(screen, text + duration(worst), hanging="  ")


def _print(screen: Console, report: MergeReport) -> None:
    for file in report.files:
        for line in _lines(file, report):
            print_text(screen, line, hanging="  ")
    for decision in report.boots:
        names = [printable(report.files[n].name) for n in (decision.one, decision.other)]
        what = "one boot" if decision.same else "different machines or boots"
        print_text(screen, f"{' and '.join(names)}: {what}: {decision.reason}", hanging="  ")
    for one in report.contradictions:
        text = f"{one.src} and {one.dst} miss each other by {duration(one.gap_ns)}"
        print_text(screen, f"contradiction: {text}", hanging="  ")
    for wrong in report.wrong_orders:
        ends = " and ".join(printable(_file_of(clock, report)) for clock in (wrong.src, wrong.dst))
        text = f"between {ends} something ends before it begins"
        if wrong.size_ns is not None:
            text += f", by {duration(min(map(abs, wrong.size_ns)))} at least"
        print_text(screen, f"contradiction: {text}", hanging="  ")


def _file_of(clock: ClockId, report: MergeReport) -> str:
    return next((file.name for file in report.files if file.clock == clock), str(clock))


def _lines(file: FileReport, report: MergeReport) -> list[str]:
    name = printable(file.name)
    lines = [f"{name}: {_place(file, report)}"]
    lines += [f"  tied by {printable(tie.said)}" for tie in file.ties]
    return lines + [f"  not by {what}" for what in file.looked_for]


def _place(file: FileReport, report: MergeReport) -> str:
    if file.offset_ns is None:
        return f"nothing ties it to the first file: {printable(file.why_not or '')}"
    if file.clock == report.clock:
        return "on the clock of the first file"
    if file.half_width_ns is None or file.worst_half_width_ns is None:
        bar = "messages go one way only: the bar is open"
    else:
        bar = f"+- {duration(file.half_width_ns)}, +- {duration(file.worst_half_width_ns)} at worst"
    drift = f"{file.drift_ppm:+.3f} ppm"
    first = printable(report.files[0].name)
    return f"{signed_duration(file.offset_ns)} to {first}, {drift}, {bar}"
