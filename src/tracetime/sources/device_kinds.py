"""The kinds of devices that a machine may have: how callers name them, and how they are opened."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple, Protocol

from tracetime.errors import UsageError
from tracetime.sources.cuda import CudaDevices
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


class DeviceKind(NamedTuple):
    """A kind of devices.

    Attributes:
        word: what callers call all of them.
        mark: what stands between that and a number, where a clock is printed.
        open: opens them; raises SourceError where there is no driver.
    """

    word: str
    mark: str
    open: Callable[[], Devices]

    def short_name(self, number: int) -> str:
        """What callers may call one of them."""
        return f"{self.word}{self.mark}{number}"

    def number(self, text: str) -> int:
        """The number that a caller gives.

        Raises:
            UsageError: it is none.
        """
        if _NUMBER.fullmatch(text) is None:
            raise UsageError(f"{text!r} is no number of a device: as in {self.short_name(0)}")
        return int(text)


# The openers are looked up when they are called: tests replace them.
KINDS: Final = (
    DeviceKind("vulkan", ":", lambda: VulkanInstance()),
    DeviceKind("opencl", ".", lambda: OpenClDevices()),
    DeviceKind("cuda", ".", lambda: CudaDevices()),
    DeviceKind("ptp", ".", lambda: PtpClocks()),
)
