"""Processes that a test forks, and the parts that they record."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tracetime import open_trace


def rows(path: Path) -> list[dict[str, Any]]:
    with open_trace(path) as trace:
        return trace.read_all(names=True).to_pylist()


def forked(work: Callable[[], object]) -> int:
    child = os.fork()
    if child == 0:
        signal.alarm(600)
        try:
            work()
        except BaseException as error:
            print(repr(error))
            os._exit(1)
        os._exit(0)
    return child


def ended(child: int) -> int:
    return os.waitpid(child, 0)[1]


def parts(path: Path) -> list[Path]:
    return sorted(path.parent.glob("*.part"))
