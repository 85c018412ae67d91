"""Printing: all output passes `echo`, so that no text of a file acts on a terminal.

Nothing heavy may be imported here: errors are printed before a subcommand is loaded, too.
"""

from __future__ import annotations

import os
import re
import sys
from typing import Final

import click

from tracetime.commands.progress import clear_progress
from tracetime.text import printable

_STYLE: Final = re.compile(r"(\x1b\[[0-9;]*m)")


def echo(text: str = "", *, err: bool = False, styled: bool = False, nl: bool = True) -> None:
    """Print a text and a line end where a line of progress may be.

    Characters that are not printable, or that the encoding of the terminal lacks, become their
    escapes; line ends and tabs stay.

    Args:
        err: print on stderr.
        styled: keep the styles in `text`, which are the program's, unless NO_COLOR is set or TERM
            is dumb. Names in it have passed `printable`.
        nl: print the line end.
    """
    clear_progress()
    if styled:
        parts = _STYLE.split(text)
        parts[::2] = (printable(part, lines=True) for part in parts[::2])
        text = "".join(parts[::2] if _is_plain() else parts)
    else:
        text = printable(text, lines=True)
    encoding = getattr(sys.stderr if err else sys.stdout, "encoding", None) or "utf-8"
    click.echo(text.encode(encoding, "backslashreplace").decode(encoding), nl=nl, err=err)


def _is_plain() -> bool:
    """Whether the environment asks for text without styles, as https://no-color.org has it."""
    return bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") in ("dumb", "unknown")


def echo_error(head: str, message: str, hint: str = "") -> None:
    """Print an error on stderr. Its further lines are indented: they may quote lines of a file."""
    first, *more = printable(message, lines=True).split("\n")
    lines = [f"{head}: {first}", *(f"  {line}".rstrip() for line in more)]
    echo("\n".join([*lines, hint] if hint else lines), err=True)
