"""`tracetime ping`: how far another machine's clock is ahead, within bounds."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING

import click

from tracetime.commands import CHECK_FAILED, DONE
from tracetime.commands.help import Command
from tracetime.commands.options import Seconds, json_option, time_option
from tracetime.commands.output import output_option
from tracetime.commands.progress import Progress
from tracetime.commands.show import print_json
from tracetime.commands.terminal import echo
from tracetime.text import count, duration

if TYPE_CHECKING:
    from tracetime.hosts.ping import PingResult


@click.command("ping", cls=Command)
@click.argument("host")
@click.option(
    "--bursts",
    type=click.IntRange(1, 10_000),
    default=4,
    show_default=True,
    help="How many bursts of 8 rounds.",
)
@time_option(
    "--target-error",
    help="How far off the estimate may become until the next burst: it sets the time between "
    "bursts, 10 ms to 60 s. Exit with 1 if it is further off at the end.",
)
@click.option(
    "--key-file", type=click.Path(dir_okay=False), help="The key that `tracetime serve` has there."
)
@click.option(
    "--timeout",
    type=Seconds(0.001, 60),
    default=1.0,
    show_default=True,
    help="How long to wait for a reply: 500ms, or seconds.",
)
@output_option("A Perfetto trace to write: it ties the two machines' clocks.")
@json_option
def command(
    host: str,
    bursts: int,
    target_error: int | None,
    key_file: str | None,
    timeout: float,
    out: str | None,
    as_json: bool,
) -> int:
    """Print how far another machine's clock is ahead.

    That is its BOOTTIME against this machine's, within bounds.

    HOST is ssh://[USER@]HOST[:PORT], which needs tracetime there and nothing else, or ADDRESS:PORT,
    where `tracetime serve --bind` replies over UDP. A round has four readings; the bounds are what
    they leave, with the drift of both clocks. If no reply comes, the exit code is 1.

    \b
    Examples:
      tracetime ping ssh://worker7
      tracetime ping 192.0.2.7:9010 --key-file ping.key --target-error 50us
      tracetime ping ssh://worker7 --bursts 600 -o worker7.pftrace
      tracetime ping ssh://worker7 --json | jq .half_width_ns
    """
    from tracetime.hosts.ping import measure
    from tracetime.hosts.recording import write_exchanges

    # ssh may ask for a password on the terminal.
    with nullcontext() if host.startswith("ssh://") else Progress("pinging"):
        found, rounds = measure(
            host, bursts=bursts, target_error_ns=target_error, key_file=key_file, timeout_s=timeout
        )
    if as_json:
        print_json(found)
    else:
        _print(found)
    # After that: what was measured is not lost with a file that cannot be written.
    if out is not None:
        write_exchanges(out, rounds.exchanges, host, rounds.boot, rounds.suspended_ns)
    missed = target_error is not None and found.half_width_ns > target_error
    return CHECK_FAILED if missed else DONE


def _print(found: PingResult) -> None:
    lines = {"earliest": found.earliest_ns, "estimate": found.offset_ns, "latest": found.latest_ns}
    for name, ns in lines.items():
        echo(f"{name:<10} {ns:+,} ns")
    echo(
        f"BOOTTIME of {found.host} is ahead by the estimate, within "
        f"{duration(found.half_width_ns)}; the fastest round took {duration(found.delay_ns)}."
    )
    for n, what, said in (
        (found.lost, "round", "without a reply in time"),
        (found.ignored, "message", "came in that the request did not ask for"),
        (found.void, "round", "left out: their readings cannot be"),
    ):
        if n:
            echo(f"{count(n, what)} {said}")
    if found.restarts:
        echo("a machine was suspended or started again: rounds before that are not used")
