"""Clocks that count ticks, followed from reading to reading: wraps undone, faults reported."""

from __future__ import annotations

from collections.abc import Iterable

from tracetime.capture.choice import Chosen
from tracetime.capture.sample import Count, Finding
from tracetime.capture.unwrap import Unwrapper


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
