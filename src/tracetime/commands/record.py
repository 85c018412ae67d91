"""`tracetime record`: this machine's clocks into a trace, alone or while a command runs."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import warnings
from types import FrameType
from typing import TYPE_CHECKING, Any, Final

import click

from tracetime.commands import tell
from tracetime.commands.options import (
    Size,
    clocks_option,
    json_option,
    output_option,
    reference_option,
    time_option,
)
from tracetime.commands.show import print_json, size
from tracetime.commands.terminal import echo
from tracetime.errors import UsageError
from tracetime.text import duration as span_of_time
from tracetime.text import printable

if TYPE_CHECKING:
    from tracetime.capture.recorder import Recorder

_S: Final = 1_000_000_000
_ENDING: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_PASSED_ON: Final = (*_ENDING, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2)
_FROM_KEYBOARD: Final = (signal.SIGINT, signal.SIGQUIT)
_LOOK_S: Final = 0.05
"""How often it is looked whether a signal has come."""

_GRACE_S: Final = 10.0
"""How long a command may take to end after --duration, before it is killed."""

_NOT_FOUND: Final = 127
_NOT_RUN: Final = 126


# Like `time` and `nohup`: from the command's name on, options are its own, also without `--`.
@click.command("record", context_settings={"allow_interspersed_args": False})
@output_option("The trace to write.", required=True)
@click.option("--force", is_flag=True, help="Replace the trace if it is there already.")
@time_option(
    "--duration", help="How long: 10s, 5min. Until Ctrl-C or the command ends if not given."
)
@time_option("--interval", default="1s", help="From the start of one snapshot to the next.")
@time_option(
    "--target-error",
    help="Let the interval adapt, so that bars between snapshots stay within: 1us.",
)
@clocks_option("record", "`host` if not given: all but devices. `vulkan` is all of these.")
@reference_option
@click.option("--max-size", type=Size(), help="Let the file become no larger than this.")
@click.option(
    "--sync",
    is_flag=True,
    help="Wait for the disk, once a second: what is in the file survives a power cut, too.",
)
@json_option
@click.argument("command", metavar="[-- COMMAND...]", nargs=-1, type=click.UNPROCESSED)
def command(  # noqa: PLR0913  a parameter for each option
    out: str,
    force: bool,
    duration: int | None,
    interval: int,
    target_error: int | None,
    clocks: tuple[str, ...],
    reference: str | None,
    max_size: int | None,
    sync: bool,
    as_json: bool,
    command: tuple[str, ...],
) -> int:
    """Record this machine's clocks into a Perfetto trace.

    Snapshots are taken at the start, at the end, in between, and when the wall clock is set. With a
    COMMAND, while it runs: its exit code is passed on, and so are signals; after --duration it is
    sent SIGTERM, and SIGKILL 10 s later. What is in the file is a whole trace at any moment,
    whatever becomes of this process; of a power cut it may lose half a minute, or with --sync a
    second. A file that is there is kept, also what is left of a recording that was killed, unless
    --force is given.

    \b
    Examples:
      tracetime record -o clocks.pftrace --duration 10s
      tracetime record -o run.pftrace --interval 100ms -- make test
      tracetime record -o gpu.pftrace --clock host --clock vulkan:0
    """
    from tracetime.capture.record import record

    if out == "-":
        raise UsageError(
            "a recording needs a file, to be whole if this process is killed: give -o run.pftrace"
        )
    with warnings.catch_warnings(), _Signals(_PASSED_ON if command else _ENDING) as signals:
        # They are told at the end, with how often each was.
        warnings.simplefilter("ignore")
        child = _Child(command, signals)
        try:
            recording = record(
                out,
                clocks or None,
                interval / _S,
                target_error_ns=target_error,
                reference=reference,
                max_size=max_size,
                overwrite=force,
                sync=sync,
                before_writing=child.start if command else None,
            )
            with recording as rec:
                code = child.wait(rec, duration) if command else _wait(duration, signals)
        except _NotStarted as error:
            tell(error, as_json)
            return error.exit_code
        finally:
            child.end()
    _report(recording, target_error, as_json)
    return code


class _Signals:
    """What this process is sent while it records: kept until it is asked for, or passed on.

    An exception in the middle of things would lose what waits for the disk. Only where the
    recording is to end already, a second signal is one: whoever sends it has waited enough.

    Args:
        numbers: of the signals. Those that are ignored, as by nohup, stay so.
    """

    def __init__(self, numbers: tuple[signal.Signals, ...]) -> None:
        self._numbers = numbers
        self._before: dict[int, Any] = {}
        self._child: subprocess.Popen[bytes] | None = None
        self._waiting: list[int] = []
        self.received: int | None = None

    def __enter__(self) -> _Signals:
        for number in self._numbers:
            if signal.getsignal(number) != signal.SIG_IGN:
                self._before[number] = signal.signal(number, self._take)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def pass_to(self, child: subprocess.Popen[bytes]) -> None:
        """From now on to a command, with what has come before it was there."""
        self._child = child
        while self._waiting:
            child.send_signal(self._waiting.pop(0))

    def _take(self, number: int, frame: FrameType | None) -> None:
        child = self._child
        if child is not None and child.returncode is None:
            if not (number in _FROM_KEYBOARD and _at_the_keyboard()):
                child.send_signal(number)
        elif number not in _ENDING:
            self._waiting.append(number)
        elif self.received is None:
            self.received = number
            self._waiting.append(number)
        elif number == signal.SIGINT:
            raise KeyboardInterrupt
        else:
            sys.exit(128 + number)


def _at_the_keyboard() -> bool:
    """Whether Ctrl-C reaches this process by its terminal, which sends it to the command too."""
    try:
        terminal = os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY)
    except OSError:
        return False
    try:
        return os.tcgetpgrp(terminal) == os.getpgrp()
    except OSError:
        return False
    finally:
        os.close(terminal)


def _wait(duration_ns: int | None, signals: _Signals) -> int:
    """Until the time is over, or Ctrl-C, which is how a recording without end ends."""
    if duration_ns is None:
        echo("Recording until Ctrl-C ...", err=True)
    end_s = None if duration_ns is None else time.monotonic() + duration_ns / _S
    while signals.received is None:
        left_s = _LOOK_S if end_s is None else min(_LOOK_S, end_s - time.monotonic())
        if left_s <= 0:
            break
        time.sleep(left_s)
    return 0 if signals.received in (None, signal.SIGINT) else 128 + signals.received


class _NotStarted(UsageError):
    """A command cannot be run; with the exit code that shells give it."""

    def __init__(self, message: str, exit_code: int) -> None:
        super().__init__(message)
        self.exit_code = exit_code


class _Child:
    """The command.

    Args:
        words: of it.
        signals: passed on to it from when it runs: a terminal sends it its own from then on.
    """

    def __init__(self, words: tuple[str, ...], signals: _Signals) -> None:
        self._words = words
        self._signals = signals
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Run it.

        Raises:
            _NotStarted: it cannot be.
        """
        name = _text(self._words[0])
        try:
            # What it is to inherit it does, as make's job server wants; what is opened here is not.
            self._process = subprocess.Popen(self._words, close_fds=False)
            self._signals.pass_to(self._process)
        except FileNotFoundError:
            raise _NotStarted(f"no such command: {name}", _NOT_FOUND) from None
        except OSError as error:
            raise _NotStarted(f"cannot run {name}: {error.strerror}", _NOT_RUN) from None

    def wait(self, rec: Recorder, duration_ns: int | None) -> int:
        """Until it ends, or is to; its exit code as shells give it."""
        child = self._process
        assert child is not None
        track = rec.track("command")
        rec.begin(_text(" ".join(self._words)[:200]), track=track)
        try:
            child.wait(None if duration_ns is None else duration_ns / _S)
        except subprocess.TimeoutExpired:
            self.end()
        rec.end(track=track)
        return child.returncode if child.returncode >= 0 else 128 - child.returncode

    def end(self) -> None:
        """See to it that it does not run any more: told to end, and killed if it does not."""
        if self._process is None or self._process.returncode is not None:
            return
        self._process.terminate()
        try:
            self._process.wait(_GRACE_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def _text(words: str) -> str:
    """Words of a command line, which may be no text, as file names may: such bytes show as `?`."""
    return printable(words.encode(errors="replace").decode())


def _report(rec: Recorder, target_error: int | None, as_json: bool) -> None:
    facts = {
        "trace": rec.path,
        "bytes": rec.size,
        "snapshots": rec.snapshots,
        "clocks": list(rec.clocks),
        "events_dropped": rec.events_dropped,
        "out_of_reach": rec.out_of_reach,
        "floor_error_ns": rec.floor_error_ns,
        "problems": [problem._asdict() for problem in rec.problems],
    }
    if as_json:
        print_json(facts)
        return
    # On stderr: stdout is the command's.
    short = rec.short_names
    called = ", ".join(short[name] for name in rec.clocks)
    echo(
        f"{printable(rec.path)}: {rec.snapshots:,} snapshots of {called} ({size(rec.size)})",
        err=True,
    )
    if rec.out_of_reach:
        missed = ", ".join(short[name] for name in rec.out_of_reach)
        echo(
            f"warning: out of reach of --target-error, by their half-widths alone: {missed}",
            err=True,
        )
    floor = {name: ns for name, ns in rec.floor_error_ns.items() if name not in rec.out_of_reach}
    worst = max(floor, key=floor.__getitem__, default=None)
    if target_error is not None and worst is not None and floor[worst] > target_error:
        echo(
            "note: --target-error is for bars (--policy tube); floor, which interpolates nothing, "
            f"was off by up to {span_of_time(floor[worst])} between snapshots ({short[worst]})",
            err=True,
        )
    for problem in rec.problems:
        often = f" ({problem.times} times)" if problem.times > 1 else ""
        echo(f"warning: {problem.what}: {problem.message}{often}", err=True)
    if rec.events_dropped:
        echo(f"warning: {rec.events_dropped:,} events did not fit", err=True)
