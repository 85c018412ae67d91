"""`tracetime record`: record this machine's clocks, alone or while a command runs."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Sequence
from types import FrameType
from typing import TYPE_CHECKING, Any, Final, TypedDict

import click

from tracetime.commands import report_error
from tracetime.commands.help import Command
from tracetime.commands.options import (
    Size,
    clocks_option,
    json_option,
    reference_option,
    time_option,
)
from tracetime.commands.output import output_option
from tracetime.commands.progress import Progress
from tracetime.commands.show import print_json, size
from tracetime.commands.terminal import echo
from tracetime.errors import UsageError
from tracetime.text import count, duration, printable

if TYPE_CHECKING:
    from tracetime.capture.problems import Problem
    from tracetime.capture.recorder import Recorder
    from tracetime.clocks.json_types import Count, FromOne
    from tracetime.hosts.peer import Peer

_S: Final = 1_000_000_000
_ENDING: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_PASSED_ON: Final = (*_ENDING, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2)
_FROM_KEYBOARD: Final = (signal.SIGINT, signal.SIGQUIT)
_POLL_S: Final = 0.05
"""How often to check whether a signal has come: Ctrl-C seems to act at once."""

_GRACE_S: Final = 10.0
"""How long a command may take to end after SIGTERM; the help names this number."""

_NOT_FOUND: Final = 127
_NOT_RUN: Final = 126


# As with `time` and `nohup`, options after the command's name belong to it, also without `--`.
@click.command("record", cls=Command, context_settings={"allow_interspersed_args": False})
@output_option("The trace to write.", required=True)
@click.option("--force", is_flag=True, help="Replace the trace if it exists.")
@time_option(
    "--duration", help="How long to record: 10s, 5min. By default until Ctrl-C or the command ends."
)
@time_option("--interval", default="1s", help="The time from one snapshot to the next.")
@time_option(
    "--target-error",
    help="Adapt the interval, so that error bars between snapshots stay within this: 1us.",
)
@clocks_option("record", "By default host, all but devices; vulkan is all Vulkan devices.")
@reference_option
@click.option(
    "--max-size", type=Size(), help="Drop events and snapshots beyond this size of the file."
)
@click.option(
    "--sync",
    is_flag=True,
    help="Flush the file to the disk once a second, so that it survives a power cut.",
)
@click.option(
    "--peer",
    "hosts",
    metavar="HOST",
    multiple=True,
    help="Tie another machine's clock to this one's, as ping does: ssh://HOST or ADDRESS:PORT. "
    "Any number.",
)
@click.option(
    "--key-file",
    type=click.Path(dir_okay=False),
    help="The key that `tracetime serve` has on peers without ssh.",
)
@json_option
@click.argument("command", metavar="[-- COMMAND...]", nargs=-1, type=click.UNPROCESSED)
# long: half of it is its options and its help
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
    hosts: tuple[str, ...],
    key_file: str | None,
    as_json: bool,
    command: tuple[str, ...],
) -> int:
    """Record this machine's clocks into a Perfetto trace.

    Snapshots are taken at the start, at the end, at intervals, and when the wall clock is set.

    With a COMMAND, recording lasts while it runs.

    \b
    Examples:
      tracetime record -o clocks.pftrace --duration 10s
      tracetime record -o run.pftrace --interval 100ms -- make test
      tracetime record -o gpu.pftrace --clock host --clock vulkan:0

    \f
    Signals are passed to the COMMAND, and its exit code is passed on. After --duration it gets
    SIGTERM, and SIGKILL 10 s later.

    The file is a complete trace at any moment, even if this process is killed. A power cut may lose
    the last 30 s, or with --sync the last second. An existing file is kept unless --force is given.

    \b
    More examples:
      tracetime record -o run.pftrace --peer ssh://worker7 -- ./train
    """
    from tracetime.capture.record import record

    if out == "-":
        raise UsageError(
            "a recording cannot go to standard output: give a file, such as -o run.pftrace"
        )
    peers = _peers(hosts, key_file)
    with warnings.catch_warnings(), _Signals(_PASSED_ON if command else _ENDING) as signals:
        # They are printed at the end, with how often each occurred.
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
                peers=peers,
            )
            with recording as rec:
                code = child.wait(rec, duration) if command else _wait(duration, signals)
        except _NotStarted as error:
            report_error(error, as_json)
            return error.exit_code
        finally:
            child.end()
    _report(recording, target_error, peers, as_json)
    return code


def _peers(hosts: tuple[str, ...], key_file: str | None) -> list[Peer]:
    from tracetime.hosts.peer import Peer

    over_ssh = [host.startswith("ssh://") for host in hosts]
    if key_file is not None and all(over_ssh):
        raise UsageError(
            "--key-file is for a --peer that `tracetime serve` replies for over UDP: there is none"
        )
    return [
        Peer(host, key_file=None if ssh else key_file)
        for host, ssh in zip(hosts, over_ssh, strict=True)
    ]


class _Signals:
    """The signals while this process records: kept, or passed to the command.

    A signal does not raise an exception, which would lose what waits to be written. A second signal
    does: the recording is ending already, and its sender does not want to wait.

    Args:
        numbers: the signals. Those that are ignored, as by nohup, stay ignored.
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
        """Pass signals to a command from now on, and those that have come before it started."""
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
    """Whether Ctrl-C comes from the terminal, which sends it to the command, too."""
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
    """Wait until the time is over, or for a signal; return the exit code."""
    if duration_ns is None:
        echo("Recording until Ctrl-C ...", err=True)
    end_s = None if duration_ns is None else time.monotonic() + duration_ns / _S
    with Progress("recording", None if duration_ns is None else duration_ns / _S):
        while signals.received is None:
            left_s = _POLL_S if end_s is None else min(_POLL_S, end_s - time.monotonic())
            if left_s <= 0:
                break
            time.sleep(left_s)
    return 0 if signals.received in (None, signal.SIGINT) else 128 + signals.received


