"""Write docs/reference/commands.md: the `--help` of each command, in a terminal of 80 columns.
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

The `--help` of each command. The pages under *How to* have examples with their output.
"""


def block(*command: str) -> str:
    """A console block with the help of a command."""
    text = subprocess.run(
        [sys.executable, "-m", "tracetime", *command, "--help"],
        env=os.environ | {"COLUMNS": "80", "NO_COLOR": "1"},
        stdout=subprocess.PIPE,
        text=True,
        timeout=60,
        check=True,
    ).stdout.rstrip()
    return f"\n```console\n$ {' '.join(['tracetime', *command, '--help'])}\n{text}\n```\n"


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
    out.write_text(HEAD + block() + every)


if __name__ == "__main__":
    main()
