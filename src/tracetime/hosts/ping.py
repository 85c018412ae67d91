"""`ping`: the offset of another machine's clock, within bounds."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from contextlib import closing
from itertools import pairwise
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from tracetime.clocks.domain import ClockDomain
from tracetime.clocks.ids import BUILTIN_IDS, ClockId
from tracetime.clocks.json_facts import as_json
from tracetime.errors import NoBoundError, UsageError
from tracetime.graph.clock_graph import ClockGraph
from tracetime.hosts.addresses import FORMS, read_key, ssh_command
from tracetime.hosts.messages import Epoch
from tracetime.hosts.recording import write_exchanges
from tracetime.hosts.rounds import Round, RoundCounts, Rounds
from tracetime.hosts.transports import PipeTransport, Transport, UdpTransport
from tracetime.text import duration

if TYPE_CHECKING:
    from tracetime.clocks.json_types import Count

# The offset of the other side's BOOTTIME, by the rounds: orders in a graph, and its bars.

HERE: Final = ClockId(BUILTIN_IDS["BOOTTIME"])
THERE: Final = ClockId(BUILTIN_IDS["BOOTTIME"], machine=1)

_APART: Final = 600
"""Two clocks get apart by less than one part of this, whatever NTP does to each: 1.5 per mille."""
_ROUNDING_NS: Final = 4

_DOMAINS: Final = (ClockDomain(HERE), ClockDomain(THERE))


class BoottimeOffset(NamedTuple):
    """The offset of the other side's BOOTTIME from this machine's, ns.

    Attributes:
        at_ns: when, BOOTTIME of this machine.
        offset_ns: the estimate.
        earliest_ns, latest_ns: it is neither less nor more than that.
    """

    at_ns: int
    offset_ns: int
    earliest_ns: int
    latest_ns: int


def graph_of(rounds: Sequence[Round]) -> ClockGraph:
    """The clocks of both sides, tied by one or more rounds."""
    graph = ClockGraph(domains=_DOMAINS)
    columns = np.array(rounds, dtype=np.int64)
    graph.add_pings(HERE, THERE, *(np.ascontiguousarray(column) for column in columns.T))
    return graph


def estimate(rounds: Sequence[Round], at_ns: int) -> BoottimeOffset | None:
    """Bound the offset at an instant; None where the rounds do not bound it.

    The bars are guaranteed: they hold as long as neither clock's rate is off by more than its
    domain says, 500 ppm.

    Raises:
        NoBoundError: the rounds contradict each other: nothing is known then.
    """
    if not rounds:
        return None
    apart_ns = contradiction_ns(rounds)
    if apart_ns:
        raise NoBoundError(
            f"the rounds contradict each other by {duration(apart_ns)}: a clock of the two was "
            "set, or runs at another rate, or replies with what is no time; try again"
        )
    found = graph_of(rounds).convert(
        at_ns, HERE, THERE, policy="tube", bars="guaranteed", bounds=True
    )
    if found.earliest is None or found.latest is None:
        return None
    return BoottimeOffset(
        at_ns, found.estimate - at_ns, found.earliest - at_ns, found.latest - at_ns
    )


def contradiction_ns(rounds: Sequence[Round]) -> int:
    """The gap by which rounds exclude every offset that drifts as clocks may, ns; 0 without.

    rounds: in the order in which they were sent.
    """
    low, high = _bounds(rounds[0])
    for before, made in pairwise(rounds):
        drift_ns = _drift_ns(made.sent_ns - before.returned_ns)
        least, most = _bounds(made)
        low, high = max(low - drift_ns, least), min(high + drift_ns, most)
        if low > high:
            return low - high
    return 0


def _bounds(made: Round) -> tuple[int, int]:
    """The least and the greatest offset, at any instant of a round."""
    drift_ns = _drift_ns(made.returned_ns - made.sent_ns)
    return made.replied_ns - made.returned_ns - drift_ns, made.received_ns - made.sent_ns + drift_ns


def _drift_ns(span_ns: int) -> int:
    return span_ns // _APART + _ROUNDING_NS


BURST: Final = 8
"""Rounds one after the other, of which the fastest is kept."""

MOST_BURSTS: Final = 10_000

_SHORTEST_S: Final = 0.01
_LONGEST_S: Final = 60.0
_USUAL_S: Final = 0.1
_NS_PER_S: Final = 1_500_000
"""How fast a bar grows after the last round."""

CONNECT_S: Final = 60.0
"""For the first reply of a process that ssh starts: a user may have to type a password."""


@as_json(
    "host at_ns offset_ns earliest_ns latest_ns delay_ns rounds sent lost ignored void "
    "restarts half_width_ns"
)
class PingResult(NamedTuple):
    """The offset of another machine's BOOTTIME from this one's.

    Attributes:
        host: the machine that was asked.
        at_ns: when that was, BOOTTIME of this machine: at the end of a round.
        offset_ns: the estimate.
        earliest_ns: the offset is not less than that.
        latest_ns: the offset is not more than that.
        delay_ns: of the fastest round, there and back.
        rounds: rounds that the bar rests on: the fastest of each burst.
        sent: requests.
        lost: requests without a reply in time.
        ignored: what came in and was no reply to the request that waited.
        void: rounds whose readings cannot be, or that a suspend came between.
        restarts: how often earlier rounds were dropped: a machine was suspended.
    """

    host: str
    at_ns: int
    offset_ns: int
    earliest_ns: int
    latest_ns: int
    delay_ns: int
    rounds: Count
    sent: Count
    lost: Count
    ignored: Count
    void: Count
    restarts: Count

    @property
    def half_width_ns(self) -> Count:
        """The error of the estimate at most, ns."""
        return max(self.latest_ns - self.offset_ns, self.offset_ns - self.earliest_ns)


def ping(
    host: str,
    *,
    bursts: int = 4,
    target_error_ns: int | None = None,
    key_file: str | os.PathLike[str] | None = None,
    timeout_s: float = 1.0,
    output: str | os.PathLike[str] | None = None,
) -> PingResult:
    """Ask another machine for its BOOTTIME, and bound how far it is ahead of this one's.

    Args:
        host: `ssh://[USER@]HOST[:PORT]`, which starts `tracetime serve --stdio` there; or
            `ADDRESS:PORT`, where `tracetime serve --bind` replies over UDP.
        bursts: how many, of 8 rounds each, 1 to 10,000.
        target_error_ns: how wide the half of the bar may become until the next burst: it sets the
            time between them, 10 ms to 60 s. None for 0.1 s.
        key_file: the key that both sides have; see `tracetime serve`.
        timeout_s: how long to wait for a reply.
        output: a Perfetto trace to write, which ties the two machines by a RemoteClockSync for
            each burst.

    Raises:
        UsageError: no such host; a number out of range; a key that others may use; a file that
            cannot be written.
        SourceError: the other side cannot be reached.
        NoBoundError: no reply came, or the rounds contradict each other.
    """
    found, rounds = measure(
        host, bursts=bursts, target_error_ns=target_error_ns, key_file=key_file, timeout_s=timeout_s
    )
    if output is not None:
        write_exchanges(output, rounds.exchanges, host, rounds.boot, rounds.suspended_ns)
    return found


def measure(
    host: str,
    *,
    bursts: int,
    target_error_ns: int | None,
    key_file: str | os.PathLike[str] | None,
    timeout_s: float,
) -> tuple[PingResult, Rounds]:
    """The result of `ping`, with the rounds; it takes and raises the same, but for the file."""
    if not 1 <= bursts <= MOST_BURSTS:
        raise UsageError(f"bursts is {bursts}: use 1 to {MOST_BURSTS:,}")
    if target_error_ns is not None and target_error_ns < 1:
        raise UsageError(f"target_error_ns is {target_error_ns}: it is above 0")
    if not 0 < timeout_s <= _LONGEST_S:
        raise UsageError(f"timeout_s is {timeout_s}: use up to {_LONGEST_S:g}")
    key = None if key_file is None else read_key(key_file)
    command = ssh_command(host)
    if command is not None and key is not None:
        raise UsageError("ssh needs no key of ours: leave the key out")
    transport: Transport = UdpTransport(host) if command is None else PipeTransport(command)
    with closing(transport):
        pinging = Pinging(transport, key, timeout_s, CONNECT_S if command else timeout_s)
        found = pinging.run(bursts, target_error_ns)
    if found is None:
        raise NoBoundError(_no_reply(host, pinging.rounds.counts))
    fastest = min(made.delay_ns for made in pinging.rounds.kept)
    counts = pinging.rounds.counts
    return PingResult(host, *found, fastest, len(pinging.rounds.kept), *counts), pinging.rounds


def _no_reply(host: str, counts: RoundCounts) -> str:
    if counts.sent > counts.lost:
        return f"no round with {host} says anything: its clock or this one runs back; try again"
    return (
        f"no reply from {host}: does `tracetime serve` run there, with the same key? "
        f"Another way: {FORMS}"
    )


class Pinging:
    """Bursts of rounds with one other side.

    Args:
        transport: to it.
        key: that both sides have.
        timeout_s, first_timeout_s: how long to wait for a reply, and for the first one.

    Attributes:
        rounds: with what became of all.
    """

    def __init__(
        self,
        transport: Transport,
        key: bytes | None = None,
        timeout_s: float = 1.0,
        first_timeout_s: float = 1.0,
        epoch: Epoch | None = None,
    ) -> None:
        self.rounds = Rounds(key)
        self._transport = transport
        self._timeout_s, self._first_timeout_s = timeout_s, first_timeout_s
        self._epoch = Epoch() if epoch is None else epoch

    def run(self, bursts: int, target_error_ns: int | None = None) -> BoottimeOffset | None:
        """Return the offset when the last round ended, after bursts of rounds; None without one."""
        for k in range(bursts):
            if k:
                time.sleep(pause_s(self.rounds.kept, target_error_ns))
            self.burst()
        kept = self.rounds.kept
        # Not now: a suspend may have followed that no reply has told of.
        return estimate(kept, kept[-1].returned_ns) if kept else None

    def burst(self) -> None:
        """Make rounds one after the other, and keep the fastest."""
        kept = self.rounds.kept
        first = len(kept)
        for k in range(BURST):
            if not self._round() and k == 0:
                break
            if self.rounds.kept is not kept:
                kept, first = self.rounds.kept, 0
        self.rounds.end_burst(first)

    def _round(self) -> bool:
        """Make a round; returns whether there was a reply."""
        timeout_s = self._timeout_s if self.rounds.kept else self._first_timeout_s
        request = self.rounds.request()
        made = self._transport.exchange(request, self.rounds.take, timeout_s)
        if self._epoch.has_ended():
            self.rounds.drop()
        elif made is None:
            self.rounds.lose()
        else:
            self.rounds.add(*made)
        return made is not None


def pause_s(rounds: Sequence[Round], target_error_ns: int | None) -> float:
    """The pause after the last round in which its bar becomes as wide as it may."""
    if not rounds or target_error_ns is None:
        return _USUAL_S
    return clamped_pause_s((target_error_ns - rounds[-1].delay_ns / 2) / _NS_PER_S)


def clamped_pause_s(wait_s: float) -> float:
    """The allowed time between two bursts that is nearest to a wanted one."""
    return min(_LONGEST_S, max(_SHORTEST_S, wait_s))
