"""`Peer`: another machine whose clock a recording ties to this one's, while it goes on."""

from __future__ import annotations

import os
import threading
import time
from contextlib import closing
from typing import Final

from tracetime.capture.flushing import Ending
from tracetime.capture.peers import PeerRecording
from tracetime.errors import SourceError, UsageError
from tracetime.hosts.addresses import check_host, read_key, ssh_command
from tracetime.hosts.ping import CONNECT_S, Pinging, clamped_pause_s, pause_s
from tracetime.hosts.recording import exchange_packet, machine_packets
from tracetime.hosts.transports import PipeTransport, Transport, UdpTransport
from tracetime.text import duration

# Bursts of rounds with a peer of a recording, each written as it is made.

NO_REPLY: Final = "no reply: does `tracetime serve` run there, with the same key?"
RESTARTED: Final = (
    "its clock or this machine's was suspended, or `tracetime serve` started again: from then on "
    "it is another machine in the trace"
)

_SOONEST_S: Final = 1.0
_LATEST_S: Final = 60.0


class Waits:
    """The wait after the end of an epoch: twice as long each time, 1 s after one of a minute.

    Each epoch is a machine in the trace: a peer that ends them at once does not fill the file.
    """

    def __init__(self) -> None:
        self._wait_s, self._since_s = _SOONEST_S, time.monotonic()

    def next_s(self) -> float:
        """The seconds to wait, now that one has ended."""
        now_s = time.monotonic()
        if now_s - self._since_s >= _LATEST_S + self._wait_s:
            self._wait_s = _SOONEST_S
        wait_s, self._wait_s = self._wait_s, min(2 * self._wait_s, _LATEST_S)
        self._since_s = now_s
        return wait_s


class PeerExchanges:
    """The exchanges with a peer over one connection.

    Each epoch is a machine of its own in the trace: nothing is known of how far a suspend has
    moved the clock against what it was before.

    Args:
        name: of the peer.
        pinging: what makes the rounds.
        recording: gets the packets and the problems.
        waits: of the peer.

    Attributes:
        written: how many exchanges.
        machines: the machine_id of each epoch that has any.
    """

    def __init__(self, name: str, pinging: Pinging, recording: PeerRecording, waits: Waits) -> None:
        self._name = name
        self._pinging = pinging
        self._recording = recording
        self._waits = waits
        self._epoch = -1
        self._is_out_of_reach = False
        self.written = 0
        self.machines: list[int] = []

    def burst(self) -> float | None:
        """Make a burst, and write it; returns the seconds until the next, None if none is due."""
        rounds = self._pinging.rounds
        before = rounds.counts
        self._pinging.burst()
        counts = rounds.counts
        least_s = 0.0
        if counts.restarts > before.restarts:
            self._recording.note(RESTARTED)
            least_s = self._waits.next_s()
        if counts.sent - before.sent == counts.lost - before.lost:
            self._recording.note(NO_REPLY)
        for made in rounds.drain():
            packets = exchange_packet(self._machine(), made)
            if not self._recording.put(packets):
                return None
            self.written += 1
        return max(self._pause_s(), least_s)

    def _machine(self) -> int:
        """The machine_id of this epoch; it is described in the trace first."""
        rounds = self._pinging.rounds
        if self._epoch != rounds.counts.restarts:
            self._epoch = rounds.counts.restarts
            self.machines.append(self._recording.new_machine())
            self._recording.put(
                machine_packets(self.machines[-1], self._name, rounds.boot, rounds.suspended_ns)
            )
        return self.machines[-1]

    def _pause_s(self) -> float:
        kept, target_ns = self._pinging.rounds.kept, self._recording.target_error_ns
        if target_ns is None or not kept:
            return clamped_pause_s(self._recording.interval_s)
        delay_ns = kept[-1].delay_ns
        if delay_ns < 2 * target_ns:
            return pause_s(kept, target_ns)
        if not self._is_out_of_reach:
            self._is_out_of_reach = True
            self._recording.note(
                f"a round there and back takes {duration(delay_ns)}: no interval brings the error "
                "below the target"
            )
        return clamped_pause_s(self._recording.interval_s)


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
        self, host: str, *, key_file: str | os.PathLike[str] | None = None, timeout_s: float = 1.0
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
        """The number of exchanges in the trace so far."""
        return sum(one.written for one in self._connections)

    @property
    def machines(self) -> list[int]:
        """The peer's machine_ids in the trace; a new one after each suspend or restart."""
        return [machine for one in self._connections for machine in one.machines]

    @property
    def most_files(self) -> int:
        """The number of files that it has open at most, also while it connects."""
        return _FILES_OF_UDP if self._command is None else _FILES_OF_SSH

    def check(self) -> None:
        """Raise UsageError where a recording has it already."""
        if self._thread is not None:
            raise UsageError(f"the peer {self.name} is of another recording: make a new one")

    def start(self, recording: PeerRecording) -> None:
        """Begin to ask the peer, for a recording; `record` does that."""
        self._thread = threading.Thread(
            target=self._run, args=(recording,), name=f"tracetime {self.name}", daemon=True
        )
        self._thread.start()

    def stop(self) -> None:
        """Ask the peer no more; `Recorder.close` does that."""
        self._stop.set()
        with self._lock:
            if self._transport is not None:
                self._transport.interrupt()

    def join(self, timeout_s: float) -> None:
        """Wait until its thread has ended, or the timeout; `Recorder.close` does that."""
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
