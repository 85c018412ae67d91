"""The command `tracetime`: its subcommands by name, and what becomes of errors.

Each subcommand is a module here with a `command`, loaded when it is asked for: nothing heavy may
be imported on the way to `tracetime --version`.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Sequence
from importlib import import_module
from types import TracebackType
from typing import Final, NoReturn

import click

from tracetime._version import __version__
from tracetime.commands.terminal import echo, tell_error
from tracetime.errors import ConversionError, SourceError, TraceError, TracetimeError, UsageError

SUBCOMMANDS: Final = (
    "convert",
    "clocks",
    "at",
    "doctor",
    "report",
    "sql",
    "open",
    "record",
    "calibrate",
    "watch",
    "completion",
)

# Exit codes, and those that shells give to signals.
DONE: Final = 0
CHECK_FAILED: Final = 1
USAGE: Final = 2
BAD_TRACE: Final = 3
NO_SOURCE: Final = 4
INTERRUPTED: Final = 128 + signal.SIGINT
BROKEN_PIPE: Final = 128 + signal.SIGPIPE

_EXIT_CODES: Final[dict[type[TracetimeError], int]] = {
    UsageError: USAGE,
    TraceError: BAD_TRACE,
    SourceError: NO_SOURCE,
    ConversionError: CHECK_FAILED,
}

SCHEMA: Final = 1
"""Of the JSON in which commands that take several traces say what came of each, and of errors."""


class ReaderGone(Exception):
    """Whoever read the output has had enough of it."""


_OBJECTS_UNTIL_LOOK: Final = 200_000


class LazyGroup(click.Group):
    """A group whose subcommands are imported when they are asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(SUBCOMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in SUBCOMMANDS:
            return None
        command = import_module(f"tracetime.commands.{cmd_name}").command
        assert isinstance(command, click.Command)
        return command

    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except BrokenPipeError as error:
            # Under another name, because click would make exit code 1 of it.
            raise ReaderGone from error


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="tracetime", message="%(prog)s %(version)s")
def cli() -> None:
    """Put the events of a trace, read in many clocks, on one timeline.

    \b
    Examples:
      tracetime convert trace.pftrace -o events.parquet
      tracetime clocks trace.pftrace
      tracetime at trace.pftrace 868258201186 --to REALTIME
      tracetime doctor trace.pftrace
      tracetime report trace.pftrace -o report.html

    Exit codes: 0 done, 1 the check asked for failed (--strict, --fail-on, --check) or a value does
    not convert, 2 wrong usage, 3 bad trace, 4 no such clock source.
    """


def main() -> NoReturn:
    """Run the command line and exit; the entry point of the console script."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        # nohup has hang-ups ignored, and they stay so.
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, _terminate)
    sys.excepthook = _tell_fault
    # What is read of a trace stays: to look through it again and again takes up to a third longer.
    gc.set_threshold(_OBJECTS_UNTIL_LOOK)
    sys.exit(run(sys.argv[1:]))


def run(args: Sequence[str]) -> int:
    """Run the command line `args` and return the exit code; errors are told on stderr."""
    try:
        result = cli.main(list(args), prog_name="tracetime", standalone_mode=False)
        if sys.stdout is not None:
            sys.stdout.flush()
    except (click.Abort, KeyboardInterrupt):
        return INTERRUPTED
    except (ReaderGone, BrokenPipeError):
        _silence()
        return BROKEN_PIPE
    except OSError as error:
        _silence()
        return _fail(UsageError(f"cannot write the output: {error.strerror or error}"), args)
    except click.exceptions.NoArgsIsHelpError as error:
        echo(error.format_message(), err=True)
        return USAGE
    except click.ClickException as error:
        hint = ""
        if isinstance(error, click.UsageError) and error.ctx is not None:
            hint = f"Try '{error.ctx.command_path} --help'."
        return _fail(UsageError(error.format_message()), args, hint)
    except TracetimeError as error:
        hint = ""
        if isinstance(error, TraceError) and error.offset and "--partial" not in args:
            hint = "--partial keeps what comes before that."
        return _fail(error, args, hint)
    return result if isinstance(result, int) else DONE


def exit_code(error: TracetimeError) -> int:
    """What to exit with where `error` ends a command."""
    codes = (code for kind, code in _EXIT_CODES.items() if isinstance(error, kind))
    return next(codes, CHECK_FAILED)


def _silence() -> None:
    """What is still buffered for stdout must go somewhere at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _fail(error: TracetimeError, args: Sequence[str], hint: str = "") -> int:
    """Tell an error on stderr, in the form that was asked for; returns what to exit with."""
    # What follows -- is no option.
    tell(error, "--json" in args[: args.index("--") if "--" in args else None], hint)
    return exit_code(error)


def tell(error: TracetimeError, as_json: bool, hint: str = "") -> None:
    """Tell an error on stderr: in words, or as an object in JSON."""
    if as_json:
        import json

        echo(json.dumps({"schema": SCHEMA, "error": error.to_dict()}), err=True)
    else:
        tell_error("tracetime: error", str(error), hint)


def _tell_fault(
    kind: type[BaseException], error: BaseException, frames: TracebackType | None
) -> None:
    """A fault of ours: what it quotes acts on the terminal as little as all else."""
    from traceback import format_exception

    echo("".join(format_exception(kind, error, frames)).rstrip(), err=True)


def _terminate(number: int, frame: object) -> NoReturn:
    # As an exception, so that half-done files are removed on the way out.
    sys.exit(128 + number)
