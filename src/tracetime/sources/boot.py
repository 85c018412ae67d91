"""The boot of the kernel from which the clocks of this machine count."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Final
from uuid import UUID

_BOOT_ID: Final = Path("/proc/sys/kernel/random/boot_id")
_OFFSETS: Final = Path("/proc/self/timens_offsets")


def boot_id(path: Path = _BOOT_ID, offsets: Path = _OFFSETS) -> bytes:
    """The 16 bytes by which Linux tells boots apart; empty where it does not.

    Empty, too, in a time namespace with clocks of its own: they are not those of the boot.

    Args:
        path: has the id.
        offsets: has a line for each clock of the namespace: name, seconds, ns.
    """
    with contextlib.suppress(OSError, ValueError):
        if not in_time_namespace(offsets):
            return UUID(path.read_text().strip()).bytes
    return b""


def in_time_namespace(offsets: Path = _OFFSETS) -> bool:
    """Whether MONOTONIC and BOOTTIME of this process are not those of the boot.

    Raises:
        OSError, ValueError: Linux says so in no way that is known.
    """
    if not offsets.exists():
        return False
    lines = offsets.read_text().splitlines()
    return any(any(map(int, line.split()[1:])) for line in lines)
