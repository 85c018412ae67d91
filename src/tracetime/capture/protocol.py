"""What a recording needs of the sampler of its clocks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from tracetime.clocks.domain import ClockDomain
from tracetime.clocks.ids import ClockId
from tracetime.clocks.kernel_clock import KernelClock
from tracetime.clocks.snapshot import Snapshot
from tracetime.clocks.wall_bound import WallBound


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
