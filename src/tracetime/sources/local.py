"""The clocks of this machine by name: which source has which, and which are not available."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from tracetime.clocks.ids import ClockId, ClockLike
from tracetime.errors import SourceError, UsageError
from tracetime.sources.arm_counter import ArmCounterSource
from tracetime.sources.host import HostSource
from tracetime.sources.names import HOST, SHORT_NAMES
from tracetime.sources.posix import PosixSource
from tracetime.sources.ptp import PtpClocks
from tracetime.sources.source import ClockSource, Unavailable
from tracetime.sources.tsc import TscSource
from tracetime.sources.vulkan import VulkanInstance

_VULKAN: Final = re.compile(r"vulkan(?::([0-9]{1,3}))?", re.IGNORECASE)
_PTP: Final = re.compile(r"ptp(?:[.:]([0-9]{1,3}))?", re.IGNORECASE | re.ASCII)


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
        self._ptp: PtpClocks | None = None

    def everything(self) -> list[Found]:
        """All clocks that can be read here."""
        return self._found(devices=True)

    def _found(self, *, devices: bool) -> list[Found]:
        return [
            Found(name, clock, source)
            for source in self._sources(devices=devices)
            for name, clock in source.clocks.items()
        ]

    @property
    def unavailable(self) -> tuple[Unavailable, ...]:
        """All clocks that cannot be read, and why."""
        missing = [entry for source in self._sources(devices=True) for entry in source.unavailable]
        if isinstance(self._vulkan, VulkanInstance):
            missing += self._vulkan.unavailable
        elif self._vulkan is not None:
            missing.append(Unavailable("vulkan", str(self._vulkan)))
        if self._ptp is not None:
            missing += self._ptp.unavailable
        return tuple(missing)

    def find(self, requested: ClockLike) -> list[Found]:
        """The requested clock; all devices of a kind for `vulkan` and `ptp`, else all for `host`.

        Takes names (`MONOTONIC`, `TAI`, `TSC`, `dev.tracetime.tsc`), numbers and ClockIds, and
        `host`, `vulkan`, `vulkan:0` (by position among the devices), `ptp`, `ptp.0` (/dev/ptp0).

        Raises:
            UsageError: it is no clock's name.
            SourceError: it is not available here; says why.
        """
        if isinstance(requested, str):
            group = self._find_group(requested.strip())
            if group is not None:
                return group
            requested = SHORT_NAMES.get(requested.strip().upper(), requested)
        try:
            clock = ClockId.parse(requested)
        except UsageError:
            if not isinstance(requested, str):
                raise
            raise UsageError(
                f"{requested!r} is no clock of this machine; {self._listing()}"
            ) from None
        for devices in (False, True):
            for source in self._sources(devices=devices):
                for name, own in source.clocks.items():
                    if own == clock:
                        return [Found(name, clock, source)]
        for entry in self.unavailable:
            if entry.name == requested or entry.name == str(clock):
                raise SourceError(f"{entry.name} is not available here: {entry.reason}")
        raise SourceError(f"no source of this machine has clock {requested}; {self._listing()}")

    def _find_group(self, text: str) -> list[Found] | None:
        """The clocks of `host`, or of devices; None where the text names neither."""
        if match := _VULKAN.fullmatch(text):
            return self._find_vulkan(match[1])
        if match := _PTP.fullmatch(text):
            return self._find_ptp(match[1])
        return self._found(devices=False) if text.lower() == HOST else None

    def short_name(self, name: str) -> str:
        """What a caller may call a clock, of those that were found: `TSC`, `vulkan:0`."""
        short = {long: alias for alias, long in SHORT_NAMES.items()}
        if isinstance(self._vulkan, VulkanInstance):
            for position, device in self._vulkan.by_position.items():
                short[device.name] = f"vulkan:{position}"
        for number, clock in self._ptp.devices.items() if self._ptp is not None else ():
            short[clock.name] = f"ptp.{number}"
        return short.get(name, name)

    def close(self) -> None:
        """Close all sources that were opened here."""
        if isinstance(self._vulkan, VulkanInstance):
            self._vulkan.close()
        self._vulkan = None
        if self._ptp is not None:
            self._ptp.close()
        self._ptp = None
        for source in self._host or ():
            source.close()

    def _sources(self, *, devices: bool) -> Iterable[ClockSource]:
        if self._own is not None:
            return self._own
        if self._host is None:
            host = PosixSource() if sys.platform.startswith("linux") else HostSource()
            self._host = (host, TscSource(), ArmCounterSource())
        if not devices:
            return self._host
        opened = self._open_vulkan()
        vulkan = opened.devices if isinstance(opened, VulkanInstance) else ()
        return (*self._host, *vulkan, *self._open_ptp().devices.values())

    def _open_vulkan(self) -> VulkanInstance | SourceError:
        if self._vulkan is None:
            try:
                self._vulkan = VulkanInstance()
            except SourceError as error:
                self._vulkan = error
        return self._vulkan

    def _open_ptp(self) -> PtpClocks:
        if self._ptp is None:
            self._ptp = PtpClocks()
        return self._ptp

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

    def _find_ptp(self, number: str | None) -> list[Found]:
        if self._own is not None:
            raise UsageError("give a clock of the given sources, by its name")
        opened = self._open_ptp()
        clocks = [
            Found(clock.name, clock.clock, clock)
            for own, clock in opened.devices.items()
            if number is None or own == int(number)
        ]
        if not clocks:
            why = "; ".join(f"{entry.name}: {entry.reason}" for entry in opened.unavailable)
            raise SourceError(f"no clock ptp.{number or 0} here: {why or self._listing()}")
        return clocks
