"""Addresses of the other side, as users write them."""

from __future__ import annotations

import os
import re
import socket
import stat
from typing import Any, Final

from tracetime.atomic_file import protect
from tracetime.errors import UsageError

# The key that messages are signed with, from its file.

SHORTEST: Final = 16
LONGEST: Final = 1024


def read_key(path: str | os.PathLike[str]) -> bytes:
    """Return the key in a file: its bytes, without white space at the end.

    Raises:
        UsageError: it cannot be read; others than its owner may read or write it; the key is
            shorter than 16 bytes or longer than 1,024.
    """
    name = os.fspath(path)
    try:
        number = os.open(name, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise UsageError(f"cannot read the key {name!r}: {reason}") from error
    facts = os.fstat(number)
    if not stat.S_ISREG(facts.st_mode):
        os.close(number)
        raise UsageError(f"the key {name!r} is not a file")
    with os.fdopen(number, "rb", buffering=0) as file:
        protect(file)
        if facts.st_mode & 0o077:
            raise UsageError(f"others may use the key {name!r}: chmod 600 it, and make a new one")
        key = (file.read(LONGEST + 2) or b"").rstrip()
    if not SHORTEST <= len(key) <= LONGEST:
        raise UsageError(
            f"the key {name!r} has {len(key)} bytes: it takes {SHORTEST} to {LONGEST}. Make one: "
            f"(umask 077; head -c 32 /dev/urandom | base64 > FILE)"
        )
    return key


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
    """The places that `ADDRESS:PORT` leads to, the preferred one first; one or more.

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
    # A host that begins with a dash would be an option of ssh.
    if match is None or match[1].startswith("-") or int(match[2] or 22) > 65535:
        raise UsageError(f"{host!r} is no ssh://[USER@]HOST[:PORT]")
    port = ["-p", match[2]] if match[2] else []
    name = match[1].replace("[", "").replace("]", "")
    batch = [] if asks else ["-o", "BatchMode=yes"]
    return ["ssh", "-T", *batch, *port, "--", name, "tracetime", "serve", "--stdio"]
