"""The device in which a hypervisor counts how often it has disrupted a virtual machine's clocks.

The layout is that of linux/vmclock-abi.h. A migration changes the count before the machine goes on.
"""

from __future__ import annotations

import mmap
import os
from typing import Final

from tracetime.errors import NoBoundError

VMCLOCK_PATH: Final = "/dev/vmclock0"
_MAGIC: Final = b"VCLK"
_SEQUENCE: Final = slice(12, 16)
_MARKER: Final = slice(16, 24)
_SIZE: Final = 24
_TRIES: Final = 1_000


class VmClock:
    """The device, mapped.

    Args:
        path: of the device.

    Raises:
        NoBoundError: it cannot be mapped, or is no VMClock.
    """

    def __init__(self, path: str = VMCLOCK_PATH) -> None:
        self._path = path
        try:
            fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
            try:
                self._map = mmap.mmap(fd, _SIZE, prot=mmap.PROT_READ)
            finally:
                os.close(fd)
        except (OSError, ValueError) as error:
            raise NoBoundError(
                f"ClockBound watches for disruptions of this virtual machine, and {path} cannot "
                f"be read ({getattr(error, 'strerror', None) or error}); let this user read it"
            ) from None
        if self._map[:4] != _MAGIC:
            raise NoBoundError(f"{path} is no VMClock; restart ClockBound where it has one")

    def disruptions(self) -> int:
        """The number of disruptions, with a new value after each.

        Raises:
            NoBoundError: it is being changed all the time.
        """
        device = self._map
        for _ in range(_TRIES):
            before = device[_SEQUENCE]
            marker = device[_MARKER]
            # The lowest bit is set while the hypervisor writes. The device is little-endian.
            if not before[0] & 1 and device[_SEQUENCE] == before:
                return int.from_bytes(marker, "little")
        raise NoBoundError(f"{self._path} is being changed; try again")
