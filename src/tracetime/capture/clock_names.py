"""The clocks that a recording samples, by the names that its callers use."""

from __future__ import annotations

from dataclasses import replace

from tracetime.capture.protocol import Sampler
from tracetime.clocks.domain import ClockDomain
from tracetime.clocks.ids import ClockId
from tracetime.formats.perfetto.write.writer import TraceWriter


def clock_name(sampler: Sampler, clock: ClockId) -> str:
    """What a clock is called; its id where the sampler has no name for it."""
    return sampler.names.get(clock, str(clock))


def short_names(sampler: Sampler) -> dict[str, str]:
    """By name, what events may call each clock too: `vulkan:0`, `TSC`; else the name."""
    short = sampler.short_names
    names = {clock_name(sampler, clock): clock for clock in sampler.domains}
    return {name: short.get(clock, name) for name, clock in names.items()}


def declare_clocks(writer: TraceWriter, sampler: Sampler) -> None:
    """Make the clocks of a sampler known, before their first snapshot."""
    for clock, domain in sampler.domains.items():
        named = _named(domain, sampler.names.get(clock))
        writer.declare(named, sampler.short_names.get(clock))


def _named(domain: ClockDomain, name: str | None) -> ClockDomain:
    """The domain with the name that its sampler gives it, where its id has none."""
    if domain.name is not None or name is None or domain.id.scope == "builtin":
        return domain
    return replace(domain, name=name)
