"""Two network namespaces of Linux, joined by a veth pair: two hosts on one wire.

Addresses exist inside the namespaces alone. It needs root, and `ip` of iproute2.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple

_CLONE_NEWNET: Final = 0x4000_0000
_ADDRESSES: Final = ("192.0.2.1", "192.0.2.2")


class Side(NamedTuple):
    """One namespace, and its address there."""

    name: str
    address: str

    def enter(self) -> None:
        """Let this thread, and what it starts, have the namespace's network."""
        with Path("/run/netns", self.name).open() as file:
            if ctypes.CDLL(None, use_errno=True).setns(file.fileno(), _CLONE_NEWNET):
                error = ctypes.get_errno()
                raise OSError(error, os.strerror(error), self.name)


@contextmanager
def joined_namespaces() -> Iterator[tuple[Side, Side]]:
    """Make both, and remove them at the end; raises OSError where that is not allowed here."""
    names = [f"tracetime-{os.getpid()}-{k}" for k in (1, 2)]
    one, other = (Side(*side) for side in zip(names, _ADDRESSES, strict=True))
    try:
        for side in (one, other):
            _ip("netns", "add", side.name)
            _ip("-n", side.name, "link", "set", "lo", "up")
        _ip(
            *("link", "add", "veth", "netns", one.name, "type", "veth"),
            *("peer", "name", "veth", "netns", other.name),
        )
        for side in (one, other):
            _ip("-n", side.name, "address", "add", f"{side.address}/24", "dev", "veth")
            _ip("-n", side.name, "link", "set", "veth", "up")
        yield one, other
    finally:
        for name in names:
            if Path("/run/netns", name).exists():
                _ip("netns", "delete", name)


def _ip(*arguments: str) -> None:
    done = subprocess.run(["ip", *arguments], capture_output=True, text=True)
    if done.returncode:
        raise OSError(f"ip {' '.join(arguments)}: {done.stderr.strip()}")
