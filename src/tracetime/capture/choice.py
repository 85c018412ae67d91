"""The choice of clocks before sampling: their sources, their properties, and the reference."""

from __future__ import annotations

import math
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from tracetime.capture.sample import Count, Finding
from tracetime.clocks.domain import ClockDomain
from tracetime.clocks.ids import BUILTIN_IDS, ClockId, ClockLike
from tracetime.errors import SourceError, UsageError
from tracetime.graph.tube.limits import Limits
from tracetime.sources.local import FoundClock, LocalClocks
from tracetime.sources.names import QPC, named
from tracetime.sources.source import ClockSource, Unavailable

_REFERENCES: Final = (
    *(ClockId(BUILTIN_IDS[name]) for name in ("MONOTONIC_RAW", "MONOTONIC")),
    named(QPC),
)
"""Candidates for the reference if the caller names none: the first that is available."""

ROUNDING_NS: Final = 1
"""A bracket's middle is rounded down to whole ns."""


@dataclass(frozen=True, slots=True)
class SampledClock:
    """A clock that is sampled.

    Attributes:
        name, clock, source: as `FoundClock`.
        domain: its properties.
        drift: D against the reference, ns per ns.
        ticks_ns: its tick and the reference's, rounded up.
        partner: the host clock that it is read together with; None if it is read alone.
    """

    name: str
    clock: ClockId
    source: ClockSource
    domain: ClockDomain
    drift: float
    ticks_ns: int
    partner: ClockId | None

    @property
    def counts(self) -> bool:
        """Whether readings of the clock are ticks, to be converted to ns."""
        return self.domain.ns_per_tick != 1 or self.partner is not None


@dataclass(frozen=True, slots=True)
class Choice:
    """The clocks of a sampler, the reference first, and those that are not available."""

    clocks: tuple[SampledClock, ...]
    unavailable: tuple[Unavailable, ...]


def choose(
    local: LocalClocks,
    requested: ClockLike | Iterable[ClockLike] | None,
    reference: ClockLike | None,
    besides: Iterable[str] = (),
) -> Choice:
    """Find the requested clocks (all, if None), the reference, and what ties devices to it.

    Those of `besides` that are available are added.

    Raises:
        UsageError: a name that is none, or a reference that does not read ns by itself.
        SourceError: a requested clock is not available, or none is.
    """
    missing = [] if requested is not None else list(local.unavailable)
    found: dict[ClockId, FoundClock] = {}
    if requested is None:
        found = {entry.clock: entry for entry in local.everything()}
    else:
        if isinstance(requested, (str, int, ClockId)):
            requested = [requested]
        if not isinstance(requested, Iterable):
            raise UsageError(f"clocks are names, numbers or ClockIds, not {requested!r}")
        for one in requested:
            found |= {entry.clock: entry for entry in local.find(one)}
        for one in besides:
            with suppress(SourceError):
                found |= {entry.clock: entry for entry in local.find(one)}
    first = _reference(local, reference, found)
    base = _domain(first)
    if first.source.partners(first.clock) or base.ns_per_tick != 1:
        raise UsageError(f"{first.name} does not read ns by itself: take another reference")
    chosen = {first.clock: _sampled_clock(first, base, base, None)}
    # Clocks that need a partner come last: the partner is then chosen already.
    for entry in sorted(found.values(), key=lambda one: bool(one.source.partners(one.clock))):
        if entry.clock in chosen:
            continue
        try:
            partner = _partner(local, entry, chosen, base)
            chosen[entry.clock] = _sampled_clock(entry, _domain(entry), base, partner)
        except SourceError as error:
            if requested is not None:
                raise
            missing.append(Unavailable(entry.name, str(error)))
    return Choice(tuple(chosen.values()), tuple(missing))


def _reference(
    local: LocalClocks, reference: ClockLike | None, found: dict[ClockId, FoundClock]
) -> FoundClock:
    if reference is not None:
        return local.find(reference)[0]
    for clock in _REFERENCES:
        try:
            return local.find(clock)[0]
        except SourceError:
            continue
    for entry in found.values():
        if not entry.source.partners(entry.clock) and _domain(entry).ns_per_tick == 1:
            return entry
    raise SourceError("no clock here can serve as reference: name one that reads ns")


def _partner(
    local: LocalClocks, entry: FoundClock, chosen: dict[ClockId, SampledClock], base: ClockDomain
) -> ClockId | None:
    """The host clock that a device is tied by: the reference, or another one, which is added."""
    partners = entry.source.partners(entry.clock)
    if not partners:
        return None
    first = next(iter(chosen))
    for clock in (first, *chosen):
        if clock in partners:
            return clock
    for clock in partners:
        try:
            found = local.find(clock)[0]
        except SourceError:
            continue
        chosen[clock] = _sampled_clock(found, _domain(found), base, None)
        return clock
    raise SourceError(
        f"{entry.name} is calibrated only with {', '.join(map(str, partners))}, which cannot be "
        "read here"
    )


def _domain(found: FoundClock) -> ClockDomain:
    return found.source.domain(found.clock)


def _sampled_clock(
    found: FoundClock, domain: ClockDomain, base: ClockDomain, partner: ClockId | None
) -> SampledClock:
    return SampledClock(
        found.name,
        found.clock,
        found.source,
        domain,
        Limits.of(base.drift_ppm, domain.drift_ppm).drift,
        math.ceil((base.tick_ns or 0) + (domain.tick_ns or 0)),
        partner,
    )


# Clocks that count ticks, followed from reading to reading: wraps undone, faults reported.


class Unwrapper:
    """The count of one counter without its wraps; it notices when the counter goes back.

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

    def __init__(self, clocks: Iterable[SampledClock]) -> None:
        self._unwrap = {
            one.clock: Unwrapper(one.domain.valid_bits, one.domain.ns_per_tick)
            for one in clocks
            if one.domain.ns_per_tick is not None
        }

    def cut_off(self, one: SampledClock, raw: int, findings: list[Finding]) -> int:
        """A reading without the bits above its valid ones; such bits are reported."""
        bits = one.domain.valid_bits
        if raw >> bits:
            message = f"{one.name} set bits above its {bits} valid ones ({raw:#x}); cut off"
            findings.append(Finding("bits_above", one.name, message))
        return raw & ((1 << bits) - 1)

    def follow(self, one: SampledClock, raw: int, host_ns: int, findings: list[Finding]) -> Count:
        """Add a reading, and the host's time of it; going back is reported, a wrap is not."""
        ticks, back = self._unwrap[one.clock].follow(raw, host_ns)
        if back:
            message = (
                f"{one.name} went back by {back} ticks to {raw}, which is no wrap of its "
                f"{one.domain.valid_bits} bits: was the device reset?"
            )
            findings.append(Finding("went_back", one.name, message))
        return Count(raw, ticks)
