"""The command `tracetime`: options, checks, progress and printing, a file for each subcommand.

Each subcommand is a module here with a `command`, which is imported when it is used:
`tracetime --version` imports nothing heavy.
"""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import sys
from collections.abc import Sequence
from importlib import import_module
from types import TracebackType
from typing import Final, Literal, NoReturn, TypedDict

import click

from tracetime._version import __version__
from tracetime.atomic_file import OutputIsInputError, keep_inputs, protect
from tracetime.commands import terminal
from tracetime.commands.terminal import echo, echo_error
from tracetime.errors import (
    ConversionError,
    ErrorFacts,
    NoBoundError,
    SourceError,
    TraceError,
    TracetimeError,
    UsageError,
)
from tracetime.text import did_you_mean, json_text

GROUPS: Final = {
    "Look": ("clocks", "at", "doctor", "report", "sql", "open"),
    "Write": ("convert", "bake", "split"),
    "Many files": ("merge", "fleet"),
    "This machine": ("record", "calibrate", "watch", "now", "ping"),
    "More": ("serve", "completion"),
}
"""The commands; what each of the last ones does is in its own help."""

SUBCOMMANDS: Final = tuple(name for names in GROUPS.values() for name in names)

OVERVIEW: Final = "overview"
"""The module of what is done with files where no command is given."""

# Exit codes, with those that shells give to signals.
DONE: Final = 0
CHECK_FAILED: Final = 1
USAGE: Final = 2
BAD_TRACE: Final = 3
NO_SOURCE: Final = 4
INTERRUPTED: Final = 128 + signal.SIGINT
BROKEN_PIPE: Final = 128 + signal.SIGPIPE

_ENDED_BY: Final[dict[int, str]] = {
    signal.SIGINT: "interrupted",
    signal.SIGTERM: "terminated",
    signal.SIGHUP: "hung up",
}

_EXIT_CODES: Final[dict[type[TracetimeError], int]] = {
    UsageError: USAGE,
    TraceError: BAD_TRACE,
    NoBoundError: CHECK_FAILED,
    SourceError: NO_SOURCE,
    ConversionError: CHECK_FAILED,
}

SCHEMA: Final = 1
"""Version of the JSON of errors, and of the results of commands that take several traces."""


class ReaderGone(Exception):
    """The reader of the output has closed it, as `head` does."""


class Interrupted(Exception):
    """Ctrl-C ended the command."""


_OBJECTS_PER_COLLECTION: Final = 200_000
"""What is read of a trace stays: more frequent collections take up to a third longer."""


