"""`tracetime now`: what this machine's time service knows of true time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, TypedDict

import click

from tracetime.clocks.wall_time import format_wall_time
from tracetime.commands.help import Command
from tracetime.commands.options import json_option
from tracetime.commands.output import result_option
from tracetime.commands.show import print_json
from tracetime.commands.terminal import echo
from tracetime.text import duration

if TYPE_CHECKING:
    from typing import get_args

    from msgspec import Meta

    from tracetime.clocks.json_types import Count
    from tracetime.sources.source import Unavailable
    from tracetime.sources.time_service.service import SourceName
    from tracetime.sources.time_service.statement import TrueTime, WallClock


@click.command("now", cls=Command)
@click.option(
    "--clock",
    type=click.Choice(["REALTIME", "TAI"]),
    default="REALTIME",
    show_default=True,
    help="REALTIME is UTC; TAI has no leap seconds.",
)
@click.option(
    "--source",
    type=click.Choice(["clockbound", "chrony", "ptp4l", "adjtimex"]),
    help="Ask this one alone. Without it: the first of them that states a bound.",
)
@result_option
@json_option
def command(clock: WallClock, source: SourceName | None, as_json: bool) -> None:
    """Print between which times true time is now.

    The bound is what the time service of this machine states: the shared memory of AWS ClockBound,
    chronyd's tracking, ptp4l's offset and delay, or what the kernel was told (adjtimex). If none
    states one, the exit code is 1, and the output says why of each: it is not there, not
    synchronised, or gives no bound.

    \b
    Examples:
      tracetime now
      tracetime now --clock TAI --source chrony
      tracetime now --json | jq .half_width_ns
    """
    from tracetime.sources.time_service.service import TimeService

    service = TimeService(source)
    now = service.now(clock)
    if as_json:
        print_json(_facts(now, service.refusals))
        return
    for name, ns in _times(now).items():
        echo(f"{name:<10} {_time_text(now, ns)}")
    of = "UTC" if clock == "REALTIME" else "TAI"
    echo(
        f"The estimate is within {duration(now.half_width_ns)} of {of}, as {now.source} said "
        f"{duration(now.age_ns)} before."
    )
    for name, reason in service.refusals.items():
        echo(f"not used: {name}: {reason}")


def _times(now: TrueTime) -> dict[str, int]:
    return {"earliest": now.earliest_ns, "estimate": now.estimate_ns, "latest": now.latest_ns}


def _time_text(now: TrueTime, ns: int) -> str:
    text = format_wall_time(ns)
    return text if now.clock == "REALTIME" else f"{text.removesuffix('Z')} TAI"


class Now(TypedDict):
    """Between which times true time was.

    Attributes:
        earliest_ns: true time was not before that, ns since 1970.
        estimate_ns: the middle.
        latest_ns: true time was not after that, ns since 1970.
        clock: what these are of: UTC as POSIX counts it, or TAI.
        source: the time service that bounds it.
        age_ns: how old what the service said was, ns; the bounds have grown since.
        half_width_ns: how far the estimate is off at most, ns.
        earliest: the same as `earliest_ns`, in ISO 8601; TAI ends in TAI.
        estimate: the same as `estimate_ns`.
        latest: the same as `latest_ns`.
        not_used: better sources that state no bound.
    """

    earliest_ns: int
    estimate_ns: int
    latest_ns: int
    clock: WallClock
    source: Annotated[str, Meta(extra_json_schema={"enum": list(get_args(SourceName))})]
    age_ns: Count
    half_width_ns: Count
    earliest: str
    estimate: str
    latest: str
    not_used: list[Unavailable]


def _facts(now: TrueTime, refusals: dict[str, str]) -> Now:
    from tracetime.sources.source import Unavailable

    return {
        "earliest_ns": now.earliest_ns,
        "estimate_ns": now.estimate_ns,
        "latest_ns": now.latest_ns,
        "clock": now.clock,
        "source": now.source,
        "age_ns": now.age_ns,
        "half_width_ns": now.half_width_ns,
        "earliest": _time_text(now, now.earliest_ns),
        "estimate": _time_text(now, now.estimate_ns),
        "latest": _time_text(now, now.latest_ns),
        "not_used": [Unavailable(*refusal) for refusal in refusals.items()],
    }
