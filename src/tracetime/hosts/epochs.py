"""Epochs: a run of BOOTTIME without a suspend.

BOOTTIME counts a suspend, but by a clock that may count whole seconds alone: what was known of it
before is not known after.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from typing import Final, NamedTuple

from tracetime._kernels.hosts import read_between
from tracetime.hosts.messages import EPOCH_BYTES

BOOTTIME: Final = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
"""The number of Linux; other systems have no BOOTTIME, and MONOTONIC there counts a suspend."""

_ROUNDING_NS: Final = 2


class Bracket(NamedTuple):
    """How far BOOTTIME is ahead of another clock of this machine.

    Attributes:
        at_ns: of BOOTTIME, the later reading.
        low_ns, high_ns: the two bounds.
    """

    at_ns: int
    low_ns: int
    high_ns: int


def boottime_ns() -> int:
    """Read BOOTTIME."""
    return time.clock_gettime_ns(BOOTTIME)


def bracket(clock: int) -> Bracket:
    """Read a clock between two readings of BOOTTIME."""
    before, there, after = read_between(BOOTTIME, clock)
    return Bracket(after, before - there, after - there)


def boottime_over_monotonic() -> Bracket:
    """How long the machine was suspended, between two bounds."""
    return bracket(time.CLOCK_MONOTONIC)


def own_suspended_ns() -> int:
    """How long this machine was suspended since it was booted, ns."""
    _, low, high = boottime_over_monotonic()
    return _middle(low, high)


def _middle(low: int, high: int) -> int:
    """Between two bounds of how long a machine was suspended: not below 0, as it reads."""
    return max((low + high) // 2, 0)


class Epoch:
    """The epoch of this process: random bytes, and others after each suspend.

    Args:
        suspended: reads how far BOOTTIME is ahead of MONOTONIC.
    """

    def __init__(self, suspended: Callable[[], Bracket] = boottime_over_monotonic) -> None:
        self._suspended = suspended
        self.id = secrets.token_bytes(EPOCH_BYTES)
        _, self._low, self._high = suspended()

    @property
    def suspended_ns(self) -> int:
        """How long the machine was suspended before it began, by what is known so far."""
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
