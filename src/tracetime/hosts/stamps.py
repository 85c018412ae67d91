"""The times of datagrams that left and came in, by the kernel: SO_TIMESTAMPING, software stamps.

See Linux's Documentation/networking/timestamping.rst. The stamps are of REALTIME. What it is behind
BOOTTIME never changes but where REALTIME is set, so that readings of both, one between two of the
other, make a stamp one of BOOTTIME within two bounds. A stamp says when a datagram left at the
earliest, and came in at the latest; where REALTIME may have been set meanwhile, the caller's own
readings of BOOTTIME say so instead.
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable
from typing import Final, NamedTuple

from tracetime._kernels.hosts import Datagrams, was_set
from tracetime.capture.steps import timer_of_the_wall_clock
from tracetime.errors import SourceError
from tracetime.hosts.messages import BOOTTIME, OffsetBounds, bracket

_SO_TIMESTAMPING: Final = 37
_TX_SOFTWARE, _RX_SOFTWARE, _SOFTWARE, _OPT_ID, _OPT_TSONLY = (
    1 << 1,
    1 << 3,
    1 << 4,
    1 << 7,
    1 << 11,
)
_ASKED: Final = _TX_SOFTWARE | _RX_SOFTWARE | _SOFTWARE | _OPT_ID | _OPT_TSONLY
_ROUNDING_NS: Final = 2


class _RealtimeSteps:
    """A watch of REALTIME; raises SourceError where the system does not say that it was set."""

    def __init__(self) -> None:
        self._timer = timer_of_the_wall_clock()
        if self._timer < 0:
            raise SourceError("this system does not tell when REALTIME is set")

    def seen(self) -> bool:
        """Whether REALTIME was set since the last call."""
        return was_set(self._timer)

    def close(self) -> None:
        """Close the timer."""
        os.close(self._timer)


class KernelClock(NamedTuple):
    """Readers of the offset of BOOTTIME from REALTIME, and of whether REALTIME was set."""

    ahead: Callable[[], OffsetBounds]
    was_set: Callable[[], bool]


class StampedTimes:
    """The readings of BOOTTIME at stamps.

    Args:
        clock: of this machine.
    """

    def __init__(self, clock: KernelClock) -> None:
        self._clock = clock
        self._since_ns, self._low, self._high = clock.ahead()

    def update(self) -> None:
        """Read the clocks: call it after a stamp was read, and before it is used."""
        now = self._clock.ahead()
        low, high = max(self._low, now.low_ns), min(self._high, now.high_ns)
        if self._clock.was_set() or low > high:
            self._since_ns, self._low, self._high = self._clock.ahead()
        else:
            self._low, self._high = low, high

    def bounds(self, stamp_ns: int) -> tuple[int, int] | None:
        """BOOTTIME at a stamp, at the earliest and the latest; None where that is not known."""
        low, high = stamp_ns + self._low - _ROUNDING_NS, stamp_ns + self._high + _ROUNDING_NS
        return (low, high) if low >= self._since_ns else None

    def came_in(self, stamp_ns: int | None, read_ns: int) -> int:
        """BOOTTIME when a datagram had surely come in that was read before `read_ns`."""
        bounds = None if stamp_ns is None else self.bounds(stamp_ns)
        return read_ns if bounds is None or bounds[0] > read_ns else min(bounds[1], read_ns)

    def left(self, stamp_ns: int | None, written_ns: int, until_ns: int) -> int:
        """BOOTTIME when a datagram had surely not left that was written after `written_ns`.

        until_ns: BOOTTIME when it had left.
        """
        bounds = None if stamp_ns is None else self.bounds(stamp_ns)
        if bounds is None or not written_ns <= bounds[1] or bounds[0] > until_ns:
            return written_ns
        return max(bounds[0], written_ns)


class StampedSocket:
    """A datagram socket whose kernel stamps what leaves and comes in, where it can.

    Args:
        sock: the socket.
        most: bytes of a datagram that are received.

    Attributes:
        times: None where it cannot.
    """

    def __init__(self, sock: socket.socket, most: int) -> None:
        self.socket = sock
        self._datagrams = Datagrams(sock.fileno(), BOOTTIME, most)
        self.times: StampedTimes | None = None
        self._steps: _RealtimeSteps | None = None
        try:
            steps = self._steps = _RealtimeSteps()
            sock.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPING, _ASKED)
        except (OSError, SourceError):
            return
        clock = KernelClock(lambda: bracket(time.CLOCK_REALTIME), steps.seen)
        self.times = StampedTimes(clock)

    def receive(self) -> tuple[bytes, int | None, int, bytes]:
        """Wait for a datagram: its first bytes, its stamp, BOOTTIME after, and who sent it."""
        return self._datagrams.receive()

    def send(self, data: bytes, source: bytes) -> int:
        """Send a datagram to who sent another; returns BOOTTIME after."""
        return self._datagrams.send(data, source)

    def departures(self, most: int) -> list[tuple[int, int]]:
        """The numbers of datagrams that left, from 0 modulo 2^32, with their stamps.

        most: so many, and no more, at once.
        """
        return [] if self.times is None else self._datagrams.departures(most)

    def close(self) -> None:
        """Close the socket."""
        self._datagrams.close()
        self.socket.close()
        if self._steps is not None:
            self._steps.close()
