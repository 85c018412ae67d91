"""That something is to end, which threads wait for."""

from __future__ import annotations

import contextlib
from queue import Empty, SimpleQueue


class Ending:
    """As `threading.Event`, but for a signal's handler: whatever that interrupts, or raises, an
    Event's own lock may stay locked, for good.
    """

    def __init__(self) -> None:
        self._over = False
        self._told: SimpleQueue[None] = SimpleQueue()

    def is_set(self) -> bool:
        """Whether it is to end."""
        return self._over

    def set(self) -> None:
        """Let it end."""
        self._over = True
        self._told.put(None)

    def wait(self, seconds: float | None = None) -> None:
        """Wait until it is to end, or so long."""
        with contextlib.suppress(Empty):
            self._told.get(timeout=seconds)
            # For whoever else waits.
            self._told.put(None)
