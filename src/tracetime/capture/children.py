"""Processes of multiprocessing: how to know them, and to lose nothing at their end."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any, Protocol


class Closable(Protocol):
    """A recording, or its part, to close when the process ends."""

    def close(self) -> None:
        """Close it."""

    def close_then(self, then: Callable[[], object]) -> None:
        """Close it, and do something: after the call that a signal's handler interrupts."""


def is_child() -> bool:
    """Whether this is a process of multiprocessing, or of concurrent.futures."""
    process: Any = sys.modules.get("multiprocessing.process")
    # While a process that is started anew imports the program, it has no parent yet.
    return process is not None and (imports_program() or process.parent_process() is not None)


def imports_program() -> bool:
    """Whether this process of multiprocessing has been started anew, and imports the program."""
    process: Any = sys.modules.get("multiprocessing.process")
    return process is not None and getattr(process.current_process(), "_inheriting", False)


def close_at_end(part: Closable) -> None:
    """Close something when a process of multiprocessing ends: such a process runs no atexit.

    A pool ends its processes by SIGTERM, as soon as it has their results. So that signal closes it
    too, unless the program handles it.
    """
    if "multiprocessing" not in sys.modules:
        return
    _add_finalizer(part)
    # A process that imports the program before its work begins forgets its finalizers then.
    util: Any = import_module("multiprocessing.util")
    util.register_after_fork(part, _add_finalizer)
    if (
        is_child()
        and threading.current_thread() is threading.main_thread()
        and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    ):
        signal.signal(signal.SIGTERM, _closing(part))


def _add_finalizer(part: Closable) -> None:
    util: Any = import_module("multiprocessing.util")
    util.Finalize(None, part.close, exitpriority=100)


def _closing(part: Closable) -> Callable[[int, object], None]:
    def close_and_end(number: int, frame: object) -> None:
        part.close_then(partial(_end_by, number))

    return close_and_end


def _end_by(number: int) -> None:
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
