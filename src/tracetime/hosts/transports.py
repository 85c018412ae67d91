"""The ways of a request to the other side and back: over UDP, and over the pipes of ssh."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import subprocess
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple, Protocol

from tracetime.errors import SourceError
from tracetime.hosts.addresses import resolve
from tracetime.hosts.messages import LENGTH, Reply, boottime_ns
from tracetime.hosts.stamps import StampedSocket
from tracetime.text import printable

_MOST_STAMPS: Final = 64
_SAYS_WITHIN_S: Final = 0.5
_MOST_SAID: Final = 4096
_LONGEST_LINE: Final = 200


class TimedReply(NamedTuple):
    """A reply, and BOOTTIME before its request left and after it came in."""

    reply: Reply
    sent_ns: int
    returned_ns: int


class Transport(Protocol):
    """A connection that carries requests to one other side."""

    def exchange(
        self, request: bytes, take: Callable[[bytes], Reply | None], timeout_s: float
    ) -> TimedReply | None:
        """Send a request, and return the reply that `take` accepts; None where none comes."""

    def interrupt(self) -> None:
        """End all waiting, now and from now on; another thread may call this."""

    def close(self) -> None:
        """End the connection."""


class UdpTransport:
    """A connection to `ADDRESS:PORT`, with the kernel's stamps where it has them.

    Where a name leads to several places, they are asked in turn until one replies.

    Raises:
        UsageError: no such address.
        SourceError: it cannot be reached.
    """

    def __init__(self, address: str) -> None:
        self._address = address
        self._places = deque(resolve(address))
        self._socket = self._connect()
        self._sent = 0
        self._has_replied = self._interrupted = False

    def exchange(
        self, request: bytes, take: Callable[[bytes], Reply | None], timeout_s: float
    ) -> TimedReply | None:
        end = time.monotonic() + timeout_s
        for _ in range(len(self._places)):
            made = self._exchange(request, take, end)
            self._has_replied |= made is not None
            if self._has_replied or len(self._places) == 1 or self._interrupted:
                return made
            self._places.rotate(-1)
            before, self._socket, self._sent = self._socket, self._connect(), 0
            before.close()
            if time.monotonic() >= end:
                break
        return None

    def _connect(self) -> StampedSocket:
        """A socket to the first place that can be connected to, which then comes first of all.

        Raises:
            SourceError: there is none.
        """
        for _ in range(len(self._places)):
            family, place = self._places[0]
            try:
                sock = socket.socket(family, socket.SOCK_DGRAM)
            except OSError as error:
                failed = error
            else:
                try:
                    # Only what comes from there comes in.
                    sock.connect(place)
                    sock.setblocking(False)
                    return StampedSocket(sock, LENGTH + 1)
                except OSError as error:
                    sock.close()
                    failed = error
            self._places.rotate(-1)
        raise SourceError(f"cannot reach {self._address}: {failed.strerror or failed}") from failed

    def _exchange(
        self, request: bytes, take: Callable[[bytes], Reply | None], end: float
    ) -> TimedReply | None:
        times = self._socket.times
        if times is not None:
            times.update()
        self._socket.departures(_MOST_STAMPS)
        written_ns = boottime_ns()
        try:
            self._socket.socket.send(request)
        except OSError:
            # A reply before, that nobody took: the other side is not there, or not yet.
            time.sleep(max(0.0, min(end - time.monotonic(), 0.05)))
            return None
        number, self._sent = self._sent, (self._sent + 1) & 0xFFFF_FFFF
        departures = self._socket.departures(1)
        while True:
            came = self._next(end, departures)
            if came is None:
                return None
            data, stamp, read_ns = came
            reply = take(data)
            if reply is not None:
                break
        if times is None:
            return TimedReply(reply, written_ns, read_ns)
        departures += self._socket.departures(_MOST_STAMPS)
        times.update()
        left = next((ns for one, ns in departures if one == number), None)
        returned_ns = times.came_in(stamp, read_ns)
        return TimedReply(reply, times.left(left, written_ns, returned_ns), returned_ns)

    def _next(
        self, end: float, departures: list[tuple[int, int]]
    ) -> tuple[bytes, int | None, int] | None:
        """Wait for a datagram: it, its stamp, BOOTTIME after; None where none comes in time."""
        poll = select.poll()
        poll.register(self._socket.socket, select.POLLIN)
        while not self._interrupted and (left_s := end - time.monotonic()) > 0:
            # Stamps of what left wake it, too.
            poll.poll(left_s * 1000 + 1)
            try:
                data, stamp, read_ns, _ = self._socket.receive()
            except BlockingIOError:
                departures += self._socket.departures(_MOST_STAMPS)
            except OSError:
                return None
            else:
                return data, stamp, read_ns
        return None

    def interrupt(self) -> None:
        self._interrupted = True
        with contextlib.suppress(OSError):
            # It wakes the thread that waits for a datagram.
            self._socket.socket.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self._socket.close()


class PipeTransport:
    """A connection to a process that runs `tracetime serve --stdio`, here or over ssh.

    Args:
        command: what starts it.
        alone: whether it gets neither the terminal nor its signals: it then asks nobody, prints
            nothing, and Ctrl-C does not end it.

    Raises:
        SourceError: there is no such program.
    """

    def __init__(self, command: Sequence[str], *, alone: bool = False) -> None:
        pipe = subprocess.PIPE
        try:
            self._process = subprocess.Popen(
                command,
                stdin=pipe,
                stdout=pipe,
                stderr=pipe if alone else None,
                bufsize=0,
                start_new_session=alone,
            )
        except OSError as error:
            raise SourceError(f"cannot start {command[0]}: {error.strerror or error}") from error
        self._command = command[0]
        self._alone = alone
        assert self._process.stdin is not None
        # Whoever does not read would let a write wait for ever.
        os.set_blocking(self._process.stdin.fileno(), False)

    def exchange(
        self, request: bytes, take: Callable[[bytes], Reply | None], timeout_s: float
    ) -> TimedReply | None:
        end = time.monotonic() + timeout_s
        sent_ns = self._write(request, end)
        if sent_ns is None:
            return None
        while (data := self._read(end)) is not None:
            returned_ns = boottime_ns()
            reply = take(data)
            if reply is not None:
                return TimedReply(reply, sent_ns, returned_ns)
            if data[:4] != request[:4]:
                raise SourceError(
                    f"{self._command} printed something else than replies: `tracetime serve "
                    "--stdio` has to run there, and no shell may print anything before it"
                )
        return None

    def _write(self, request: bytes, end: float) -> int | None:
        """Write a request; BOOTTIME before that, or None where nobody reads in time."""
        assert self._process.stdin is not None
        file = self._process.stdin.fileno()
        # A pipe takes so little as a whole, or not at all (POSIX: PIPE_BUF).
        while _is_ready(file, select.POLLOUT, end):
            sent_ns = boottime_ns()
            try:
                os.write(file, request)
            except BlockingIOError:
                continue
            except OSError as error:
                raise self._ended() from error
            return sent_ns
        return None

    def _read(self, end: float) -> bytes | None:
        assert self._process.stdout is not None
        data, file = b"", self._process.stdout.fileno()
        while len(data) < LENGTH:
            if not _is_ready(file, select.POLLIN, end):
                if data:
                    raise SourceError(f"{self._command} stopped within a reply: try again")
                return None
            more = os.read(file, LENGTH - len(data))
            if not more:
                raise self._ended()
            data += more
        return data

    def _ended(self) -> SourceError:
        return SourceError(
            f"{self._command} ended: does `tracetime serve --stdio` run on the other side?"
            + self._last_error_line()
        )

    def _last_error_line(self) -> str:
        """The last line of the process on its standard error, where nobody has seen it."""
        errors = self._process.stderr
        end = time.monotonic() + _SAYS_WITHIN_S
        if errors is None or not _is_ready(errors.fileno(), select.POLLIN, end):
            return ""
        text = os.read(errors.fileno(), _MOST_SAID).decode(errors="replace")
        lines = [line for line in text.splitlines() if line.strip()]
        return f" It says: {printable(lines[-1], _LONGEST_LINE)}" if lines else ""

    def interrupt(self) -> None:
        self._send(signal.SIGTERM)

    def _send(self, number: signal.Signals) -> None:
        """Send a signal to the process; where it has a session of its own, to what it began, too.

        A script in the place of ssh would end, and what it runs keep the pipe open.
        """
        if self._alone and self._process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, number)
        else:
            self._process.send_signal(number)

    def close(self) -> None:
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            if pipe is not None:
                pipe.close()
        try:
            self._process.wait(1)
        except subprocess.TimeoutExpired:
            self._send(signal.SIGKILL)
            self._process.wait()


def _is_ready(file: int, event: int, end: float) -> bool:
    """Wait until a file can be read or written (select.POLL...), or has ended; False if neither.

    end: until when, s of time.monotonic.
    """
    poll = select.poll()
    poll.register(file, event)
    left_s = end - time.monotonic()
    return left_s > 0 and bool(poll.poll(left_s * 1000 + 1))
