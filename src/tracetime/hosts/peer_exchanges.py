"""Bursts of rounds with a peer of a recording, each written as it is made."""

from __future__ import annotations

import time
from typing import Final

from tracetime.capture.peers import PeerRecording
from tracetime.hosts.ping import Pinging, clamped_pause_s, pause_s
from tracetime.hosts.recording import exchange_packet, machine_packets
from tracetime.text import duration

NO_REPLY: Final = "no reply: does `tracetime serve` run there, with the same key?"
RESTARTED: Final = (
    "its clock or this machine's was suspended, or `tracetime serve` started again: from then on "
    "it is another machine in the trace"
)

_SOONEST_S: Final = 1.0
_LATEST_S: Final = 60.0


class Waits:
    """How long to wait after an epoch ends: twice as long each time, 1 s after one of a minute.

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
