"""The entry point of the command `tracetime`, and of `python -m tracetime`."""

from __future__ import annotations

import os
import signal
from types import FrameType
from typing import NoReturn


def main() -> NoReturn:
    """Run the command line and exit."""
    if signal.getsignal(signal.SIGINT) != signal.SIG_IGN:
        # While modules load there is nothing to clean up.
        signal.signal(signal.SIGINT, _leave)
    from tracetime import commands

    commands.main()


def _leave(number: int, frame: FrameType | None) -> NoReturn:
    start = b"\n" if os.isatty(2) else b""
    os.write(2, start + b"tracetime: interrupted\n")
    os._exit(128 + number)


if __name__ == "__main__":
    main()
