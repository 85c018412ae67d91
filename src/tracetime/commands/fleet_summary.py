"""`tracetime fleet summary`: the clocks of all traces of a data set, by model of machine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypedDict

import click

from tracetime.commands import CHECK_FAILED, DONE
from tracetime.commands.help import Command
from tracetime.commands.options import json_option
from tracetime.commands.output import file_for, output_option
from tracetime.commands.show import console, print_json, print_table, print_text, size
from tracetime.commands.terminal import echo
from tracetime.errors import UsageError
from tracetime.text import count, duration, printable

if TYPE_CHECKING:
    from rich.console import Console

    from tracetime.clocks.json_types import Count
    from tracetime.fleet.figures import DataSetSummary

_MOST_LINES: Final = 25
"""Of each table: about a screen. The page and --json have all."""

_MOST_MODELS, _MOST_PAIRS = 5, 10
"""Models whose pairs are printed, and pairs of each: those with most traces come first."""


@click.command("summary", cls=Command)
@click.argument("dataset", metavar="DATASET")
@click.option(
    "--against",
    metavar="DATASET",
    help="List what is worse than in this data set: bars, rates, jumps, findings, models that are "
    "gone.",
)
@click.option(
    "--fail-on",
    type=click.Choice(["error", "warning", "worse"]),
    help="Exit with 1 if a trace has a finding of this severity, or a worse one; or if anything is "
    "worse than in --against.",
)
@output_option("Write an HTML page to this file; - is standard output.")
@json_option
def command(
    dataset: str, against: str | None, fail_on: str | None, out: str | None, as_json: bool
) -> int:
    """Sum up how the clocks of many traces run.

    DATASET has the tables of `tracetime fleet doctor`. For each model of machine and pair of clocks
    there are quantiles of drift, wander and the worst bar over all traces; and there are the
    traces that are far from the others.

    \b
    Examples:
      tracetime fleet summary fleet
      tracetime fleet summary fleet -o summary.html
      tracetime fleet summary tonight --against yesterday --fail-on worse
    """
    from tracetime import fleet

    if fail_on == "worse" and against is None:
        raise UsageError("--fail-on worse needs another data set: name it by --against")
    if out == "-" and as_json:
        raise UsageError("--json writes to standard output, as -o - does the page")
    summary = fleet.summary(dataset, against=against)
    written = 0
    if out is not None:
        with file_for(out, ".html") as file:
            written = fleet.summary_page(summary, file)
    if as_json:
        page: Page = {"report": out, "bytes": written}
        print_json(summary.to_dict() | page)
    elif out != "-":
        if out is None:
            _print(summary)
        else:
            _print_shortly(summary)
            echo(f"report: {printable(out)} ({size(written)})")
    return CHECK_FAILED if _is_failure(summary, fail_on) else DONE


class Page(TypedDict):
    """The page of the summary.

    Attributes:
        report: the page of -o that was written; null without.
        bytes: the size of the page; 0 without.
    """

    report: str | None
    bytes: Count


def _is_failure(summary: DataSetSummary, fail_on: str | None) -> bool:
    if fail_on == "worse":
        return summary.comparison is not None and bool(summary.comparison.worse)
    errors = bool(summary.errors)
    return (
        errors if fail_on == "error" else fail_on == "warning" and (errors or summary.warnings > 0)
    )


def _print(summary: DataSetSummary) -> None:
    from tracetime.fleet.summary_text import common_folder, verdict

    screen = console()
    folder = common_folder(summary)
    print_text(screen, f"{printable(summary.dataset)}: {verdict(summary)}", hanging="  ")
    if folder:
        print_text(screen, f"traces are named below {printable(folder)}", hanging="  ")
    if summary.comparison is not None:
        _print_worse(screen, summary, folder)
    _print_outliers(screen, summary, folder)
    _print_findings(screen, summary, folder)
    _print_pairs(screen, summary)


def _print_shortly(summary: DataSetSummary) -> None:
    """Print what is odd in four lines: the page has all."""
    from tracetime.fleet.summary_text import measure_name, pair_name, value_text, verdict

    worse = ""
    if summary.comparison is not None:
        figures = count(len(summary.comparison.worse), "figure")
        worse = f"; {figures} worse than in {printable(summary.comparison.against)}"
    echo(f"{printable(summary.dataset)}: {verdict(summary)}{worse}")
    outliers = count(len(summary.outliers) + summary.outliers_left_out, "outlier")
    for far in summary.outliers[:1]:
        what = f"{measure_name(far.measure)} of {pair_name(far.clock, far.reference)}"
        value = value_text(far.measure, far.value)
        outliers += f", the farthest {printable(far.trace)}: {what} {value}"
    echo(outliers)
    wrong = [one for one in summary.findings if one.severity != "info"]
    codes = ", ".join(dict.fromkeys(one.code for one in wrong))
    echo(f"errors and warnings: {codes or 'none'}")
    models = [f"{printable(one.model)} ({one.traces:,})" for one in summary.models]
    more = f" and {len(models) - _MOST_MODELS:,} more" if len(models) > _MOST_MODELS else ""
    echo(f"{count(len(models), 'model')}: {', '.join(models[:_MOST_MODELS])}{more}")


def _print_worse(screen: Console, summary: DataSetSummary, folder: str) -> None:
    from tracetime.fleet.summary_text import value_text, what_is_worse

    found = summary.comparison
    assert found is not None
    rows = [
        (
            one.model,
            what_is_worse(one),
            value_text(one.measure, one.before) if one.before or one.code is None else "-",
            value_text(one.measure, one.after),
            (one.trace or "").removeprefix(folder),
        )
        for one in found.worse
    ]
    if rows:
        columns = ("model", "what", ">there", ">here", "trace")
        print_table(screen, f"Worse than in {found.against}", columns, rows, most=_MOST_LINES)
    if found.only_here:
        only = ", ".join(found.only_here)
        print_text(screen, f"not compared: only this data set has {only}", hanging="  ")


def _print_findings(screen: Console, summary: DataSetSummary, folder: str) -> None:
    traces = {one.model: one.traces for one in summary.models}
    rows: list[Any] = [
        (
            f"{one.severity} {one.code}",
            one.model,
            f"{one.traces:,} of {traces[one.model]:,}",
            "-" if one.worst_ns is None else duration(one.worst_ns),
            one.trace.removeprefix(folder),
        )
        for one in summary.findings
        if one.severity != "info"
    ]
    if rows:
        columns = ("finding", "model", ">traces", ">worst", "for example, the worst")
        print_table(screen, "Errors and warnings", columns, rows, most=_MOST_LINES)


def _print_pairs(screen: Console, summary: DataSetSummary) -> None:
    from tracetime.fleet.summary_text import pair_name, spread, worst_bar

    columns = ("pair", ">traces", "drift", "wander", "worst bar", ">jumps")
    for model in summary.models[:_MOST_MODELS]:
        rows = [
            (
                pair_name(one.clock, one.reference),
                f"{one.traces:,}",
                spread("drift_ppm", one.drift_ppm),
                spread("wander_ppm", one.wander_ppm),
                worst_bar(one),
                f"{one.jumps:,}",
            )
            for one in summary.pairs
            if one.model == model.model
        ]
        if rows:
            title = f"{model.model}: median (5 % to 95 %) over {count(model.traces, 'trace')}"
            print_table(screen, title, columns, rows, most=_MOST_PAIRS)
    more = len(summary.models) - _MOST_MODELS
    if more > 0:
        echo(f"\nand the pairs of {count(more, 'more model')} (--json has all)")


def _print_outliers(screen: Console, summary: DataSetSummary, folder: str) -> None:
    from tracetime.fleet.summary_text import measure_name, pair_name, value_text

    rows = [
        (
            one.trace.removeprefix(folder),
            one.model,
            f"{measure_name(one.measure)} of {pair_name(one.clock, one.reference)}",
            value_text(one.measure, one.value),
            value_text(one.measure, one.usual),
        )
        for one in summary.outliers
    ]
    if rows:
        columns = ("trace", "model", "measure", ">here", ">median")
        title = "Outliers: far from most traces of the model"
        print_table(screen, title, columns, rows, most=_MOST_LINES)
    if summary.outliers_left_out:
        echo(f"and {summary.outliers_left_out:,} outliers that are not as far")
