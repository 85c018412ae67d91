"""`Peer`: another machine whose clock a recording ties to this one's, while it goes on."""

from __future__ import annotations

import os
import threading
from contextlib import closing
from typing import Final

from tracetime.capture.peers import PeerRecording
from tracetime.capture.stop import Ending
from tracetime.errors import SourceError, UsageError
from tracetime.hosts.addresses import check_host, ssh_command
from tracetime.hosts.keys import read_key
from tracetime.hosts.peer_exchanges import PeerExchanges, Waits
from tracetime.hosts.ping import CONNECT_S, Pinging
from tracetime.hosts.transports import PipeTransport, Transport, UdpTransport

_LONGEST_S: Final = 60.0

_FILES_OF_UDP: Final = 4
"""A socket with a timer of the wall clock, and another one while it goes to another place."""
_FILES_OF_SSH: Final = 8
"""Both ends of three pipes, and of the one that says whether ssh started."""


class Peer:
    """Another machine, for `record(..., peers=[...])`.

    While the recording goes on, a thread asks it for its BOOTTIME in bursts of 8 rounds. A peer
    that cannot be reached is a problem of the recording, and tried again.

    Args:
        host: `ssh://[USER@]HOST[:PORT]`, which starts `tracetime serve --stdio` there and must not
            ask for a password; or `ADDRESS:PORT`, where `tracetime serve --bind` replies over UDP.
        key_file: the key that both sides have; see `tracetime serve`.
        timeout_s: how long to wait for a reply.

    Attributes:
        name: the host, without `udp://`.

    Raises:
        UsageError: no such host; a key that cannot be read, or that others may use.
    """

    def __init__(
        self,
        host: str,
        *,
        key_file: str | os.PathLike[str] | None = None,
        timeout_s: float = 1.0,
    ) -> None:
        if not 0 < timeout_s <= _LONGEST_S:
            raise UsageError(f"timeout_s is {timeout_s}: use up to {_LONGEST_S:g}")
        check_host(host)
        # Of two ways to write a host, one.
        self.name = host.removeprefix("udp://").removesuffix("/")
        self._key = None if key_file is None else read_key(key_file)
        self._command = ssh_command(host, asks=False)
        if self._command is not None and self._key is not None:
            raise UsageError("ssh needs no key of ours: leave the key out")
        self._timeout_s = timeout_s
        self._stop = Ending()
        self._lock = threading.RLock()
        self._transport: Transport | None = None
        self._thread: threading.Thread | None = None
        self._waits = Waits()
        self._connections: list[PeerExchanges] = []

    @property
    def exchanges(self) -> int:
        """How many are in the trace so far."""
        return sum(one.written for one in self._connections)

    @property
    def machines(self) -> list[int]:
        """Its machine_id in the trace; others after a suspend or a restart."""
        return [machine for one in self._connections for machine in one.machines]

    @property
    def most_files(self) -> int:
        """How many files it has open at most, also while it connects."""
        return _FILES_OF_UDP if self._command is None else _FILES_OF_SSH

    def check(self) -> None:
        """Raise UsageError where a recording has it already."""
        if self._thread is not None:
            raise UsageError(f"the peer {self.name} is of another recording: make a new one")

    def start(self, recording: PeerRecording) -> None:
        """Begin to ask it, for a recording; `record` does that."""
        self._thread = threading.Thread(
            target=self._run, args=(recording,), name=f"tracetime {self.name}", daemon=True
        )
        self._thread.start()

    def stop(self) -> None:
        """Ask it no more; `Recorder.close` does that."""
        self._stop.set()
        with self._lock:
            if self._transport is not None:
                self._transport.interrupt()

    def join(self, timeout_s: float) -> None:
        """Wait until its thread has ended, or so long; `Recorder.close` does that."""
        if self._thread is not None:
            self._thread.join(timeout_s)

    def _run(self, recording: PeerRecording) -> None:
        while not self._stop.is_set():
            try:
                with closing(self._connect()) as transport:
                    self._exchange(transport, recording)
            except (SourceError, UsageError) as error:
                recording.note(str(error))
            with self._lock:
                self._transport = None
            self._stop.wait(self._waits.next_s())

    def _connect(self) -> Transport:
        transport: Transport = (
            UdpTransport(self.name)
            if self._command is None
            else PipeTransport(self._command, alone=True)
        )
        with self._lock:
            self._transport = transport
            if self._stop.is_set():
                transport.interrupt()
        return transport

    def _exchange(self, transport: Transport, recording: PeerRecording) -> None:
        """Make bursts until the recording ends, or the connection."""
        first_s = self._timeout_s if self._command is None else CONNECT_S
        pinging = Pinging(transport, self._key, self._timeout_s, first_s)
        exchanges = PeerExchanges(self.name, pinging, recording, self._waits)
        self._connections.append(exchanges)
        while not self._stop.is_set():
            pause_s = exchanges.burst()
            if pause_s is None:
                # The file is full: nothing of it would be written.
                self._stop.wait()
                return
            self._stop.wait(pause_s)
