"""The messages of an exchange, as bytes: a request, and a reply of the same length.

Big-endian, 104 bytes, both:

    bytes  field
    4      magic, "ttEx"
    1      version, 3; version 2 had 96 bytes, and no time suspended, version 1 had no boot either
    1      kind: 1 a request, 2 a reply
    2      zero
    16     nonce: random, of each request; the reply repeats it
    8      epoch: random, another after each restart or suspend of the side that replies
    8      received, ns of its BOOTTIME
    8      replied, ns of its BOOTTIME
    8      the first bytes of the nonce of its reply before; zero for none
    8      when that one left by the kernel's stamp, ns of its BOOTTIME
    16     the boot that its BOOTTIME counts from: Linux's boot_id; zero where it does not say
    8      how long it was suspended in that boot, ns: its BOOTTIME less its MONOTONIC
    16     tag: HMAC-SHA256 of all that is before it, its first 16 bytes; zero without a key

In a request all from epoch to the tag is zero: it is as long as its reply, so that nobody gets more
than was sent. Whatever is not written exactly so is no message.
"""

from __future__ import annotations

import hmac
import secrets
import struct
import time
from collections.abc import Callable
from typing import Final, NamedTuple

from tracetime._kernels.hosts import read_between

LENGTH: Final = 104
NONCE_BYTES: Final = 16
EPOCH_BYTES: Final = 8
BOOT_BYTES: Final = 16
REFERENCE_BYTES: Final = 8
"""Of a nonce, where a reply refers to one before it."""

_MAGIC: Final = b"ttEx"
_VERSION: Final = 3
_REQUEST: Final = 1
_REPLY: Final = 2
_TAG_BYTES: Final = 16
_NO_TAG: Final = bytes(_TAG_BYTES)
_SIGNED: Final = LENGTH - _TAG_BYTES
_BODY: Final = struct.Struct(">4sBBH16s8sqq8sq16sq")
_NO_REPLY: Final = bytes(_SIGNED - 8 - NONCE_BYTES)


class Reply(NamedTuple):
    """The other side's reply in a round.

    Attributes:
        nonce: of the request, 16 bytes.
        epoch: 8 bytes; readings of two epochs are not of one run of the clock.
        received_ns, replied_ns: of its BOOTTIME.
        before: the first bytes of an earlier round's nonce; zero for none.
        before_replied_ns: when the reply of that one left.
        boot: 16 bytes, which boot its BOOTTIME counts from; zero where that is not known.
        suspended_ns: how long it was suspended in that boot: its BOOTTIME less its MONOTONIC.
    """

    nonce: bytes
    epoch: bytes
    received_ns: int
    replied_ns: int
    before: bytes = bytes(REFERENCE_BYTES)
    before_replied_ns: int = 0
    boot: bytes = bytes(BOOT_BYTES)
    suspended_ns: int = 0


def write_request(nonce: bytes, key: bytes | None = None) -> bytes:
    """Return the bytes of a request; nonce: 16 bytes."""
    head = _MAGIC + bytes((_VERSION, _REQUEST, 0, 0))
    return _sign(head + nonce + _NO_REPLY, key)


def read_request(data: bytes, key: bytes | None = None) -> bytes | None:
    """Return the nonce of a request; None where the bytes are none that `key` signed."""
    if len(data) != LENGTH or data[:8] != _MAGIC + bytes((_VERSION, _REQUEST, 0, 0)):
        return None
    if data[8 + NONCE_BYTES : _SIGNED] != _NO_REPLY or not _is_signed(data, key):
        return None
    return data[8 : 8 + NONCE_BYTES]


def write_reply(reply: Reply, key: bytes | None = None) -> bytes:
    """Return the bytes of a reply."""
    return _sign(_BODY.pack(_MAGIC, _VERSION, _REPLY, 0, *reply), key)


def read_reply(data: bytes, key: bytes | None = None) -> Reply | None:
    """Return a reply; None where the bytes are none that `key` signed."""
    if len(data) != LENGTH or not _is_signed(data, key):
        return None
    magic, version, kind, zero, *fields = _BODY.unpack_from(data)
    if (magic, version, kind, zero) != (_MAGIC, _VERSION, _REPLY, 0):
        return None
    return Reply(*fields)


def _sign(body: bytes, key: bytes | None) -> bytes:
    return body + (_NO_TAG if key is None else _tag(body, key))


def _is_signed(data: bytes, key: bytes | None) -> bool:
    if key is None:
        return data[_SIGNED:] == _NO_TAG
    return hmac.compare_digest(data[_SIGNED:], _tag(data[:_SIGNED], key))


def _tag(body: bytes, key: bytes) -> bytes:
    return hmac.digest(key, body, "sha256")[:_TAG_BYTES]


# Epochs: a run of BOOTTIME without a suspend.
#
# BOOTTIME counts a suspend, but by a clock that may count whole seconds alone: what was known of it
# before is not known after.

BOOTTIME: Final = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
"""The number of Linux; other systems have no BOOTTIME, and MONOTONIC there counts a suspend."""

_ROUNDING_NS: Final = 2


class OffsetBounds(NamedTuple):
    """The offset of BOOTTIME from another clock of this machine, as bounds.

    Attributes:
        at_ns: of BOOTTIME, the later reading.
        low_ns, high_ns: the two bounds.
    """

    at_ns: int
    low_ns: int
    high_ns: int


def boottime_ns() -> int:
    """The present reading of BOOTTIME, ns."""
    return time.clock_gettime_ns(BOOTTIME)


def bracket(clock: int) -> OffsetBounds:
    """The offset of a clock by readings of BOOTTIME before and after it."""
    before, there, after = read_between(BOOTTIME, clock)
    return OffsetBounds(after, before - there, after - there)


def boottime_over_monotonic() -> OffsetBounds:
    """The time that the machine was suspended, as bounds."""
    return bracket(time.CLOCK_MONOTONIC)


def own_suspended_ns() -> int:
    """The time that this machine was suspended since it was booted, ns."""
    _, low, high = boottime_over_monotonic()
    return _middle(low, high)


def _middle(low: int, high: int) -> int:
    """The middle of two bounds of the suspended time: not below 0, as it reads."""
    return max((low + high) // 2, 0)


class Epoch:
    """The epoch of this process: random bytes, and others after each suspend.

    Args:
        suspended: reads how far BOOTTIME is ahead of MONOTONIC.
    """

    def __init__(self, suspended: Callable[[], OffsetBounds] = boottime_over_monotonic) -> None:
        self._suspended = suspended
        self.id = secrets.token_bytes(EPOCH_BYTES)
        _, self._low, self._high = suspended()

    @property
    def suspended_ns(self) -> int:
        """The time that the machine was suspended before it began, by what is known so far."""
        return _middle(self._low, self._high)

    def has_ended(self) -> bool:
        """Whether there was a suspend since the last call; then another epoch has begun."""
        now = self._suspended()
        low, high = max(self._low, now.low_ns), min(self._high, now.high_ns)
        if low > high + _ROUNDING_NS:
            self.id = secrets.token_bytes(EPOCH_BYTES)
            _, self._low, self._high = now
            return True
        self._low, self._high = low, high
        return False
