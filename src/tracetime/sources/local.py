"""The clocks of this machine by name: which source has which, and which are not available."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from tracetime.clocks.ids import ClockId, ClockLike
from tracetime.errors import SourceError, UsageError
from tracetime.sources.host import HostSource
from tracetime.sources.names import HOST, SHORT_NAMES
from tracetime.sources.posix import PosixSource
from tracetime.sources.source import ClockSource, Unavailable
from tracetime.sources.tsc import TscSource
from tracetime.sources.vulkan import VulkanInstance

_VULKAN: Final = re.compile(r"vulkan(?::([0-9]{1,3}))?", re.IGNORECASE)


class Found(NamedTuple):
    """A clock, and the source that reads it."""

    name: str
    clock: ClockId
    source: ClockSource


class LocalClocks:
    """This machine's sources, each opened when one of its clocks is first requested.

    Args:
        sources: use only these, instead of the machine's (for tests, and for a caller's own).
    """

    def __init__(self, sources: Sequence[ClockSource] | None = None) -> None:
        self._own = sources
        self._host: tuple[ClockSource, ...] | None = None
        self._vulkan: VulkanInstance | SourceError | None = None

    def everything(self) -> list[Found]:
        """All clocks that can be read here."""
        return self._found(vulkan=True)

    def _found(self, *, vulkan: bool) -> list[Found]:
        return [
            Found(name, clock, source)
            for source in self._sources(vulkan=vulkan)
            for name, clock in source.clocks.items()
        ]

    @property
    def unavailable(self) -> tuple[Unavailable, ...]:
        """All clocks that cannot be read, and why."""
        missing = [entry for source in self._sources(vulkan=True) for entry in source.unavailable]
        if isinstance(self._vulkan, VulkanInstance):
            missing += self._vulkan.unavailable
        elif self._vulkan is not None:
            missing.append(Unavailable("vulkan", str(self._vulkan)))
        return tuple(missing)

    def find(self, requested: ClockLike) -> list[Found]:
        """The requested clock; all devices for `vulkan`, all other clocks for `host`.

        Takes names (`MONOTONIC`, `TAI`, `TSC`, `dev.tracetime.tsc`), numbers and ClockIds, and
        `host`, `vulkan`, `vulkan:0` (by position among the devices).

        Raises:
            UsageError: it is no clock's name.
            SourceError: it is not available here; says why.
        """
        if isinstance(requested, str):
            match = _VULKAN.fullmatch(requested.strip())
            if match:
                return self._find_vulkan(match[1])
            if requested.strip().lower() == HOST:
                return self._found(vulkan=False)
            requested = SHORT_NAMES.get(requested.strip().upper(), requested)
        try:
            clock = ClockId.parse(requested)
        except UsageError:
            if not isinstance(requested, str):
                raise
            raise UsageError(
                f"{requested!r} is no clock of this machine; {self._listing()}"
            ) from None
        for vulkan in (False, True):
            for source in self._sources(vulkan=vulkan):
                for name, own in source.clocks.items():
                    if own == clock:
                        return [Found(name, clock, source)]
        for entry in self.unavailable:
            if entry.name == requested or entry.name == str(clock):
                raise SourceError(f"{entry.name} is not available here: {entry.reason}")
        raise SourceError(f"no source of this machine has clock {requested}; {self._listing()}")

    def short_name(self, name: str) -> str:
        """What a caller may call a clock, of those that were found: `TSC`, `vulkan:0`."""
        short = {long: alias for alias, long in SHORT_NAMES.items()}
        if isinstance(self._vulkan, VulkanInstance):
            for position, device in self._vulkan.by_position.items():
                short[device.name] = f"vulkan:{position}"
        return short.get(name, name)

    def close(self) -> None:
        """Close all sources that were opened here."""
        if isinstance(self._vulkan, VulkanInstance):
            self._vulkan.close()
        self._vulkan = None
        for source in self._host or ():
            source.close()

    def _sources(self, *, vulkan: bool) -> Iterable[ClockSource]:
        if self._own is not None:
            return self._own
        if self._host is None:
            host = PosixSource() if sys.platform.startswith("linux") else HostSource()
            self._host = (host, TscSource())
        if not vulkan:
            return self._host
        opened = self._open_vulkan()
        return (*self._host, *(opened.devices if isinstance(opened, VulkanInstance) else ()))

    def _open_vulkan(self) -> VulkanInstance | SourceError:
        if self._vulkan is None:
            try:
                self._vulkan = VulkanInstance()
            except SourceError as error:
                self._vulkan = error
        return self._vulkan

    def _listing(self) -> str:
        """The clocks of this machine, by their short names."""
        names = [self.short_name(found.name) for found in self.everything()]
        return f"there are {', '.join(names)}"

    def _find_vulkan(self, position: str | None) -> list[Found]:
        if self._own is not None:
            raise UsageError("give a clock of the given sources, by its name")
        opened = self._open_vulkan()
        if isinstance(opened, SourceError):
            raise SourceError(f"no Vulkan here: {opened}")
        devices = opened.devices
        if position is not None:
            device = opened.by_position.get(int(position))
            devices = [] if device is None else [device]
        if not devices:
            why = "; ".join(f"{entry.name}: {entry.reason}" for entry in opened.unavailable)
            raise SourceError(
                f"no Vulkan device {position or 0} with calibrated timestamps: "
                f"{why or self._listing()}"
            )
        return [Found(device.name, device.clock, device) for device in devices]
