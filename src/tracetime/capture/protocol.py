"""The interface that a recording needs of the sampler of its clocks."""

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
    """A reading of all clocks at nearly one instant."""

    @property
    def snapshot(self) -> Snapshot:
        """The readings in ns, counters unwrapped and by their exact fraction, rounded down.

        With half-widths that hold the ticks, and centres, against its reference.
        """

    @property
    def counts(self) -> Mapping[ClockId, tuple[int, int]]:
        """The counts of clocks that count ticks: as read, and with wraps undone."""

    @property
    def adjtimex(self) -> KernelClock | None:
        """The state of the kernel's clocks; None if that is not known."""

    @property
    def wall_bound(self) -> WallBound | None:
        """The bound of REALTIME at its reading; None if none is known."""

    @property
    def failed(self) -> Mapping[ClockId, str]:
        """Clocks that could not be read this time, and why."""

    @property
    def findings(self) -> Sequence[Any]:
        """The faults of the clocks: each has `clock` and `message`."""


class Sampler(Protocol):
    """A sampler of a set of clocks; threads may share it."""

    @property
    def domains(self) -> Mapping[ClockId, ClockDomain]:
        """The properties of each clock, in its own ticks."""

    @property
    def names(self) -> Mapping[ClockId, str]:
        """The name of each clock."""

    @property
    def short_names(self) -> Mapping[ClockId, str]:
        """The short name of each clock on this machine: `vulkan:0`."""

    def sample(self) -> Sample:
        """Read all clocks once; one that fails is left out.

        Raises:
            SourceError: none can be read.
        """

    def watch(self) -> Callable[[], None]:
        """Watch the clocks that half-widths depend on, between samples too; returns the end."""

    def close(self) -> None:
        """Release the resources."""


# The clocks that a recording samples, by the names that its callers use.


def clock_name(sampler: Sampler, clock: ClockId) -> str:
    """The name of a clock; its id where the sampler has no name for it."""
    return sampler.names.get(clock, str(clock))


def short_names(sampler: Sampler) -> dict[str, str]:
    """The short names, `vulkan:0` or `TSC`, of clocks by their names; else the name itself."""
    short = sampler.short_names
    names = {clock_name(sampler, clock): clock for clock in sampler.domains}
    return {name: short.get(clock, name) for name, clock in names.items()}


def declare_clocks(writer: TraceWriter, sampler: Sampler) -> None:
    """Make the clocks of a sampler known, before their first snapshot."""
    for clock, domain in sampler.domains.items():
        named = _with_name(domain, sampler.names.get(clock))
        writer.declare(named, sampler.short_names.get(clock))


def _with_name(domain: ClockDomain, name: str | None) -> ClockDomain:
    """The domain with the sampler's name for it, where its id has none."""
    if domain.name is not None or name is None or domain.id.scope == "builtin":
        return domain
    return replace(domain, name=name)
