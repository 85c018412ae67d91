"""Which clocks are sampled, how each is read, and what each is like: settled before sampling."""

from __future__ import annotations

import math
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from tracetime.clocks.domain import ClockDomain
from tracetime.clocks.ids import BUILTIN_IDS, ClockId, ClockLike
from tracetime.errors import SourceError, UsageError
from tracetime.graph.tube.limits import Limits
from tracetime.sources.local import Found, LocalClocks
from tracetime.sources.names import QPC, named
from tracetime.sources.source import ClockSource, Unavailable

_REFERENCES: Final = (
    *(ClockId(BUILTIN_IDS[name]) for name in ("MONOTONIC_RAW", "MONOTONIC")),
    named(QPC),
)
"""What others are bracketed by if nobody says: the first that is there."""

ROUNDING_NS: Final = 1
"""A bracket's middle is rounded down to whole ns."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """One clock that is sampled.

    Attributes:
        name, clock, source: as `Found`.
        domain: what it is like.
        drift: D against the reference, ns per ns.
        ticks_ns: its tick and the reference's, rounded up.
        partner: the host clock that it is read together with; None where it is read alone.
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
        """Whether its readings are ticks, to be made ns."""
        return self.domain.ns_per_tick != 1 or self.partner is not None


@dataclass(frozen=True, slots=True)
class Choice:
    """The clocks of a sampler, the reference first, and what is not to be had."""

    clocks: tuple[Chosen, ...]
    unavailable: tuple[Unavailable, ...]


def choose(
    local: LocalClocks,
    asked: ClockLike | Iterable[ClockLike] | None,
    reference: ClockLike | None,
    besides: Iterable[str] = (),
) -> Choice:
    """Find the clocks asked for (all, if None), the reference, and what ties devices to it.

    Of `besides`, those that are to be had are taken, too.

    Raises:
        UsageError: a name that is none, or a reference that does not read ns by itself.
        SourceError: a clock that was asked for is not to be had, or nothing is.
    """
    missing = [] if asked is not None else list(local.unavailable)
    found: dict[ClockId, Found] = {}
    if asked is None:
        found = {entry.clock: entry for entry in local.everything()}
    else:
        if isinstance(asked, (str, int, ClockId)):
            asked = [asked]
        if not isinstance(asked, Iterable):
            raise UsageError(f"clocks are names, numbers or ClockIds, not {asked!r}")
        for one in asked:
            found |= {entry.clock: entry for entry in local.find(one)}
        for one in besides:
            with suppress(SourceError):
                found |= {entry.clock: entry for entry in local.find(one)}
    first = _reference(local, reference, found)
    base = _domain(first)
    if first.source.partners(first.clock) or base.ns_per_tick != 1:
        raise UsageError(f"{first.name} does not read ns by itself: take another reference")
    chosen = {first.clock: _chosen(first, base, base, None)}
    # What is read with a partner comes last, for the partner to be there.
    for entry in sorted(found.values(), key=lambda one: bool(one.source.partners(one.clock))):
        if entry.clock in chosen:
            continue
        try:
            partner = _partner(local, entry, chosen, base)
            chosen[entry.clock] = _chosen(entry, _domain(entry), base, partner)
        except SourceError as error:
            if asked is not None:
                raise
            missing.append(Unavailable(entry.name, str(error)))
    return Choice(tuple(chosen.values()), tuple(missing))


def _reference(
    local: LocalClocks, reference: ClockLike | None, found: dict[ClockId, Found]
) -> Found:
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
    local: LocalClocks, entry: Found, chosen: dict[ClockId, Chosen], base: ClockDomain
) -> ClockId | None:
    """The host clock that a device is tied by: the reference, or one sampled besides."""
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
        chosen[clock] = _chosen(found, _domain(found), base, None)
        return clock
    raise SourceError(
        f"{entry.name} is calibrated with {', '.join(map(str, partners))} alone, which cannot be "
        "read here"
    )


def _domain(found: Found) -> ClockDomain:
    return found.source.domain(found.clock)


def _chosen(
    found: Found, domain: ClockDomain, base: ClockDomain, partner: ClockId | None
) -> Chosen:
    return Chosen(
        found.name,
        found.clock,
        found.source,
        domain,
        Limits.of(base.drift_ppm, domain.drift_ppm).drift,
        math.ceil((base.tick_ns or 0) + (domain.tick_ns or 0)),
        partner,
    )
