"""`tracetime split`: recordings that were joined into one file apart again."""

from __future__ import annotations

from typing import Any

import click

from tracetime.commands.help import Command
from tracetime.commands.options import json_option, limits_of_reading
from tracetime.commands.progress import Progress
from tracetime.commands.show import console, print_json, print_text, size
from tracetime.text import printable


@click.command("split", cls=Command)
@click.argument("trace", type=click.Path(allow_dash=True))
@limits_of_reading
@click.option(
    "-o",
    "--output",
    "directory",
    required=True,
    type=click.Path(),
    metavar="DIR",
    help="Where to write the recordings; it is made if it is not there.",
)
@json_option
def command(trace: str, reading: dict[str, Any], directory: str, as_json: bool) -> None:
    """Take recordings apart that were joined into TRACE, as by cat.

    TRACE is a Perfetto trace that is not compressed. Each recording becomes a file, byte for byte
    as it was. Where it is not sure where one begins, nothing is written.

    \b
    Examples:
      tracetime split joined.pftrace -o parts
      cat a.pftrace b.pftrace | tracetime split - -o parts --json
    """
    from tracetime.formats import open_trace
    from tracetime.verbs.split import split

    with Progress("splitting") as progress, progress.follow(open_trace(trace, **reading)) as opened:
        summary = split(opened, directory)
    if as_json:
        print_json(summary)
        return
    screen = console()
    for part in summary.parts:
        where = f"{size(part.bytes)}, from byte {part.offset:,} on (packet {part.packet:,})"
        print_text(screen, f"{printable(part.path)}: {where}", hanging="  ")
