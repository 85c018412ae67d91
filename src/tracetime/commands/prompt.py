"""The prompt of `tracetime sql`, which reads statements line by line until a semicolon."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol

from tracetime.commands import terminal
from tracetime.commands.terminal import echo, echo_error
from tracetime.errors import TracetimeError, UsageError

if TYPE_CHECKING:
    import pyarrow as pa

    from tracetime.sql.session import Result, Session

_FIRST: Final = "tracetime> "
_MORE: Final = "      ...> "
_HISTORY_LINES: Final = 2000
_FORMATS: Final = ("table", "csv", "json")
_ENDS: Final = ("exit", "quit", "exit()", "quit()")
"""What people type to leave a prompt; no statement is one word."""
_HELP: Final = """\
A statement ends with a semicolon and may take several lines. Ctrl-C discards the statement that is
being typed, or stops the one that runs. Ctrl-D leaves the prompt.
  .tables          the tables
  .schema [TABLE]  columns and their types
  .format FORMAT   table, csv or json
  .help            this text
  exit             leave the prompt; also .quit
to_clock(ts, 'FROM', 'TO'), earliest(...) and latest(...) convert timestamps between clocks;
trace_time('12.5s'), trace_time('14:48:40.5') or of a date and time (ISO 8601) is an instant."""


class Answer(Protocol):
    """A writer of results."""

    kind: str

    @property
    def is_text(self) -> bool:
        """Whether results are written as text."""

    def give(self, run: Callable[[], Result]) -> None:
        """Run a statement, and write its result."""


class _Left(Exception):
    """An exception by which the user leaves the prompt."""


def prompt(session: Session, answer: Answer) -> None:
    """Read and run statements until the input ends.

    On a terminal an error is printed, and the next statement is read; else an error ends it.

    Raises:
        TracetimeError: of a statement, if standard input is not a terminal.
    """
    interactive = sys.stdin.isatty()
    with _line_editing(session) if interactive else contextlib.nullcontext():
        if interactive:
            echo("Tables: " + ", ".join(session.tables) + ". Type .help for help.")
        with contextlib.suppress(_Left):
            for text in _texts(interactive):
                try:
                    _run(session, answer, text)
                except TracetimeError as error:
                    if not interactive:
                        raise
                    echo_error("error", str(error))
                except KeyboardInterrupt:
                    if not interactive:
                        raise
                    terminal.accept()
                    echo("\ninterrupted", err=True)


def _texts(interactive: bool) -> Iterator[str]:
    """Yield dot commands and statements as they are entered."""
    held = ""
    while True:
        try:
            line = _line((_MORE if held else _FIRST) if interactive else "")
        except KeyboardInterrupt:
            if not interactive:
                raise
            terminal.accept()
            echo()
            held = ""
            continue
        if line is None:
            if held.strip():
                yield held
            return
        held = f"{held}\n{line}" if held else line
        if held.lstrip()[:1] == "." or held.strip().casefold() in _ENDS or is_whole(held):
            yield held.strip()
            held = ""
        elif not held.strip():
            held = ""


def _line(prompt_text: str) -> str | None:
    """Return the next line of standard input; None at its end."""
    if not prompt_text:
        line = sys.stdin.readline()
        return line.rstrip("\n") if line else None
    try:
        return input(prompt_text)
    except EOFError:
        echo()
        return None


def is_whole(text: str) -> bool:
    """Whether a statement ends at the end of `text`: with a semicolon.

    One in quotes, in a comment, or between $$ and $$ does not count.
    """
    at, ended = 0, False
    while at < len(text):
        two = text[at : at + 2]
        if two == "--":
            end = text.find("\n", at)
            at = len(text) if end < 0 else end + 1
            continue
        closing = {"/*": "*/", "$$": "$$"}.get(two) or (text[at] if text[at] in "'\"" else None)
        if closing is not None:
            end = text.find(closing, at + len(closing))
            if end < 0:
                return False
            at, ended = end + len(closing), ended and two == "/*"
            continue
        if not text[at].isspace():
            ended = text[at] == ";"
        at += 1
    return ended


def _run(session: Session, answer: Answer, text: str) -> None:
    if text.rstrip("; ").casefold() in _ENDS:
        raise _Left
    if text[:1] == ".":
        _dot(session, answer, text.split())
        return
    for statement in session.statements(text):
        answer.give(partial(session.run, statement, times_as_text=answer.is_text))


def _dot(session: Session, answer: Answer, words: list[str]) -> None:
    match words:
        case [".help"]:
            echo(_HELP)
        case [".tables"]:
            echo("\n".join(session.tables))
        case [".schema", *names]:
            for name in names or session.tables:
                # By name: * leaves out columns of events that take longer to read.
                columns = ", ".join(f'"{column}"' for column in _schema(name, session).names)
                answer.give(partial(session.run, f'DESCRIBE SELECT {columns} FROM "{name}"'))
        case [".format", kind] if kind in _FORMATS:
            answer.kind = kind
        case [".quit" | ".exit"]:
            raise _Left
        case _:
            raise UsageError(f"there is no command {' '.join(words)}: type .help")


def _schema(name: str, session: Session) -> pa.Schema:
    if name not in session.tables:
        raise UsageError(f"there is no table {name}: the tables are {', '.join(session.tables)}")
    return session.tables[name]


@contextlib.contextmanager
def _line_editing(session: Session) -> Iterator[None]:
    """Turn on editing, history and completion by readline, if Python has it."""
    try:
        import readline
    except ImportError:
        yield
        return
    words = sorted(
        {
            *session.tables,
            "to_clock(",
            "earliest(",
            "latest(",
            "trace_time(",
            ".help",
            ".tables",
            ".schema",
        }
        | {name for schema in session.tables.values() for name in schema.names}
    )

    def complete(text: str, state: int) -> str | None:
        found = [word for word in words if word.startswith(text)] if text else []
        return found[state] if state < len(found) else None

    readline.set_completer(complete)
    readline.set_completer_delims(" \t\n,()=<>'\"")
    editline = "libedit" in (readline.__doc__ or "")
    readline.parse_and_bind("bind ^I rl_complete" if editline else "tab: complete")
    readline.set_history_length(_HISTORY_LINES)
    history = _history_file()
    if history is not None:
        with contextlib.suppress(OSError):
            readline.read_history_file(history)
    try:
        yield
    finally:
        if history is not None:
            with contextlib.suppress(OSError):
                history.parent.mkdir(parents=True, exist_ok=True)
                readline.write_history_file(history)


def _history_file() -> Path | None:
    """Return the file of the history, in the XDG directory for state."""
    try:
        state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    except RuntimeError:
        return None
    return Path(state) / "tracetime" / "sql_history"
