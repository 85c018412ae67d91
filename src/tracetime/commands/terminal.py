"""What is printed: everything passes `echo`, which lets nothing of a name act on a terminal.

Nothing heavy may be imported here: errors on the way to a subcommand are printed, too.
"""

from __future__ import annotations

import re
import sys
from typing import Final

import click

from tracetime.text import printable

_STYLE: Final = re.compile(r"(\x1b\[[0-9;]*m)")


def echo(text: str = "", *, err: bool = False, styled: bool = False) -> None:
    """Print a text and a line end.

    What would move a cursor, hide or turn text, ring, or what the terminal's encoding lacks, shows
    as its escape; line ends and tabs stay.

    Args:
        err: to stderr.
        styled: colours and weights in it are ours, and stay. Names in it have passed `printable`.
    """
    if styled:
        parts = _STYLE.split(text)
        parts[::2] = (printable(part, lines=True) for part in parts[::2])
        text = "".join(parts)
    else:
        text = printable(text, lines=True)
    encoding = getattr(sys.stderr if err else sys.stdout, "encoding", None) or "utf-8"
    click.echo(text.encode(encoding, "backslashreplace").decode(encoding), err=err)


def tell_error(head: str, message: str, hint: str = "") -> None:
    """Print an error on stderr; its further lines are set in, for it may quote lines of a file."""
    first, *more = printable(message, lines=True).split("\n")
    lines = [f"{head}: {first}", *(f"  {line}".rstrip() for line in more)]
    echo("\n".join([*lines, hint] if hint else lines), err=True)
