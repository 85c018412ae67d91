"""The sides that reply: over UDP, and over the pipes of an ssh connection."""

from __future__ import annotations

import ipaddress
import socket
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import BinaryIO, Final, NamedTuple

from tracetime.errors import UsageError
from tracetime.hosts.addresses import resolve
from tracetime.hosts.messages import (
    BOOT_BYTES,
    LENGTH,
    REFERENCE_BYTES,
    Epoch,
    Reply,
    boottime_ns,
    read_request,
    write_reply,
)
from tracetime.hosts.stamps import StampedSocket, StampedTimes
from tracetime.sources.posix import boot_id

# The limit of replies to a source: a bucket of tokens each, for a bounded number of sources.

_S: Final = 1_000_000_000


class RateLimit:
    """Lets each source have `burst` at once, and `per_second` on average.

    Args:
        per_second, burst: whole numbers above 0.
        max_sources: of more, the one that was silent longest is forgotten.
    """

    def __init__(self, per_second: int, burst: int, max_sources: int) -> None:
        self._ns_each = max(1, _S // per_second)
        self._full_ns = self._ns_each * burst
        self._max_sources = max_sources
        # By source, from when on its bucket is full, ns: what is missing refills until then.
        self._full_at: OrderedDict[Hashable, int] = OrderedDict()

    def __len__(self) -> int:
        return len(self._full_at)

    def allows(self, source: Hashable, now_ns: int) -> bool:
        """Take a token of the source, if there is one; now_ns: of a clock that never runs back."""
        full_at = max(self._full_at.get(source, now_ns), now_ns) + self._ns_each
        if full_at > now_ns + self._full_ns:
            return False
        self._full_at[source] = full_at
        self._full_at.move_to_end(source)
        if len(self._full_at) > self._max_sources:
            self._full_at.popitem(last=False)
        return True


_NO_NONCE: Final = bytes(REFERENCE_BYTES)


class Counts(NamedTuple):
    """The numbers of messages that came in, by their fate.

    Attributes:
        replied: requests with a reply.
        malformed: what is no request, or not signed with the key.
        limited: requests of a source that sent too many.
        suspended: requests that a suspend came between.
    """

    replied: int = 0
    malformed: int = 0
    limited: int = 0
    suspended: int = 0


class Responder:
    """Replies to requests.

    Args:
        key: that requests are signed with; None for none.
        limit: how many replies a source gets; None for any number.
        epoch: of the clock that it reads.
        boot: which boot that counts from, 16 bytes; empty where that is not known.
    """

    def __init__(
        self,
        key: bytes | None = None,
        limit: RateLimit | None = None,
        epoch: Epoch | None = None,
        boot: bytes = b"",
    ) -> None:
        self._key = key
        self._limit = limit
        self._epoch = Epoch() if epoch is None else epoch
        self._boot = boot or bytes(BOOT_BYTES)
        self._counts = Counts()._asdict()

    def take(self, data: bytes, source: Hashable, now_ns: int) -> bytes | None:
        """Return the nonce of a request that gets a reply; None for one that gets none.

        Args:
            data: what came in.
            source: who sent it.
            now_ns: BOOTTIME.
        """
        nonce = read_request(data, self._key)
        if nonce is None:
            self._count("malformed")
        elif self._limit is not None and not self._limit.allows(source, now_ns):
            self._count("limited")
        else:
            return nonce
        return None

    def reply(
        self, nonce: bytes, received_ns: int, replied_ns: int, before: tuple[bytes, int] | None
    ) -> bytes | None:
        """Return the reply to a request that `take` took; None if there was a suspend since.

        Args:
            nonce: of the request.
            received_ns: BOOTTIME when it had come in, or later.
            replied_ns: BOOTTIME before the reply leaves.
            before: nonce of the reply before to the same source, and BOOTTIME before it left.
        """
        # The clocks are read after replied_ns: both its readings are of one epoch then.
        if self._epoch.has_ended():
            self._count("suspended")
            return None
        self._count("replied")
        earlier, left_ns = (_NO_NONCE, 0) if before is None else before
        times = received_ns, replied_ns, earlier[:REFERENCE_BYTES], left_ns
        made = Reply(nonce, self._epoch.id, *times, self._boot, self._epoch.suspended_ns)
        return write_reply(made, self._key)

    @property
    def counts(self) -> Counts:
        """The counts of all messages so far."""
        return Counts(**self._counts)

    def _count(self, what: str) -> None:
        self._counts[what] += 1


PER_SECOND: Final = 1000
"""Replies that a source gets, on average and at once."""

MAX_SOURCES: Final = 4096
"""Sources whose replies are counted: some 0.5 MB."""

_SOCKADDR_IN6: Final = 28
_MAPPED: Final = bytes(10) + b"\xff\xff"
"""What an address of IPv4 begins with where it is written as one of IPv6."""

_REMEMBERED: Final = 64
"""Replies whose departure the next reply to their sender may say."""


class UdpServer:
    """A server that replies to the requests of one UDP address.

    Args:
        address: `ADDRESS:PORT`, `[ADDRESS]:PORT`; port 0 for any free one.
        key: that requests are signed with.
        per_second: replies that a source gets, on average and at once.

    Attributes:
        address: with the port that it has.

    Raises:
        UsageError: no such address; others than this machine reach it, and there is no key.
    """

    def __init__(
        self, address: str, key: bytes | None = None, per_second: int = PER_SECOND
    ) -> None:
        family, place = resolve(address)[0]
        if key is None and not ipaddress.ip_address(place[0].partition("%")[0]).is_loopback:
            raise UsageError(
                f"other machines reach {address}: give --key-file, a key that both sides have"
            )
        sock = socket.socket(family, socket.SOCK_DGRAM)
        try:
            sock.bind(place)
        except OSError as error:
            sock.close()
            raise UsageError(f"cannot serve on {address}: {error.strerror or error}") from error
        host, port = sock.getsockname()[:2]
        self.address = f"[{host}]:{port}" if family == socket.AF_INET6 else f"{host}:{port}"
        self._socket = StampedSocket(sock, LENGTH + 1)
        self._responder = Responder(
            key, RateLimit(per_second, per_second, MAX_SOURCES), boot=boot_id()
        )
        self._sent = 0
        # Of the last replies, by their number: to whom, the nonce, and before and after sending.
        self._replies: OrderedDict[int, tuple[bytes, bytes, int, int]] = OrderedDict()
        # Of the last sources: the nonce of a reply, and before when it had not left.
        self._left: OrderedDict[bytes, tuple[bytes, int]] = OrderedDict()

    def serve(self) -> None:
        """Reply until an exception ends it."""
        while True:
            try:
                self.serve_one()
            except ConnectionError:
                continue  # An earlier reply found nobody: it is of no concern to others.

    def serve_one(self) -> None:
        """Wait for one datagram, and reply to it if it is a request."""
        data, stamp, now_ns, source = self._socket.receive()
        nonce = self._responder.take(data, _host(source), now_ns)
        if nonce is None:
            return
        times = self._socket.times
        if times is not None:
            departures = self._socket.departures(len(self._replies))
            # All stamps are read.
            times.update()
            self._note(departures, times)
            now_ns = times.came_in(stamp, now_ns)
        before = self._left.get(source)
        written_ns = boottime_ns()
        reply = self._responder.reply(nonce, now_ns, written_ns, before)
        if reply is None:
            return
        try:
            sent_ns = self._socket.send(reply, source)
        except OSError:
            return  # It cannot be reached: the request gets no reply.
        self._replies[self._sent] = (source, nonce, written_ns, sent_ns)
        self._sent = (self._sent + 1) & 0xFFFF_FFFF
        if len(self._replies) > _REMEMBERED:
            self._replies.popitem(last=False)

    def _note(self, departures: list[tuple[int, int]], times: StampedTimes) -> None:
        """Note when replies left, by their numbers and stamps."""
        for number, stamp in departures:
            sent = self._replies.pop(number, None)
            if sent is not None:
                source, nonce, written_ns, until_ns = sent
                self._left[source] = (nonce, times.left(stamp, written_ns, until_ns))
                self._left.move_to_end(source)
        while len(self._left) > _REMEMBERED:
            self._left.popitem(last=False)

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()

    @property
    def says(self) -> str:
        """The counts of datagrams so far, in words."""
        return says(self._responder)


def serve_pipes(
    requests: BinaryIO, replies: BinaryIO, read_ns: Callable[[], int] = boottime_ns
) -> Responder:
    """Reply to the requests of a pipe until it ends, or holds what is none."""
    responder = Responder(boot=boot_id())
    while True:
        data = requests.read(LENGTH)
        received_ns = read_ns()
        nonce = responder.take(data, None, received_ns) if data else None
        if nonce is None:
            return responder
        reply = responder.reply(nonce, received_ns, read_ns(), None)
        if reply is not None:
            replies.write(reply)
            replies.flush()


def says(responder: Responder) -> str:
    """The counts of requests, in words."""
    return ", ".join(
        f"{n:,} {what}" for what, n in responder.counts._asdict().items() if n or what == "replied"
    )


def _host(source: bytes) -> bytes:
    """The source that is limited: an address, of IPv6 its network of 64 bits.

    source: sockaddr_in or sockaddr_in6: family, port, and the address, after 8 bytes that of IPv6.
    """
    if len(source) < _SOCKADDR_IN6:
        return source[4:8]
    address = source[8:24]
    return address[12:] if address.startswith(_MAPPED) else address[:8]
