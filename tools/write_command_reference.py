"""Write docs/reference/commands.md: the whole help of each command, in a terminal of 80 columns.
A test compares the page with the commands.

Usage: write_command_reference.py [-o docs/reference/commands.md]
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

import click

from tracetime.commands import SUBCOMMANDS, cli

PAGE = Path(__file__).parent.parent / "docs" / "reference" / "commands.md"

HEAD = """# Commands

The whole help of each command, as `--help-all` prints it; `--help` leaves out what is rare. The
pages under *How to* have examples with their output.

Exit codes: 0 done; 1 the requested check failed (`--strict`, `--fail-on`, `--check`, `ping` without
a reply, `open --timeout`), a value of `at` does not convert, or no time service bounds the clock
(`now`); 2 wrong usage, or a file that cannot be read or written; 3 not a trace, cut off or corrupt
(with byte offset and packet); 4 no such clock source. `record` with a command exits with the code
of that command. Ctrl-C ends a command with 130, and no unfinished file is left; `record` and
`watch` end with 0, as they are meant to.
"""


def block(*command: str) -> str:
    """A console block with the help of a command."""
    option = "--help-all" if command not in ((), ("fleet",)) else "--help"
    text = subprocess.run(
        [sys.executable, "-m", "tracetime", *command, option],
        env=os.environ | {"COLUMNS": "80", "NO_COLOR": "1"},
        stdout=subprocess.PIPE,
        text=True,
        timeout=60,
        check=True,
    ).stdout.rstrip()
    return f"\n```console\n$ {' '.join(['tracetime', *command, option])}\n{text}\n```\n"


def blocks(name: str) -> str:
    """The help of a command, and of the commands in it."""
    command = cli.get_command(click.Context(cli), name)
    inner = command.commands if isinstance(command, click.Group) else ()
    return block(name) + "".join(block(name, one) for one in inner)


def main() -> None:
    parser = argparse.ArgumentParser(description="Write the reference of the commands.")
    parser.add_argument("-o", "--out", type=Path, default=PAGE)
    out: Path = parser.parse_args().out
    every = "".join(f"\n## {name}\n{blocks(name)}" for name in SUBCOMMANDS)
    out.write_text(HEAD + block() + f"\n## FILE\n{block('./FILE')}" + every)


if __name__ == "__main__":
    main()