class _NotStarted(UsageError):
    """The command cannot be run; `exit_code` is what shells return then."""

    def __init__(self, message: str, exit_code: int) -> None:
        super().__init__(message)
        self.exit_code = exit_code


class _Child:
    """The command that runs during the recording.

    Args:
        words: its name and arguments.
        signals: those of this process, passed to the command once it runs.
    """

    def __init__(self, words: tuple[str, ...], signals: _Signals) -> None:
        self._words = words
        self._signals = signals
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start the command.

        Raises:
            _NotStarted: it cannot be run.
        """
        name = _text(self._words[0])
        try:
            # It inherits open files, which make's job server needs; files opened here do not pass.
            self._process = subprocess.Popen(self._words, close_fds=False)
            self._signals.pass_to(self._process)
        except FileNotFoundError:
            raise _NotStarted(f"no such command: {name}", _NOT_FOUND) from None
        except OSError as error:
            raise _NotStarted(f"cannot run {name}: {error.strerror}", _NOT_RUN) from None

    def wait(self, rec: Recorder, duration_ns: int | None) -> int:
        """Wait until it ends, or end it after the duration; return its exit code as shells do."""
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
        """End the command if it runs: by SIGTERM, and by SIGKILL if it does not end in time."""
        if self._process is None or self._process.returncode is not None:
            return
        self._process.terminate()
        try:
            self._process.wait(_GRACE_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def _text(words: str) -> str:
    """Return words of a command line as printable text; bytes that are no text become `?`."""
    return printable(words.encode(errors="replace").decode())


class _Peer(TypedDict):
    """Another machine.

    Attributes:
        name: as it was given, without udp://.
        machines: its machine_id in the trace; another one after each suspend or restart.
        exchanges: how many exchanges with it the trace has.
    """

    name: str
    machines: list[FromOne]
    exchanges: Count


class Record(TypedDict):
    """The recording that was made.

    Attributes:
        trace: the trace that was written.
        bytes: its size.
        snapshots: how many snapshots it has.
        clocks: the names of the clocks that were read.
        events_dropped: how many events did not fit into the file.
        out_of_reach: the names of the clocks whose half-width alone is above --target-error.
        floor_error_ns: by how much the floor policy was off at most between two snapshots, by
            clock.
        peers: the other machines of --peer, in the order given.
        problems: what went wrong while recording went on.
    """

    trace: str
    bytes: Count
    snapshots: Count
    clocks: list[str]
    events_dropped: Count
    out_of_reach: Sequence[str]
    floor_error_ns: dict[str, Count]
    peers: list[_Peer]
    problems: Sequence[Problem]


def _report(rec: Recorder, target_error: int | None, peers: Sequence[Peer], as_json: bool) -> None:
    facts: Record = {
        "trace": rec.path,
        "bytes": rec.size,
        "snapshots": rec.snapshots,
        "clocks": list(rec.clocks),
        "events_dropped": rec.events_dropped,
        "out_of_reach": rec.out_of_reach,
        "floor_error_ns": rec.floor_error_ns,
        "peers": [
            {"name": peer.name, "machines": peer.machines, "exchanges": peer.exchanges}
            for peer in peers
        ],
        "problems": rec.problems,
    }
    if as_json:
        print_json(facts)
        return
    # On stderr: stdout is the command's.
    short = rec.short_names
    clocks = ", ".join(short[name] for name in rec.clocks)
    echo(
        f"{printable(rec.path)}: {count(rec.snapshots, 'snapshot')} of {clocks} ({size(rec.size)})",
        err=True,
    )
    for peer in peers:
        echo(f"{printable(peer.name)}: {count(peer.exchanges, 'exchange')}", err=True)
    if rec.out_of_reach:
        missed = ", ".join(short[name] for name in rec.out_of_reach)
        echo(f"warning: half-widths alone are above --target-error: {missed}", err=True)
    floor = {name: ns for name, ns in rec.floor_error_ns.items() if name not in rec.out_of_reach}
    worst = max(floor, key=floor.__getitem__, default=None)
    if target_error is not None and worst is not None and floor[worst] > target_error:
        echo(
            "note: --target-error is for the error bars of --policy tube. --policy floor does not "
            f"interpolate: it is off by up to {duration(floor[worst])} between snapshots "
            f"({short[worst]})",
            err=True,
        )
    for problem in rec.problems:
        often = f" ({problem.times} times)" if problem.times > 1 else ""
        echo(f"warning: {problem.what}: {problem.message}{often}", err=True)
    if rec.events_dropped:
        echo(f"warning: {count(rec.events_dropped, 'event')} did not fit into the file", err=True)
