"""A request to end, which threads wait for."""

from __future__ import annotations

import contextlib
from queue import Empty, SimpleQueue


class Ending:
    """Like `threading.Event`, but safe for a signal's handler.

    A handler that interrupts a method of an Event, or raises there, may leave its lock locked.
    """

    def __init__(self) -> None:
        self._set = False
        self._queue: SimpleQueue[None] = SimpleQueue()

    def is_set(self) -> bool:
        """Whether the end was requested."""
        return self._set

    def set(self) -> None:
        """Request the end."""
        self._set = True
        self._queue.put(None)

    def wait(self, seconds: float | None = None) -> None:
        """Wait until the end is requested, or so long."""
        with contextlib.suppress(Empty):
            self._queue.get(timeout=seconds)
            # For the other threads that wait.
            self._queue.put(None)
