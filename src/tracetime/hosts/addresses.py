"""Addresses of the other side, as users write them."""

from __future__ import annotations

import re
import socket
from typing import Any, Final

from tracetime.errors import UsageError

_ADDRESS: Final = re.compile(r"(?:udp://)?(?:\[([^\[\]/]+)\]|([^\[\]:/]+)):([0-9]{1,5})")
_SSH: Final = re.compile(
    r"ssh://((?:[\w.+-]+@)?[\w.-]+|(?:[\w.+-]+@)?\[[\w:.%]+\])(?::([0-9]{1,5}))?/?"
)

FORMS: Final = "write ssh://HOST, or ADDRESS:PORT where `tracetime serve --bind` replies"


def check_host(host: str) -> None:
    """Raise UsageError where a host is not written as `FORMS` says; it need not exist."""
    if ssh_command(host) is None:
        _parts(host)


def _parts(address: str) -> tuple[str, int]:
    match = _ADDRESS.fullmatch(address)
    if match is None or int(match[3]) > 65535:
        raise UsageError(
            f"{address!r} is no ADDRESS:PORT, such as 127.0.0.1:9010 or [::1]:9010, "
            "nor an ssh://worker7"
        )
    return match[1] or match[2], int(match[3])


Place = tuple[socket.AddressFamily, tuple[Any, ...]]
"""The family of an address, and what a socket takes."""


def resolve(address: str) -> list[Place]:
    """Where `ADDRESS:PORT` leads, the preferred place first; one or more.

    Raises:
        UsageError: it is not written so; the name is not known.
    """
    name, port = _parts(address)
    try:
        found = socket.getaddrinfo(name, port, type=socket.SOCK_DGRAM)
    except (OSError, UnicodeError) as error:
        raise UsageError(f"cannot find {address!r}: {error}") from error
    return [(family, place) for family, _, _, _, place in found]


def ssh_command(host: str, *, asks: bool = True) -> list[str] | None:
    """Return the command that reaches `ssh://[USER@]HOST[:PORT]`; None for another host.

    asks: whether ssh may ask the user for a password.

    Raises:
        UsageError: it begins so, and is not written so.
    """
    if not host.startswith("ssh://"):
        return None
    match = _SSH.fullmatch(host)
    # What begins with a dash would be an option of ssh.
    if match is None or match[1].startswith("-") or int(match[2] or 22) > 65535:
        raise UsageError(f"{host!r} is no ssh://[USER@]HOST[:PORT]")
    port = ["-p", match[2]] if match[2] else []
    name = match[1].replace("[", "").replace("]", "")
    batch = [] if asks else ["-o", "BatchMode=yes"]
    return ["ssh", "-T", *batch, *port, "--", name, "tracetime", "serve", "--stdio"]