class LazyGroup(click.Group):
    """A group whose subcommands are imported when they are used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(SUBCOMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in (*SUBCOMMANDS, OVERVIEW):
            return None
        command = import_module(f"tracetime.commands.{cmd_name}").command
        assert isinstance(command, click.Command)
        return command

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        return ["FILE... | COMMAND [ARGS]..."]

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        commands = click.Context(self)
        for title, names in list(GROUPS.items())[:-1]:
            with formatter.section(title):
                formatter.write_dl([(name, self._short_help(commands, name)) for name in names])
        more = ", ".join((*GROUPS["More"], "--version"))
        formatter.write(f"\nMore: {more}; COMMAND --help has examples.\n")

    def _short_help(self, ctx: click.Context, name: str) -> str:
        command = self.get_command(ctx, name)
        assert command is not None
        return command.get_short_help_str(80)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        # Who types the name alone wants to know what there is: that is no error.
        return super().parse_args(ctx, args or ["--help"])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if name in SUBCOMMANDS or (name.startswith("-") and name != "-"):
            return super().resolve_command(ctx, args)
        if _is_file(name):
            return "FILE...", self.get_command(ctx, OVERVIEW), args
        near = did_you_mean(name, SUBCOMMANDS) or f": there are {', '.join(SUBCOMMANDS)}"
        raise click.UsageError(f"there is no command, and no file, {name!r}{near}", ctx)

    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except BrokenPipeError as error:
            # Click would end a BrokenPipeError with exit code 1.
            raise ReaderGone from error
        except KeyboardInterrupt as error:
            # Click would print an empty line.
            raise Interrupted from error


def _is_file(text: str) -> bool:
    """Whether an argument in the place of a command is a file, or was meant to be one."""
    return text == "-" or "/" in text or "." in text or os.path.exists(text)  # noqa: PTH110


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="tracetime", message="%(prog)s %(version)s")
def cli() -> None:
    """Put events from many clocks on one timeline, and say how far off each is. Of a FILE alone:
    what is in it, whether its time is right, and what to do.
    """


def main() -> NoReturn:
    """Run the command line and exit."""
    sys.excepthook = _print_fault
    gc.set_threshold(_OBJECTS_PER_COLLECTION)
    if sys.stdout is None:
        # It was closed by who wants no output.
        sys.stdout = open(os.devnull, "w")  # noqa: PTH123, SIM115
    try:
        terminal.install()
        code = run(sys.argv[1:])
    except BaseException:
        # A module that is interrupted while it loads may raise another error.
        number = terminal.received()
        if number is None:
            raise
        code = 128 + number
    terminal.ignore()
    number = terminal.received()
    if number is not None and code == 128 + number:
        _say_why(number)
        # Python's own end takes a while, and flushes what nobody waits for.
        os._exit(code)
    sys.exit(code)


def _say_why(number: int) -> None:
    """Print which signal ended the command."""
    # A terminal that was closed takes no text.
    with contextlib.suppress(OSError, ValueError):
        # The terminal has written ^C.
        start = "\n" if number == signal.SIGINT and sys.stderr.isatty() else ""
        echo(f"{start}tracetime: {_ENDED_BY[number]}", err=True)


_STDOUT: Final = 1
_STDERR: Final = 2


def run(args: Sequence[str]) -> int:
    """Run the command line `args` and return the exit code; errors are printed on stderr."""
    try:
        with keep_inputs([_STDOUT, _STDERR]):
            if sys.stdin is not None:
                protect(sys.stdin)
            result = cli.main(list(args), prog_name="tracetime", standalone_mode=False)
        sys.stdout.flush()
    except (click.Abort, Interrupted):
        return INTERRUPTED
    except (ReaderGone, BrokenPipeError):
        _silence()
        return BROKEN_PIPE
    except OutputIsInputError as error:
        for stream in {_STDOUT, *error.streams}:
            _silence(stream)
        return _fail(UsageError(str(error)), args)
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
        if isinstance(error, TraceError) and error.offset and _lacks_partial(args):
            hint = "Give --partial to keep what comes before that."
        return _fail(error, args, hint)
    return result if isinstance(result, int) else DONE


def _lacks_partial(args: Sequence[str]) -> bool:
    """Whether the command takes --partial, and was not given it."""
    command = cli.get_command(click.Context(cli), args[0])
    takes = command is not None and any(one.name == "partial" for one in command.params)
    return takes and "--partial" not in args


def exit_code(error: TracetimeError) -> int:
    """Return the exit code of a command that `error` ends."""
    codes = (code for kind, code in _EXIT_CODES.items() if isinstance(error, kind))
    return next(codes, CHECK_FAILED)


def _silence(stream: int = _STDOUT) -> None:
    """Discard what is still buffered for a stream, which Python writes at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream)


def _fail(error: TracetimeError, args: Sequence[str], hint: str = "") -> int:
    """Print an error on stderr, as JSON if --json is given; return the exit code."""
    # Arguments after -- are no options.
    report_error(error, "--json" in args[: args.index("--") if "--" in args else None], hint)
    return exit_code(error)


class ErrorDocument(TypedDict):
    """The error of a command, on standard error.

    Attributes:
        schema: the version of this shape.
        error: the error.
    """

    schema: Literal[1]
    error: ErrorFacts


def report_error(error: TracetimeError, as_json: bool, hint: str = "") -> None:
    """Print an error on stderr: as text, or as a JSON object."""
    if as_json:
        facts: ErrorDocument = {"schema": SCHEMA, "error": error.to_dict()}
        echo(json_text(facts), err=True)
    else:
        echo_error("tracetime: error", str(error), hint)


def _print_fault(
    kind: type[BaseException], error: BaseException, frames: TracebackType | None
) -> None:
    """Print the traceback of a bug by `echo`: it may quote text of a file."""
    from traceback import format_exception

    echo("".join(format_exception(kind, error, frames)).rstrip(), err=True)
