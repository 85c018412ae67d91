"""The clocks of this machine by name, with their sources, and those that are not available."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Final, NamedTuple

import numpy as np

from tracetime.clocks.domain import ClockDomain
from tracetime.clocks.ids import BUILTIN_IDS, ClockId, ClockLike
from tracetime.errors import SourceError, UsageError
from tracetime.sources.cuda import CudaDevices
from tracetime.sources.names import (
    HOST,
    HOST_OSCILLATOR,
    QPC,
    SHORT_NAMES,
    UPTIME_RAW,
    WALL_OSCILLATOR,
    named,
)
from tracetime.sources.opencl import OpenClDevices
from tracetime.sources.posix import PosixSource
from tracetime.sources.ptp import PtpClocks
from tracetime.sources.ptp_ioctl import clock_of_card
from tracetime.sources.source import ClockSource, Device, Devices, Unavailable
from tracetime.sources.tick import common_resolution
from tracetime.sources.tsc import ArmCounterSource, TscSource
from tracetime.sources.vulkan import VulkanInstance

# The kinds of devices that a machine may have: how callers name them, and how they are opened.

_NUMBER: Final = re.compile(r"[0-9]{1,3}", re.ASCII)


def _position(text: str) -> int:
    """The number of a device, as a caller gives it."""
    if _NUMBER.fullmatch(text) is None:
        raise UsageError(f"{text!r} is no number of a device: the first is 0")
    return int(text)


def _ptp_number(text: str) -> int:
    """The number of a PTP clock, given as that or by its network interface: `eth0`."""
    return int(text) if _NUMBER.fullmatch(text) else clock_of_card(text)


class DeviceKind(NamedTuple):
    """A kind of devices.

    Attributes:
        word: what callers call all of them.
        open: opens them; raises SourceError where there is no driver.
        number: of the device that a caller gives after the colon; raises UsageError or SourceError.
    """

    word: str
    open: Callable[[], Devices]
    number: Callable[[str], int] = _position

    def short_name(self, number: int) -> str:
        """The short name of one of these devices, for callers."""
        return f"{self.word}:{number}"


# The openers are looked up when they are called: tests replace them.
KINDS: Final = (
    DeviceKind("vulkan", lambda: VulkanInstance()),
    DeviceKind("opencl", lambda: OpenClDevices()),
    DeviceKind("cuda", lambda: CudaDevices()),
    DeviceKind("ptp", lambda: PtpClocks(), _ptp_number),
)


Read = Callable[[], int]

_READINGS: Final = 1_000
"""Python reads a clock in some 50 ns: these take 0.1 ms at most."""

_LEAST_STEP_NS: Final = 1.0


def readers_of(platform: str) -> dict[str, Read]:
    """Readers of the clocks (ns) that Python offers on a platform, by name."""
    if platform == "win32":
        return {QPC: time.perf_counter_ns, "REALTIME": time.time_ns}
    if platform != "darwin":
        return {}
    readers: dict[str, Read] = {}
    for name in ("REALTIME", "MONOTONIC", "MONOTONIC_RAW", UPTIME_RAW):
        constant = "UPTIME_RAW" if name == UPTIME_RAW else name
        number = getattr(time, f"CLOCK_{constant}", None)
        if number is not None:
            readers[name] = _reader(number)
    return readers


def _reader(number: int) -> Read:
    return lambda: time.clock_gettime_ns(number)


class HostSource(ClockSource):
    """The clocks that Python reads itself.

    Args:
        readers: by name, how to read each; None for the clocks of this platform.
    """

    def __init__(self, readers: Mapping[str, Read] | None = None) -> None:
        readers = readers_of(sys.platform) if readers is None else readers
        self._clocks = MappingProxyType(
            {
                name: ClockId(BUILTIN_IDS[name]) if name in BUILTIN_IDS else named(name)
                for name in readers
            }
        )
        self._readers = {self._clocks[name]: read for name, read in readers.items()}
        self._names = {clock: name for name, clock in self._clocks.items()}
        self._domains: dict[ClockId, ClockDomain] = {}

    @property
    def clocks(self) -> Mapping[str, ClockId]:
        return self._clocks

    def domain(self, clock: ClockId) -> ClockDomain:
        read = self._entry(self._readers, clock)
        made = self._domains.get(clock)
        if made is None:
            column = np.array([read() for _ in range(_READINGS)], dtype=np.int64)
            step_ns = common_resolution(column[1:] - column[:-1])
            name = self._names[clock]
            made = self._domains[clock] = ClockDomain(
                clock,
                name,
                step_ns or _LEAST_STEP_NS,
                # These systems slew only the wall clock.
                oscillator=WALL_OSCILLATOR if name == "REALTIME" else HOST_OSCILLATOR,
                disciplined=False if name in (QPC, UPTIME_RAW, "MONOTONIC_RAW") else None,
            )
        return made

    def note(self, clock: ClockId) -> str | None:
        return "read through Python; this platform was not tested"

    def read(self, clock: ClockId) -> int:
        return self._entry(self._readers, clock)()


_KINDS: Final = {kind.word: kind for kind in KINDS}
_DEVICE: Final = re.compile(rf"({'|'.join(_KINDS)})(?::(\S+))?", re.IGNORECASE)


class FoundClock(NamedTuple):
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

    def everything(self) -> list[FoundClock]:
        """The clocks that can be read here."""
        return self._found(devices=True)

    def _found(self, *, devices: bool) -> list[FoundClock]:
        return [
            FoundClock(name, clock, source)
            for source in self._sources(devices=devices)
            for name, clock in source.clocks.items()
        ]

    @property
    def unavailable(self) -> tuple[Unavailable, ...]:
        """The clocks that cannot be read, with the reasons."""
        missing = [entry for source in self._sources(devices=True) for entry in source.unavailable]
        for word, opened in self._opened.items():
            if isinstance(opened, SourceError):
                missing.append(Unavailable(word, str(opened)))
            else:
                missing += opened.unavailable
        return tuple(missing)

    def find(self, requested: ClockLike) -> list[FoundClock]:
        """The requested clock; all devices of a kind for its word, else all for `host`.

        Takes names (`MONOTONIC`, `TAI`, `TSC`, `dev.tracetime.tsc`), numbers and ClockIds, `host`,
        and of devices `vulkan`, `opencl`, `cuda`, `ptp`, or `vulkan:0` (by position), `ptp:0`.

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
                        return [FoundClock(name, clock, source)]
        for entry in self.unavailable:
            if entry.name == requested or entry.name == str(clock):
                raise SourceError(f"{entry.name} is not available here: {entry.reason}")
        raise SourceError(f"no source of this machine has clock {requested}; {self._listing()}")

    def _find_group(self, text: str) -> list[FoundClock] | None:
        """The clocks of `host`, or of devices; None where the text names neither."""
        if match := _DEVICE.fullmatch(text):
            return self._find_devices(_KINDS[match[1].lower()], match[2])
        return self._found(devices=False) if text.lower() == HOST else None

    def short_name(self, name: str) -> str:
        """The short name of a clock that was found: `TSC`, `vulkan:0`."""
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

    def _find_devices(self, kind: DeviceKind, which: str | None) -> list[FoundClock]:
        """The devices of a kind, or one of them."""
        if self._own is not None:
            raise UsageError("give a clock of the given sources, by its name")
        number = None if which is None else kind.number(which)
        opened = self._open(kind)
        found = [
            FoundClock(device.name, device.clock, device)
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
