"""`tracetime calibrate`: the clocks of this machine, and how exactly they can be read together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final

import click

from tracetime.commands import CHECK_FAILED, DONE
from tracetime.commands.options import Seconds, clocks_option, json_option, reference_option
from tracetime.commands.show import console, print_json, print_table, print_text
from tracetime.commands.terminal import echo
from tracetime.text import count, duration

if TYPE_CHECKING:
    from rich.console import Console

    from tracetime.capture.calibrate import Calibration
    from tracetime.capture.sample import Finding

_ANSWERS: Final = {True: "yes", False: "no", None: "?"}


@click.command("calibrate")
@clocks_option("look at")
@click.option(
    "-n",
    "--snapshots",
    type=click.IntRange(1, 1_000_000),
    default=1000,
    show_default=True,
    help="How often to read them together.",
)
@click.option(
    "--seconds",
    type=Seconds(0, 3600),
    default=1.0,
    show_default=True,
    help="The time to spread that over, so that drift can show: 500ms, or seconds without a unit.",
)
@reference_option
@click.option(
    "--check",
    is_flag=True,
    help="Check what devices promise of their calibrated timestamps instead; exit code 1 if an "
    "error bar cannot rest on it.",
)
@json_option
def command(
    clocks: tuple[str, ...],
    snapshots: int,
    seconds: float,
    reference: str | None,
    check: bool,
    as_json: bool,
) -> int:
    """Show this machine's clocks, and how well they are read.

    Each clock is read between two readings of the reference: half of the time between these, and
    what the clocks step by, is the half-width, which bounds how far apart the two readings are.

    \b
    Examples:
      tracetime calibrate
      tracetime calibrate --clock MONOTONIC --clock vulkan:0 --seconds 10
      tracetime calibrate --check
      tracetime calibrate --json | jq '.clocks[] | [.name, .half_width_ns.median]'
    """
    if check:
        return _check(clocks, as_json)
    from tracetime.capture.calibrate import calibrate

    found = calibrate(clocks or None, snapshots, reference=reference, seconds=seconds)
    if as_json:
        print_json(found.to_dict())
        return DONE
    screen = console()
    taken = count(snapshots, "snapshot")
    echo(f"{taken} over {seconds:g} s, against {found.reference}.")
    columns = ("clock", ">tick", ">read", ">half-width", ">p99", ">ppm", ">ahead by")
    print_table(screen, "Clocks", columns, _rows(found))
    for clock in found.clocks:
        if clock.note is not None:
            print_text(screen, f"{clock.short_name}: {clock.note}", hanging="  ")
    for entry in found.unavailable:
        print_text(screen, f"not to be had: {entry.name}: {entry.reason}", hanging="  ")
    _print_findings(screen, found.findings)
    return DONE


def _check(clocks: tuple[str, ...], as_json: bool) -> int:
    """Check promises; the exit code."""
    from tracetime.capture.promise_checks import check

    checked, missing = check(clocks or None)
    code = CHECK_FAILED if any(one.fails for one in checked) else DONE
    if as_json:
        told = [one.to_dict() for one in checked]
        print_json({"checked": told, "unavailable": [entry._asdict() for entry in missing]})
        return code
    screen = console()
    for one in checked:
        kept = sum(promise.holds is True for promise in one.promises)
        named = one.name if one.label == one.name else f"{one.short_name}, {one.label}"
        title = f"{named}: {kept} of {count(len(one.promises), 'promise')} hold{'s' * (kept == 1)}"
        print_table(
            screen,
            title,
            ("holds", "promise"),
            [(_ANSWERS[promise.holds], promise.says) for promise in one.promises],
        )
        for promise in one.promises:
            _print_findings(screen, promise.findings)
            if promise.error is not None:
                print_text(screen, f"not checked: {promise.says}: {promise.error}", hanging="  ")
    if len(checked) == 1:
        echo("\nNo device was checked.")
    for entry in missing:
        print_text(screen, f"not to be had: {entry.name}: {entry.reason}", hanging="  ")
    return code


def _print_findings(screen: Console, findings: Iterable[Finding]) -> None:
    for finding in findings:
        print_text(screen, f"{finding.severity}: {finding.clock}: {finding.message}", hanging="  ")


def _rows(found: Calibration) -> Iterator[tuple[str, ...]]:
    for clock in found.clocks:
        half: Any = clock.half_width_ns
        yield (
            clock.short_name,
            duration(round(clock.tick_ns), decimals=True),
            duration(clock.read_ns, decimals=True),
            "reference" if half is None else duration(half.median, decimals=True),
            "" if half is None else duration(half.p99, decimals=True),
            "" if clock.drift_ppm is None else f"{clock.drift_ppm:+.3f}",
            "" if half is None else duration(clock.offset_ns, decimals=True),
        )
