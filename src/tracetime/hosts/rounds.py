"""The side that asks, without a socket: it finds the request of each reply, and pairs rounds."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from tracetime.hosts.messages import (
    BOOT_BYTES,
    NONCE_BYTES,
    REFERENCE_BYTES,
    Reply,
    read_reply,
    write_request,
)

_LATEST_NS: Final = 1 << 60
"""BOOTTIME of 36 years."""

_TICKS_NS: Final = 4


class Round(NamedTuple):
    """A request and its reply; ns of BOOTTIME.

    Attributes:
        sent_ns, returned_ns: of this machine.
        received_ns, replied_ns: of the other one.
    """

    sent_ns: int
    received_ns: int
    replied_ns: int
    returned_ns: int

    @property
    def delay_ns(self) -> int:
        """The time that the messages were on their way, there and back."""
        return self.returned_ns - self.sent_ns - (self.replied_ns - self.received_ns)


class Exchange(NamedTuple):
    """Two neighbouring rounds, as readings of which each happened before the next; ns of BOOTTIME.

    Attributes:
        c1_ns: of the other machine: it replies.
        h1_ns: of this one: the reply is back, and the next request leaves.
        c2_ns: of the other: that has come in.
        h2_ns: of this one: its reply is back.
        rounds: of its burst, those that bound the most: the fastest there, back, and both ways.
    """

    c1_ns: int
    h1_ns: int
    c2_ns: int
    h2_ns: int
    rounds: tuple[Round, ...] = ()

    @property
    def span_ns(self) -> int:
        """The time that both machines took; by Perfetto's rule the error is a quarter at most."""
        return self.h2_ns - self.h1_ns + self.c2_ns - self.c1_ns


class RoundCounts(NamedTuple):
    """The numbers of requests, and of messages that came in, by their fate.

    Attributes:
        sent: requests.
        lost: requests without a reply in time.
        ignored: what came in and is no reply to the request that waits for one: an earlier one's,
            a second one, not signed with the key.
        void: rounds whose readings cannot be, or that a suspend came between.
        restarts: how often all rounds before were dropped: the other side, or this machine, was
            suspended, or started again.
    """

    sent: int = 0
    lost: int = 0
    ignored: int = 0
    void: int = 0
    restarts: int = 0


class Rounds:
    """The rounds with one other side, one request at a time.

    Args:
        key: that both sides have.

    Attributes:
        kept: the rounds of the last epoch, in the order in which they were sent.
        exchanges: of each burst of that epoch, the two neighbouring rounds that took least.
        boot: which boot of the other side that epoch is of, 16 bytes; zero where it did not say.
        suspended_ns: how long the other side was suspended in that boot, as it said last.
    """

    def __init__(self, key: bytes | None = None) -> None:
        self._key = key
        self._waiting: bytes | None = None
        self._epoch: bytes | None = None
        self._places: dict[bytes, int] = {}
        self.kept: list[Round] = []
        self.exchanges: list[Exchange] = []
        self.boot = bytes(BOOT_BYTES)
        self.suspended_ns = 0
        self.counts = RoundCounts()

    def request(self) -> bytes:
        """Return the next request; whatever comes for the one before is ignored from now on."""
        self._waiting = secrets.token_bytes(NONCE_BYTES)
        self._count("sent")
        return write_request(self._waiting, self._key)

    def take(self, data: bytes) -> Reply | None:
        """Return the reply that is waited for, once; None for anything else."""
        reply = read_reply(data, self._key)
        if reply is None or reply.nonce != self._waiting:
            self._count("ignored")
            return None
        self._waiting = None
        return reply

    def end_burst(self, first: int) -> None:
        """Keep only the fastest round of those from the `first` on."""
        neighbours = [
            _exchange(one, other)
            for one, other in pairwise(self.kept[first:])
            if one.returned_ns <= other.sent_ns and one.replied_ns <= other.received_ns
        ]
        rounds = _fastest(self.kept[first:])
        for made in sorted(neighbours, key=lambda made: made.span_ns)[:1]:
            self.exchanges.append(made._replace(rounds=rounds))
        self.kept[first:] = sorted(rounds, key=lambda made: made.delay_ns)[:1]
        self._places = {}

    def drain(self) -> list[Exchange]:
        """Return the exchanges so far, and forget them, and all rounds but the last."""
        made, self.exchanges = self.exchanges, []
        del self.kept[:-1]
        return made

    def lose(self) -> None:
        """Count a request that had no reply in time."""
        self._waiting = None
        self._count("lost")

    def add(self, reply: Reply, sent_ns: int, returned_ns: int) -> None:
        """Keep the round of a reply that `take` returned."""
        if reply.epoch != self._epoch:
            if self._epoch is not None:
                self.restart()
            self._epoch, self.boot = reply.epoch, reply.boot
        self.suspended_ns = reply.suspended_ns
        self._refine(reply)
        made = Round(sent_ns, reply.received_ns, reply.replied_ns, returned_ns)
        if not _can_be(made):
            self._count("void")
            return
        self._places = {reply.nonce[:REFERENCE_BYTES]: len(self.kept)}
        self.kept.append(made)

    def drop(self) -> None:
        """Forget the round and those before: this machine was suspended meanwhile."""
        self._count("void")
        self.restart()

    def restart(self) -> None:
        """Forget the rounds so far: they are of another epoch."""
        self._count("restarts")
        self._places = {}
        self.kept = []
        self.exchanges = []

    def _refine(self, reply: Reply) -> None:
        """Take from a reply when the one before it left."""
        place = self._places.get(reply.before)
        if place is None:
            return
        better = self.kept[place]._replace(replied_ns=reply.before_replied_ns)
        if reply.before_replied_ns >= self.kept[place].replied_ns and _can_be(better):
            self.kept[place] = better

    def _count(self, what: str) -> None:
        self.counts = self.counts._replace(**{what: getattr(self.counts, what) + 1})


def _exchange(one: Round, other: Round) -> Exchange:
    """Make an exchange of two rounds, the second sent after the first was back.

    Between a reply and the next message each machine waits, and any instant of that wait keeps the
    order: those are taken by which Perfetto's mean is the offset at the second round's middle.
    """
    c1, h2 = one.replied_ns, other.returned_ns
    offset = (other.received_ns + other.replied_ns - other.sent_ns - h2) // 2
    # Twice the mean is (c1 + c2) / 2 - h1 + c2 - (h1 + h2) / 2.
    ahead = (4 * offset + h2 - c1) // 3
    h1 = min(max(other.received_ns - ahead, one.returned_ns), other.sent_ns)
    c2 = min(max(h1 + ahead, other.received_ns), other.replied_ns)
    return Exchange(c1, h1, c2, h2)


def _fastest(rounds: Sequence[Round]) -> tuple[Round, ...]:
    """The rounds of a burst that bound the most, in the order in which they were sent."""
    if not rounds:
        return ()
    best = {
        min(rounds, key=lambda made: made.received_ns - made.sent_ns),
        min(rounds, key=lambda made: made.returned_ns - made.replied_ns),
        min(rounds, key=lambda made: made.delay_ns),
    }
    return tuple(made for made in rounds if made in best)


def _can_be(made: Round) -> bool:
    """Whether neither clock runs back, and the other side kept it no longer than it took.

    The rates of two clocks may differ by a thousandth.
    """
    away, kept = made.returned_ns - made.sent_ns, made.replied_ns - made.received_ns
    # A clock that stands at 0 has never begun.
    in_range = all(0 < ns < _LATEST_NS for ns in made)
    return in_range and away >= 0 and 0 <= kept <= away + away // 999 + _TICKS_NS
