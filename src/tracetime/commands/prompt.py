"""The prompt of `tracetime sql`: statements read line by line, until a semicolon ends them."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol

from tracetime.commands.terminal import echo, tell_error
from tracetime.errors import TracetimeError, UsageError

if TYPE_CHECKING:
    from tracetime.sql.session import Result, Session

_FIRST: Final = "tracetime> "
_MORE: Final = "      ...> "
_HISTORY_LINES: Final = 2000
_FORMATS: Final = ("table", "csv", "json")
_HELP: Final = """\
A statement ends in a semicolon and may take several lines. Ctrl-C drops what was written so far,
or stops the statement that runs; Ctrl-D leaves.
  .tables          the tables
  .schema [TABLE]  columns and their types
  .format FORMAT   table, csv or json
  .help            this
  .quit            leave
to_clock(ts, 'FROM', 'TO'), earliest(...) and latest(...) convert timestamps between clocks."""


class Answer(Protocol):
    """Where results go."""

    kind: str

    @property
    def is_text(self) -> bool:
        """Whether results are written as text."""

    def give(self, result: Result) -> None:
        """Write a result."""


class _Left(Exception):
    """Asked to leave."""


def prompt(session: Session, answer: Answer) -> None:
    """Read and run statements until the input ends.

    On a terminal an error is told and the next statement read; else it ends the reading.

    Raises:
        TracetimeError: of a statement, where standard input is no terminal.
    """
    interactive = sys.stdin.isatty()
    with _line_editing(session) if interactive else contextlib.nullcontext():
        if interactive:
            echo("Tables: " + ", ".join(session.tables) + ". Try .help")
        with contextlib.suppress(_Left):
            for text in _texts(interactive):
                try:
                    _run(session, answer, text)
                except TracetimeError as error:
                    if not interactive:
                        raise
                    tell_error("error", str(error))
                except KeyboardInterrupt:
                    if not interactive:
                        raise
                    echo("\ninterrupted", err=True)


def _texts(interactive: bool) -> Iterator[str]:
    """Dot commands and statements, as they are entered."""
    held = ""
    while True:
        try:
            line = _line((_MORE if held else _FIRST) if interactive else "")
        except KeyboardInterrupt:
            if not interactive:
                raise
            echo()
            held = ""
            continue
        if line is None:
            if held.strip():
                yield held
            return
        held = f"{held}\n{line}" if held else line
        if held.lstrip()[:1] == "." or is_whole(held):
            yield held.strip()
            held = ""
        elif not held.strip():
            held = ""


def _line(shown: str) -> str | None:
    """The next line of standard input; None at its end."""
    if not shown:
        line = sys.stdin.readline()
        return line.rstrip("\n") if line else None
    try:
        return input(shown)
    except EOFError:
        echo()
        return None


def is_whole(text: str) -> bool:
    """Whether a statement ends at the end of `text`: in a semicolon that stands for itself.

    That is not one in quotes, a comment, or between $$ and $$.
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
    if text[:1] == ".":
        _dot(session, answer, text.split())
        return
    for statement in session.statements(text):
        answer.give(session.run(statement, times_as_text=answer.is_text))


def _dot(session: Session, answer: Answer, words: list[str]) -> None:
    match words:
        case [".help"]:
            echo(_HELP)
        case [".tables"]:
            echo("\n".join(session.tables))
        case [".schema", *names]:
            for name in names or session.tables:
                answer.give(session.run(f"DESCRIBE {_quoted(name, session)}"))
        case [".format", kind] if kind in _FORMATS:
            answer.kind = kind
        case [".quit" | ".exit"]:
            raise _Left
        case _:
            raise UsageError(f"there is no {' '.join(words)}: see .help")


def _quoted(name: str, session: Session) -> str:
    if name not in session.tables:
        raise UsageError(f"there is no table {name}: there is {', '.join(session.tables)}")
    return f'"{name}"'


@contextlib.contextmanager
def _line_editing(session: Session) -> Iterator[None]:
    """Editing, history and completion by readline, where Python has it."""
    try:
        import readline
    except ImportError:
        yield
        return
    words = sorted(
        {*session.tables, "to_clock(", "earliest(", "latest(", ".help", ".tables", ".schema"}
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
    """Where the XDG base directories have state."""
    try:
        state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    except RuntimeError:
        return None
    return Path(state) / "tracetime" / "sql_history"
