"""The kinds of devices that a machine may have: how callers name them, and how they are opened."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple, Protocol

from tracetime.errors import UsageError
from tracetime.sources.cuda import CudaDevices
from tracetime.sources.network_card import clock_of_card
from tracetime.sources.opencl import OpenClDevices
from tracetime.sources.ptp import PtpClocks
from tracetime.sources.source import Device, Unavailable
from tracetime.sources.vulkan import VulkanInstance

_NUMBER: Final = re.compile(r"[0-9]{1,3}", re.ASCII)


class Devices(Protocol):
    """The devices of one kind, opened.

    Attributes:
        numbered: those that can be read: sources of one clock each, by their number.
        unavailable: the others, and why.
    """

    @property
    def numbered(self) -> Mapping[int, Device]: ...

    @property
    def unavailable(self) -> tuple[Unavailable, ...]: ...

    def close(self) -> None:
        """Close the devices."""


def _position(text: str) -> int:
    """The number of a device that a caller gives."""
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
        mark: what stands between that and a number, where a clock is printed.
        open: opens them; raises SourceError where there is no driver.
        number: of the device that a caller gives after the mark; raises UsageError or SourceError.
    """

    word: str
    mark: str
    open: Callable[[], Devices]
    number: Callable[[str], int] = _position

    def short_name(self, number: int) -> str:
        """What callers may call one of them."""
        return f"{self.word}{self.mark}{number}"


# The openers are looked up when they are called: tests replace them.
KINDS: Final = (
    DeviceKind("vulkan", ":", lambda: VulkanInstance()),
    DeviceKind("opencl", ".", lambda: OpenClDevices()),
    DeviceKind("cuda", ".", lambda: CudaDevices()),
    DeviceKind("ptp", ".", lambda: PtpClocks(), _ptp_number),
)
