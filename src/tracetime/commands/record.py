"""`tracetime record`: this machine's clocks into a trace, alone or while a command runs."""

from __future__ import annotations

import signal
import subprocess
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from tracetime.commands.limits import time_ns
from tracetime.commands.options import Size, json_option
from tracetime.commands.show import print_json, short, size

if TYPE_CHECKING:
    from tracetime.capture.recorder import Recorder

F = TypeVar("F", bound=Callable[..., Any])

_S: Final = 1_000_000_000
_PASSED_ON: Final = (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)
_NOT_FOUND: Final = 127
_NOT_RUN: Final = 126


def _time_option(*names: str, default: str | None = None, help: str) -> Callable[[F], F]:
    return click.option(
        *names,
        metavar="TIME",
        default=default,
        show_default=default is not None,
        callback=lambda ctx, param, text: None if text is None else time_ns(text),
        help=help,
    )


@click.command("record")
@click.option("-o", "--out", required=True, type=click.Path(), help="The trace to write.")
@_time_option("--duration", help="How long: 10s. Until Ctrl-C, or the command ends, if not given.")
@_time_option("--interval", default="1s", help="From one snapshot to the next.")
@_time_option(
    "--target-error",
    help="Let the interval adapt, so that bars between snapshots stay within: 1us.",
)
@click.option(
    "--clock",
    "clocks",
    multiple=True,
    metavar="CLOCK",
    help="A clock to record: MONOTONIC, TSC, vulkan:0. Repeatable; all if not given.",
)
@click.option("--reference", metavar="CLOCK", help="The clock that the others are bracketed by.")
@click.option("--max-size", type=Size(), help="Let the file become no larger than this.")
@json_option
@click.argument("command", metavar="[-- COMMAND...]", nargs=-1, type=click.UNPROCESSED)
def command(
    out: str,
    duration: int | None,
    interval: int,
    target_error: int | None,
    clocks: tuple[str, ...],
    reference: str | None,
    max_size: int | None,
    as_json: bool,
    command: tuple[str, ...],
) -> int:
    """Record this machine's clocks into a Perfetto trace.

    Snapshots are taken at the start, at the end, in between, and when a clock has stepped. With a
    COMMAND, while it runs: its exit code is passed on, and so are signals. What is in the file is a
    whole trace at any moment, whatever becomes of this process.

    \b
    Examples:
      tracetime record -o clocks.pftrace --duration 10s
      tracetime record -o run.pftrace --interval 100ms -- make test
      tracetime record -o gpu.pftrace --clock MONOTONIC --clock vulkan:0
    """
    from tracetime.capture.recorder import record

    with warnings.catch_warnings():
        # They are told at the end, with how often each was.
        warnings.simplefilter("ignore")
        recording = record(
            out,
            clocks or None,
            interval / _S,
            target_error_ns=target_error,
            reference=reference,
            max_size=max_size,
        )
        with recording as rec:
            code = _run(rec, command, duration) if command else _wait(duration)
    _report(recording, as_json)
    return code


def _wait(duration_ns: int | None) -> int:
    """Until the time is over, or Ctrl-C, which is how a recording without end ends."""
    try:
        if duration_ns is None:
            click.echo("Recording until Ctrl-C ...", err=True)
            while True:
                time.sleep(3600)
        time.sleep(duration_ns / _S)
    except KeyboardInterrupt:
        pass
    return 0


def _run(rec: Recorder, words: tuple[str, ...], duration_ns: int | None) -> int:
    """Run a command; its exit code as shells give it."""
    track = rec.track("command")
    try:
        child = subprocess.Popen(words)
    except FileNotFoundError:
        click.echo(f"tracetime: error: no such command: {words[0]}", err=True)
        return _NOT_FOUND
    except OSError as error:
        click.echo(f"tracetime: error: cannot run {words[0]}: {error.strerror}", err=True)
        return _NOT_RUN
    rec.begin(" ".join(words)[:200], track=track)
    with _signals_to(child):
        try:
            child.wait(None if duration_ns is None else duration_ns / _S)
        except subprocess.TimeoutExpired:
            child.terminate()
            child.wait()
    rec.end(track=track)
    return child.returncode if child.returncode >= 0 else 128 - child.returncode


@contextmanager
def _signals_to(child: subprocess.Popen[bytes]) -> Iterator[None]:
    """Pass on what this process is sent. Ctrl-C the terminal sends to both."""

    def pass_on(number: int, frame: FrameType | None) -> None:
        child.send_signal(number)

    before = {number: signal.signal(number, pass_on) for number in _PASSED_ON}
    before[signal.SIGINT] = signal.signal(signal.SIGINT, lambda *_: None)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _report(rec: Recorder, as_json: bool) -> None:
    facts = {
        "trace": rec.path,
        "bytes": rec.size,
        "snapshots": rec.snapshots,
        "clocks": list(rec.clocks),
        "events_dropped": rec.events_dropped,
        "problems": [problem._asdict() for problem in rec.problems],
    }
    if as_json:
        print_json(facts)
        return
    # On stderr: stdout is the command's.
    called = ", ".join(short(rec.clocks).values())
    click.echo(f"{rec.path}: {rec.snapshots:,} snapshots of {called} ({size(rec.size)})", err=True)
    for problem in rec.problems:
        often = f" ({problem.times} times)" if problem.times > 1 else ""
        click.echo(f"warning: {problem.what}: {problem.message}{often}", err=True)
    if rec.events_dropped:
        click.echo(f"warning: {rec.events_dropped:,} events did not fit", err=True)
