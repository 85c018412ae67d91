"""The side that replies, as functions of bytes: no socket, and no clock but those it is given."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Final, NamedTuple

from tracetime.hosts.epochs import Epoch
from tracetime.hosts.limits import RateLimit
from tracetime.hosts.messages import BOOT_BYTES, REFERENCE_BYTES, Reply, read_request, write_reply

_NO_NONCE: Final = bytes(REFERENCE_BYTES)


class Counts(NamedTuple):
    """What became of all that came in.

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
        """What became of all so far."""
        return Counts(**self._counts)

    def _count(self, what: str) -> None:
        self._counts[what] += 1
