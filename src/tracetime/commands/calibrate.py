"""`tracetime calibrate`: how exactly the clocks of this machine can be read together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Annotated, Any, Final, TypedDict

import click

from tracetime.commands import CHECK_FAILED, DONE
from tracetime.commands.help import Command
from tracetime.commands.options import Seconds, clocks_option, json_option, reference_option
from tracetime.commands.output import result_option
from tracetime.commands.progress import Progress
from tracetime.commands.show import console, print_json, print_table, print_text
from tracetime.commands.terminal import echo
from tracetime.text import count, duration

if TYPE_CHECKING:
    from rich.console import Console

    from tracetime.capture.calibrate import Calibration
    from tracetime.capture.promise_checks import DeviceResult
    from tracetime.capture.sample import Finding
    from tracetime.clocks.json_types import NotEmpty
    from tracetime.sources.source import Unavailable

_ANSWERS: Final = {True: "yes", False: "no", None: "?"}


@click.command("calibrate", cls=Command)
@clocks_option("measure")
@click.option(
    "-n",
    "--snapshots",
    type=click.IntRange(1, 1_000_000),
    default=1000,
    show_default=True,
    help="How many snapshots to take.",
)
@click.option(
    "--duration",
    "--seconds",
    "seconds",
    type=Seconds(0, 3600),
    default=1.0,
    show_default=True,
    help="The time that the snapshots take in all: drift needs some. 500ms, or seconds.",
)
@reference_option
@click.option(
    "--check",
    is_flag=True,
    help="Instead check what devices promise of their calibrated timestamps; exit with 1 if a "
    "promise that error bars rest on is broken.",
)
@result_option
@json_option
def command(
    clocks: tuple[str, ...],
    snapshots: int,
    seconds: float,
    reference: str | None,
    check: bool,
    as_json: bool,
) -> int:
    """Measure how exactly this machine's clocks can be read.

    Each clock is read between two readings of the reference clock. Half of the time between these,
    plus the ticks of both clocks, is the half-width: it bounds the error of the offset. Devices are
    listed with the time domains that they can be calibrated with.

    \b
    Examples:
      tracetime calibrate
      tracetime calibrate --clock MONOTONIC --clock vulkan:0 --duration 10s
      tracetime calibrate --check
      tracetime calibrate --json | jq '.clocks[] | [.name, .half_width_ns.median]'
    """
    if check:
        return _check(clocks, as_json)
    from tracetime.capture.calibrate import calibrate

    with Progress("reading clocks", seconds):
        result = calibrate(clocks or None, snapshots, reference=reference, seconds=seconds)
    if as_json:
        print_json(result)
        return DONE
    screen = console()
    echo(f"{count(snapshots, 'snapshot')} in {seconds:g} s, against {result.reference}.")
    columns = ("clock", ">tick", ">read", ">half-width", ">p99", ">ppm", ">ahead by")
    print_table(screen, "Clocks", columns, _rows(result))
    for clock in result.clocks:
        if clock.note is not None:
            print_text(screen, f"{clock.short_name}: {clock.note}", hanging="  ")
    _print_unavailable(screen, result.unavailable)
    _print_findings(screen, result.findings)
    _print_time_domains(screen, result)
    return DONE


class Check(TypedDict):
    """Whether devices keep their promises.

    Attributes:
        checked: the host, and each device.
        unavailable: the clocks that are not available here.
    """

    checked: Annotated[list[DeviceResult], NotEmpty]
    unavailable: list[Unavailable]


def _check(clocks: tuple[str, ...], as_json: bool) -> int:
    """Check the promises of devices; return the exit code."""
    from tracetime.capture.promise_checks import check

    with Progress("checking devices"):
        checked, unavailable = check(clocks or None)
    code = CHECK_FAILED if any(clock.fails for clock in checked) else DONE
    if as_json:
        facts: Check = {"checked": checked, "unavailable": unavailable}
        print_json(facts)
        return code
    screen = console()
    for clock in checked:
        kept = sum(promise.holds is True for promise in clock.promises)
        name = clock.name if clock.label == clock.name else f"{clock.short_name}, {clock.label}"
        promises = count(len(clock.promises), "promise")
        title = f"{name}: {kept} of {promises} hold{'s' * (kept == 1)}"
        print_table(
            screen,
            title,
            ("holds", "promise"),
            [(_ANSWERS[promise.holds], promise.says) for promise in clock.promises],
        )
        for promise in clock.promises:
            _print_findings(screen, promise.findings)
            if promise.error is not None:
                print_text(screen, f"not checked: {promise.says}: {promise.error}", hanging="  ")
    if len(checked) == 1:
        echo("\nNo device was checked.")
    _print_unavailable(screen, unavailable)
    return code


def _print_time_domains(screen: Console, result: Calibration) -> None:
    """Print the time domains of each device; a number without a name is unknown."""
    rows = [
        (clock.short_name, str(domain.number), domain.name or "unknown: not used")
        for clock in result.clocks
        for domain in clock.time_domains
    ]
    if rows:
        print_table(screen, "Time domains of devices", ("device", ">number", "domain"), rows)


def _print_unavailable(screen: Console, clocks: Iterable[Unavailable]) -> None:
    for clock in clocks:
        print_text(screen, f"not available: {clock.name}: {clock.reason}", hanging="  ")


def _print_findings(screen: Console, findings: Iterable[Finding]) -> None:
    for finding in findings:
        print_text(screen, f"{finding.severity}: {finding.clock}: {finding.message}", hanging="  ")


def _rows(result: Calibration) -> Iterator[tuple[str, ...]]:
    for clock in result.clocks:
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
