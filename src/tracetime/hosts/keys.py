"""The key that messages are signed with, from its file."""

from __future__ import annotations

import os
import stat
from typing import Final

from tracetime.atomic_file import protect
from tracetime.errors import UsageError

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
