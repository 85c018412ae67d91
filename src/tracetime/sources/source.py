"""The interface of a source of clocks: their names, their properties, and their readings.

The sampling (`capture/sampling.py`) uses it; a source neither keeps readings nor checks them.
Readings are raw: ns if the clock counts ns, else its ticks.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping
from threading import RLock
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar

from tracetime.clocks.domain import ClockDomain
from tracetime.clocks.ids import ClockId
from tracetime.errors import SourceError

_T = TypeVar("_T")


class Unavailable(NamedTuple):
    """A clock that is not available here, and why.

    Attributes:
        name: the name of the clock.
        reason: why it cannot be read.
    """

    name: str
    reason: str


class Together(NamedTuple):
    """A clock of a device and one of the host, read at nearly one instant.

    Attributes:
        device_ticks: raw, 0 to 2^64 - 1.
        host: raw reading of the host clock: ns, or its ticks.
        max_deviation_ns: how far apart the two may have been read, as the source says.
    """

    device_ticks: int
    host: int
    max_deviation_ns: int


class ClockSource(ABC):
    """A source of clocks of one kind.

    A clock is read alone (`read`), by a kernel (`native_code`), or together with one of its
    `partners` (`read_together`); it can do at least one of the three.
    """

    @property
    @abstractmethod
    def clocks(self) -> Mapping[str, ClockId]:
        """The clocks of this source here, by name."""

    @property
    def unavailable(self) -> tuple[Unavailable, ...]:
        """Clocks that other machines have, and why this one lacks them."""
        return ()

    def _entry(self, entries: Mapping[ClockId, _T], clock: ClockId) -> _T:
        """The source's entry for one of its clocks.

        Raises:
            SourceError: it has no such clock.
        """
        try:
            return entries[clock]
        except KeyError:
            raise SourceError(
                f"{clock} is no clock of this source; there are {', '.join(self.clocks)}"
            ) from None

    @abstractmethod
    def domain(self, clock: ClockId) -> ClockDomain:
        """The properties of the clock; the first call measures them, which may take 0.1 s.

        Raises:
            SourceError: it cannot be read.
        """

    def note(self, clock: ClockId) -> str | None:
        """The note for users on this clock here; None without one."""
        return None

    def lag_ns(self, clock: ClockId) -> int:
        """The growth of the clock's lag beyond the tick of `domain`, as far as seen, ns."""
        return 0

    def watch(self, clocks: Collection[ClockId]) -> Callable[[], None]:
        """Watch how far clocks lag, between readings too; returns the end of that."""
        return _nothing

    def native_code(self, clock: ClockId) -> int | None:
        """The number of a clock for `_kernels.sampling`; None where the kernel cannot read it."""
        return None

    def read(self, clock: ClockId) -> int:
        """One raw reading, now.

        Raises:
            SourceError: it cannot be read (alone).
        """
        raise SourceError(f"{clock} cannot be read alone: read it together with a host clock")

    def partners(self, clock: ClockId) -> tuple[ClockId, ...]:
        """The host clocks that a clock can be read together with, as the source offers them."""
        return ()

    def read_together(self, clock: ClockId, partner: ClockId) -> Together:
        """One reading of `clock` and of a host clock that `partners` names.

        Raises:
            SourceError: they cannot be read.
        """
        raise SourceError(f"{clock} is not read together with others: read it alone")

    def close(self) -> None:  # noqa: B027 - most sources hold nothing
        """Release the resources of the source; it is not read afterwards."""


class Device(ClockSource):
    """A device, which has one clock.

    Attributes:
        name: of its clock.
        clock: the id of its clock.
    """

    name: str
    clock: ClockId

    @property
    def clocks(self) -> Mapping[str, ClockId]:
        return MappingProxyType({self.name: self.clock})


class Devices:
    """The devices of one kind, opened.

    Attributes:
        numbered: those that can be read: sources of one clock each, by their number.
        unavailable: the others, and why.
    """

    numbered: Mapping[int, Device]
    unavailable: tuple[Unavailable, ...]

    def close(self) -> None:
        """Close the devices."""
        for device in self.numbered.values():
            device.close()


def _nothing() -> None:
    pass


# A lock that a signal's handler does not wait for if it interrupts its owner.


class OneAtATime:
    """A lock of threads that wait for each other in a `with` of `turn()`.

    A signal's handler that interrupts the thread whose turn it is would wait for ever: it gets an
    error instead.

    Args:
        what: the work that is protected, for messages: `reading the clocks`.
    """

    def __init__(self, what: str) -> None:
        self._what = what
        self._lock: Any = RLock()

    def turn(self) -> Any:
        """The lock, for a `with`: no signal comes between taking it and entering the block.

        Raises:
            SourceError: it is this thread's turn already.
        """
        if self._lock._is_owned():
            raise SourceError(f"this interrupts {self._what} in the same thread: do it after that")
        return self._lock
