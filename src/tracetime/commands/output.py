"""-o of the commands: what goes to a file, and - for standard output."""

from __future__ import annotations

import contextlib
import shutil
import sys
import tempfile
from codecs import getincrementaldecoder
from collections.abc import Callable, Iterator
from functools import wraps
from pathlib import Path
from typing import IO, Any, Final, TypeVar, cast

import click

from tracetime.atomic_file import file_target, whole_file
from tracetime.commands.progress import clear_progress
from tracetime.commands.terminal import echo
from tracetime.errors import UsageError
from tracetime.text import printable

F = TypeVar("F", bound=Callable[..., Any])

_TEXTS: Final = (".csv", ".json", ".html")


def output_option(help: str, *, required: bool = False) -> Callable[[F], F]:
    """Add -o, the file to write; the command takes it as `out`.

    What writes the file checks the path: `file_target`, for all commands alike.
    """
    return click.option(
        "-o",
        "--output",
        "--out",
        "out",
        required=required,
        type=click.Path(),
        metavar="FILE",
        help=help,
    )


def result_option(function: F) -> F:
    """Add -o to a command that prints: what it prints goes to the file.

    The command does not know of it. The file appears when the command is done, also with a check
    that failed; an error leaves none.
    """

    @output_option("Write to this file what would be printed; - is standard output.")
    @wraps(function)
    def command(*args: Any, out: str | None, **values: Any) -> Any:
        if out is None or out == "-":
            return function(*args, **values)
        with (
            whole_file(file_target(out)) as part,
            part.open("w", encoding="utf-8") as file,
            contextlib.redirect_stdout(file),
        ):
            return function(*args, **values)

    return cast("F", command)


_OF_OTHERS: Final = frozenset(
    (".arrow", ".csv", ".html", ".json", ".parquet", ".pdf", ".pftrace", ".png", ".svg", ".txt")
)
"""Endings that promise a format; files of some others are made by habit, and stay possible."""


def check_ending(out: str, *own: str) -> None:
    """Raise UsageError for a file whose ending promises another format than a command writes."""
    ending = Path(out).suffix.lower()
    if ending in _OF_OTHERS - {*own}:
        raise UsageError(f"{out!r} would not be {ending[1:]}: let it end in {' or '.join(own)}")


@contextlib.contextmanager
def file_for(out: str, ending: str) -> Iterator[str]:
    """Give the file to write; for - a temporary one, which is copied to standard output.

    Raises:
        UsageError: standard output is a terminal, and files of this ending are no text.
    """
    if out != "-":
        yield out
        return
    check_standard_output(ending)
    with tempfile.TemporaryDirectory(prefix="tracetime-") as directory:
        file = Path(directory) / f"out{ending}"
        try:
            yield str(file)
        except UsageError as error:
            raise UsageError(str(error).replace(repr(str(file)), "standard output")) from error
        with file.open("rb") as written, standard_output(ending) as target:
            shutil.copyfileobj(written, target)


def check_standard_output(ending: str) -> None:
    """Raise UsageError if standard output is a terminal, and files of this ending are no text."""
    if ending not in _TEXTS and sys.stdout.isatty():
        kind = ending.removeprefix(".")
        raise UsageError(f"{kind} is no text: send it to a file or a pipe, not to the terminal")


@contextlib.contextmanager
def standard_output(ending: str) -> Iterator[IO[bytes]]:
    """Give standard output for the bytes of a file; a terminal gets CSV without what acts on it."""
    clear_progress()
    if ending == ".csv" and sys.stdout.isatty():
        yield cast("IO[bytes]", _CsvOnTerminal())
        return
    sys.stdout.flush()
    yield sys.stdout.buffer
    clear_progress()
    sys.stdout.buffer.flush()


class _CsvOnTerminal:
    """A file that prints CSV by `echo`. A line ends outside quotes only: no cell is a line."""

    def __init__(self) -> None:
        self._decode = getincrementaldecoder("utf-8")("backslashreplace").decode
        self._is_quoted = False

    def write(self, data: bytes, /) -> None:
        first, *more = self._decode(data).split('"')
        shown = [printable(first, lines=not self._is_quoted)]
        for part in more:
            self._is_quoted = not self._is_quoted
            shown.append(printable(part, lines=not self._is_quoted))
        echo('"'.join(shown), nl=False)
