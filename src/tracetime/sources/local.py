"""The clocks of this machine by name: which source has which, and which are not available."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from tracetime.clocks.ids import ClockId, ClockLike
from tracetime.errors import SourceError, UsageError
from tracetime.sources.arm_counter import ArmCounterSource
from tracetime.sources.device_kinds import KINDS, DeviceKind, Devices
from tracetime.sources.host import HostSource
from tracetime.sources.names import HOST, SHORT_NAMES
from tracetime.sources.posix import PosixSource
from tracetime.sources.source import ClockSource, Device, Unavailable
from tracetime.sources.tsc import TscSource

_KINDS: Final = {kind.word: kind for kind in KINDS}
_DEVICE: Final = re.compile(rf"({'|'.join(_KINDS)})(?:[.:](\S+))?", re.IGNORECASE)


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
        self._opened: dict[str, Devices | SourceError] = {}

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
        for word, opened in self._opened.items():
            if isinstance(opened, SourceError):
                missing.append(Unavailable(word, str(opened)))
            else:
                missing += opened.unavailable
        return tuple(missing)

    def find(self, requested: ClockLike) -> list[Found]:
        """The requested clock; all devices of a kind for its word, else all for `host`.

        Takes names (`MONOTONIC`, `TAI`, `TSC`, `dev.tracetime.tsc`), numbers and ClockIds, `host`,
        and of devices `vulkan`, `opencl`, `cuda`, `ptp`, or `vulkan:0` (by position), `ptp.0`.

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
        if match := _DEVICE.fullmatch(text):
            return self._find_devices(_KINDS[match[1].lower()], match[2])
        return self._found(devices=False) if text.lower() == HOST else None

    def short_name(self, name: str) -> str:
        """What a caller may call a clock, of those that were found: `TSC`, `vulkan:0`."""
        short = {long: alias for alias, long in SHORT_NAMES.items()}
        for kind in KINDS:
            for number, device in self._numbered(kind).items():
                short[device.name] = kind.short_name(number)
        return short.get(name, name)

    def close(self) -> None:
        """Close all sources that were opened here."""
        for opened in self._opened.values():
            if not isinstance(opened, SourceError):
                opened.close()
        self._opened = {}
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
        for kind in KINDS:
            self._open(kind)
        return (*self._host, *(one for kind in KINDS for one in self._numbered(kind).values()))

    def _open(self, kind: DeviceKind) -> Devices | SourceError:
        if kind.word not in self._opened:
            try:
                self._opened[kind.word] = kind.open()
            except SourceError as error:
                self._opened[kind.word] = error
        return self._opened[kind.word]

    def _numbered(self, kind: DeviceKind) -> Mapping[int, Device]:
        """The devices of a kind that were opened so far."""
        opened = self._opened.get(kind.word)
        return {} if opened is None or isinstance(opened, SourceError) else opened.numbered

    def _listing(self) -> str:
        """The clocks of this machine, by their short names."""
        names = [self.short_name(found.name) for found in self.everything()]
        return f"there are {', '.join(names)}"

    def _find_devices(self, kind: DeviceKind, which: str | None) -> list[Found]:
        """The devices of a kind, or one of them."""
        if self._own is not None:
            raise UsageError("give a clock of the given sources, by its name")
        number = None if which is None else kind.number(which)
        opened = self._open(kind)
        found = [
            Found(device.name, device.clock, device)
            for own, device in self._numbered(kind).items()
            if number is None or own == number
        ]
        if found:
            return found
        if isinstance(opened, SourceError):
            why = str(opened)
        else:
            why = "; ".join(f"{entry.name}: {entry.reason}" for entry in opened.unavailable)
        raise SourceError(f"no clock {kind.short_name(number or 0)} here: {why or self._listing()}")
