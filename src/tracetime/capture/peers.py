"""Other machines that a recording exchanges messages with while it goes on.

How, and what that says of their clocks, is known in `hosts/`: a recording starts its peers, ends
them, and puts what they give it into its file.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable
from functools import partial
from itertools import count
from typing import Final, NamedTuple, Protocol

from tracetime.capture.problems import Problems
from tracetime.errors import UsageError
from tracetime.formats.perfetto.write.writer import TraceWriter
from tracetime.text import duration

_GRACE_S: Final = 2.0
"""For all peers together: a name server may keep a thread for longer, and what it makes then is
not written."""

_OTHER_FILES: Final = 100
"""What the recording itself and its program have open, about."""


class PeerRecording(NamedTuple):
    """The parts of a recording that a peer uses.

    Attributes:
        interval_s: from one exchange to the next, where no target says how long.
        target_error_ns: how far off its clock may become until the next one; None for any.
        new_machine: gives a machine_id that nothing else in the file has.
        put: puts whole packets into the file; returns whether there was room, and it goes on.
        note: keeps a problem of the peer.
    """

    interval_s: float
    target_error_ns: int | None
    new_machine: Callable[[], int]
    put: Callable[[bytes], bool]
    note: Callable[[str], None]


class Peer(Protocol):
    """Another machine, whose clock is recorded by exchanges with it."""

    @property
    def name(self) -> str:
        """The name of the peer; no other peer of the recording has it."""

    @property
    def exchanges(self) -> int:
        """The number of its exchanges in the trace so far."""

    @property
    def most_files(self) -> int:
        """The number of files that it has open at most."""

    def check(self) -> None:
        """Raise UsageError where the peer cannot start."""

    def start(self, recording: PeerRecording) -> None:
        """Begin to exchange messages, in a thread of its own."""

    def stop(self) -> None:
        """End the exchanges, soon; may be repeated, and called by a signal's handler."""

    def join(self, timeout_s: float) -> None:
        """Wait until the thread has ended, or until the timeout."""


class Peers:
    """The peers of one recording.

    Args:
        peers: all of them.
        interval_s, target_error_ns: as of `PeerRecording`; no interval for no threads.

    Raises:
        UsageError: one of them is none or cannot start, or two have one name; there is no
            interval; together they open more files than this process may.
    """

    def __init__(
        self,
        peers: Iterable[Peer] = (),
        interval_s: float | None = None,
        target_error_ns: int | None = None,
    ) -> None:
        self._interval_s, self._target_error_ns = interval_s, target_error_ns
        self._peers = [peers] if isinstance(peers, str) else list(peers)
        names: set[str] = set()
        for peer in self._peers:
            if isinstance(peer, str):
                raise UsageError(f"a peer is no text: give tracetime.Peer({peer!r})")
            if peer.name in names:
                raise UsageError(f"the peer {peer.name} is given twice: give it once")
            names.add(peer.name)
            peer.check()
        if interval_s is None and names:
            raise UsageError("peers are asked by a thread: give an interval")
        _check_files(self._peers)
        # A signal's handler may end the recording while this thread starts it.
        self._lock = threading.RLock()
        self._ended = False
        self._started_s = 0.0
        self._problems: Problems | None = None

    def start(self, writer: TraceWriter, problems: Problems) -> None:
        """Start all peers; their packets are written to the trace until `end`."""
        self._started_s, self._problems = time.monotonic(), problems
        numbers = count(1)
        for peer in self._peers:
            assert self._interval_s is not None
            recording = PeerRecording(
                self._interval_s,
                self._target_error_ns,
                partial(next, numbers),
                partial(self._put, writer),
                partial(self._note, problems, peer.name),
            )
            try:
                peer.start(recording)
            except RuntimeError as error:
                # The system has no more threads.
                recording.note(f"it is not asked: {error}")

    def end(self) -> None:
        """End all peers: none of their packets is written, and no problem is kept, from then on."""
        if self._problems is not None and not self._ended:
            self._note_silent(self._problems)
        with self._lock:
            self._ended = True
        for peer in self._peers:
            peer.stop()
        end_s = time.monotonic() + _GRACE_S
        for peer in self._peers:
            peer.join(max(0.0, end_s - time.monotonic()))

    def _note_silent(self, problems: Problems) -> None:
        """Note the peers that had no exchange, and no problem that says why."""
        noted = {problem.what for problem in problems.all()}
        ns = round((time.monotonic() - self._started_s) * 1_000_000_000)
        for peer in self._peers:
            if not peer.exchanges and peer.name not in noted:
                problems.note(peer.name, f"no exchange in {duration(ns)}: its clock is not tied")

    def _note(self, problems: Problems, name: str, message: str) -> None:
        # A call that the end breaks off is no problem.
        if not self._ended:
            problems.note(name, message)

    def _put(self, writer: TraceWriter, packets: bytes) -> bool:
        with self._lock:
            return not self._ended and writer.put(packets)


def _check_files(peers: Iterable[Peer]) -> None:
    """Raise UsageError where peers would take the files that the recording needs."""
    needed = sum(peer.most_files for peer in peers) + _OTHER_FILES
    allowed = os.sysconf("SC_OPEN_MAX") if hasattr(os, "sysconf") else -1
    if needed > _OTHER_FILES and 0 <= allowed < needed:
        raise UsageError(
            f"so many peers open some {needed} files, and this process may open {allowed}: allow "
            f"it more, as `ulimit -n {needed}` does"
        )
