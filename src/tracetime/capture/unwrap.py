"""Undoes the wraps of a counter, and notices when it goes back."""

from __future__ import annotations

from fractions import Fraction


class Unwrapper:
    """Follows one counter from reading to reading.

    Args:
        valid_bits: how many bits of a reading count.
        ns_per_tick: its nominal rate: with the time between two readings it says how often the
            counter has wrapped.
    """

    def __init__(self, valid_bits: int, ns_per_tick: Fraction) -> None:
        self._period = 1 << valid_bits
        self._rate = ns_per_tick
        self._raw: int | None = None
        self._host_ns = 0
        self._ticks = 0

    def follow(self, raw: int, host_ns: int) -> tuple[int, int]:
        """Add a reading and the host's time of it; returns (unwrapped ticks, ticks gone back).

        Of all values that differ by whole wraps, the result is the nearest to what the elapsed time
        predicts. If that is before the last one, the counter has gone back: the second value says
        by how much, and is 0 otherwise. The first reading is not changed.
        """
        if self._raw is None:
            self._ticks = raw
        else:
            passed = max(0, host_ns - self._host_ns)
            expected = passed * self._rate.denominator // self._rate.numerator
            ahead = (raw - self._raw) % self._period
            ahead += (expected - ahead + self._period // 2) // self._period * self._period
            self._ticks += ahead
            if ahead < 0:
                self._raw, self._host_ns = raw, host_ns
                return self._ticks, -ahead
        self._raw, self._host_ns = raw, host_ns
        return self._ticks, 0
