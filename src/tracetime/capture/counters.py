"""Clocks that count ticks, followed from reading to reading: wraps undone, faults reported."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from tracetime.capture.choice import Chosen
from tracetime.capture.sample import Count, Finding


class Unwrapper:
    """Undoes the wraps of one counter from reading to reading, and notices when it goes back.

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


class Counters:
    """The counters of a sampler.

    Args:
        clocks: those that count; the length of each one's tick is known.
    """

    def __init__(self, clocks: Iterable[Chosen]) -> None:
        self._unwrap = {
            one.clock: Unwrapper(one.domain.valid_bits, one.domain.ns_per_tick)
            for one in clocks
            if one.domain.ns_per_tick is not None
        }

    def cut_off(self, one: Chosen, raw: int, findings: list[Finding]) -> int:
        """A reading without the bits above its valid ones; such bits are reported."""
        bits = one.domain.valid_bits
        if raw >> bits:
            message = f"{one.name} set bits above its {bits} valid ones ({raw:#x}); cut off"
            findings.append(Finding("bits_above", one.name, message))
        return raw & ((1 << bits) - 1)

    def follow(self, one: Chosen, raw: int, host_ns: int, findings: list[Finding]) -> Count:
        """Add a reading, and the host's time of it; going back is reported, a wrap is not."""
        ticks, back = self._unwrap[one.clock].follow(raw, host_ns)
        if back:
            message = (
                f"{one.name} went back by {back} ticks to {raw}, which is no wrap of its "
                f"{one.domain.valid_bits} bits: was the device reset?"
            )
            findings.append(Finding("went_back", one.name, message))
        return Count(raw, ticks)
