"""The sides that reply: over UDP, and over the pipes of an ssh connection."""

from __future__ import annotations

import ipaddress
import socket
from collections import OrderedDict
from collections.abc import Callable
from typing import BinaryIO, Final

from tracetime.errors import UsageError
from tracetime.hosts.addresses import resolve
from tracetime.hosts.epochs import boottime_ns
from tracetime.hosts.limits import RateLimit
from tracetime.hosts.messages import LENGTH
from tracetime.hosts.responder import Responder
from tracetime.hosts.stamps import StampedSocket, StampedTimes
from tracetime.sources.boot import boot_id

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
    """Replies to the requests of one UDP address.

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
        """What became of the datagrams so far, in words."""
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
    """What became of the requests, in words."""
    return ", ".join(
        f"{n:,} {what}" for what, n in responder.counts._asdict().items() if n or what == "replied"
    )


def _host(source: bytes) -> bytes:
    """Who is limited: an address, of IPv6 its network of 64 bits, which one host may have.

    source: sockaddr_in or sockaddr_in6: family, port, and the address, after 8 bytes that of IPv6.
    """
    if len(source) < _SOCKADDR_IN6:
        return source[4:8]
    address = source[8:24]
    return address[12:] if address.startswith(_MAPPED) else address[:8]
