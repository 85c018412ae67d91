"""What a recording needs of the sampler of its clocks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

from tracetime.clocks.domain import ClockDomain
from tracetime.clocks.ids import ClockId
from tracetime.clocks.kernel_clock import KernelClock, WallBound
from tracetime.clocks.snapshot import Snapshot
from tracetime.formats.perfetto.write.writer import TraceWriter


class Sample(Protocol):
    """The clocks at nearly one instant."""

    @property
    def snapshot(self) -> Snapshot:
        """Single readings in ns, counters unwrapped and by their exact fraction, rounded down.

        With half-widths that hold the ticks, and centres, against its reference.
        """

    @property
    def counts(self) -> Mapping[ClockId, tuple[int, int]]:
        """Of clocks that count ticks: what was read, and the same with its wraps undone."""

    @property
    def adjtimex(self) -> KernelClock | None:
        """How the kernel steers its clocks; None if that is not known."""

    @property
    def wall_bound(self) -> WallBound | None:
        """What bounds REALTIME at its reading; None if nothing is known to."""

    @property
    def failed(self) -> Mapping[ClockId, str]:
        """Clocks that could not be read this time, and why."""

    @property
    def findings(self) -> Sequence[Any]:
        """Faults of the clocks: each has `clock` and `message`."""


class Sampler(Protocol):
    """Samples a set of clocks repeatedly; threads may share it."""

    @property
    def domains(self) -> Mapping[ClockId, ClockDomain]:
        """What each clock is, in its own ticks."""

    @property
    def names(self) -> Mapping[ClockId, str]:
        """The name of each."""

    @property
    def short_names(self) -> Mapping[ClockId, str]:
        """What each may be called too, on this machine: `vulkan:0`."""

    def sample(self) -> Sample:
        """Read all clocks once; one that fails is left out.

        Raises:
            SourceError: none can be read.
        """

    def watch(self) -> Callable[[], None]:
        """Watch what half-widths depend on, between samples too; returns what ends that."""

    def close(self) -> None:
        """Release its resources."""


# The clocks that a recording samples, by the names that its callers use.


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
