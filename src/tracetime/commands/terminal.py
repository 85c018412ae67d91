"""Printing: all output passes `echo`, so that no text of a file acts on a terminal.

Nothing heavy may be imported here: errors are printed before a subcommand is loaded, too.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import sys
from types import FrameType
from typing import Final, NoReturn

import click

from tracetime.commands.progress import clear_progress
from tracetime.text import printable

# Signals that end a command: Ctrl-C, SIGTERM and SIGHUP.
#
# A signal raises an exception, so that unfinished files are removed. While that is being done,
# further signals are ignored: they would break it off. Where the exception is lost (Python drops
# what is raised in a callback of C code, or in `__del__`), it is raised again.

ENDING: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

_AGAIN_S: Final = 0.02
"""How soon to look whether the exception was lost."""

_received: int | None = None
_raised: BaseException | None = None


def install() -> None:
    """Let the signals raise exceptions: KeyboardInterrupt, or SystemExit."""
    for number in ENDING:
        # nohup ignores hang-ups, and shells Ctrl-C for what runs in the background: that stays.
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, _receive)
    signal.signal(signal.SIGALRM, _try_again)
    sys.unraisablehook = _tell_unless_raised_again


def received() -> int | None:
    """Return the first signal that came, and was not accepted."""
    return _received


def accept() -> None:
    """Go on after a KeyboardInterrupt that was caught: the next signal raises another."""
    global _received, _raised
    signal.setitimer(signal.ITIMER_REAL, 0)
    _received = _raised = None


def ignore() -> None:
    """Ignore signals from now on: the command is done."""
    signal.setitimer(signal.ITIMER_REAL, 0)
    for number in ENDING:
        signal.signal(number, signal.SIG_IGN)


def _receive(number: int, frame: FrameType | None) -> None:
    global _received
    if _received is None:
        _received = number
        signal.setitimer(signal.ITIMER_REAL, _AGAIN_S, _AGAIN_S)
        _raise()


def _try_again(number: int, frame: FrameType | None) -> None:
    if _received is not None and not _is_handled():
        _raise()


def _tell_unless_raised_again(lost: sys.UnraisableHookArgs) -> None:
    if lost.exc_value is None or lost.exc_value is not _raised:
        sys.__unraisablehook__(lost)


def _raise() -> NoReturn:
    global _raised
    by_keyboard = _received == signal.SIGINT
    _raised = KeyboardInterrupt() if by_keyboard else SystemExit(128 + (_received or 0))
    raise _raised


def _is_handled() -> bool:
    """Whether an `except`, a `finally` or an `__exit__` is dealing with the exception."""
    error = sys.exception()
    while error is not None and error is not _raised:
        error = error.__context__
    return error is not None


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


def page(text: str) -> None:
    """Print a text; by the pager of the environment where a terminal is not high enough for it."""
    higher = text.count("\n") + 1 >= shutil.get_terminal_size().lines
    if not (higher and sys.stdin and sys.stdin.isatty() and sys.stdout.isatty()):
        echo(text)
        return
    clear_progress()
    # As git does: what was on the screen stays there, and lines are not wrapped anew.
    os.environ.setdefault("LESS", "FRX")
    click.echo_via_pager(printable(text, lines=True))


def _is_plain() -> bool:
    """Whether the environment asks for text without styles, as https://no-color.org has it."""
    return bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") in ("dumb", "unknown")


def echo_error(head: str, message: str, hint: str = "") -> None:
    """Print an error on stderr. Its further lines are indented: they may quote lines of a file."""
    first, *more = printable(message, lines=True).split("\n")
    lines = [f"{head}: {first}", *(f"  {line}".rstrip() for line in more)]
    echo("\n".join([*lines, hint] if hint else lines), err=True)
