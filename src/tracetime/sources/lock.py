"""A lock that a signal's handler does not wait for if it interrupts its owner."""

from __future__ import annotations

from threading import RLock
from typing import Any

from tracetime.errors import SourceError


class OneAtATime:
    """A lock of threads that wait for each other in a `with` of `turn()`.

    A signal's handler that interrupts the thread whose turn it is would wait for ever: it gets an
    error instead.

    Args:
        what: the work that is protected, for messages: `reading the clocks`.
    """

    def __init__(self, what: str) -> None:
        self._what = what
        self._lock: Any = RLock()

    def turn(self) -> Any:
        """The lock, for a `with`: no signal comes between taking it and entering the block.

        Raises:
            SourceError: it is this thread's turn already.
        """
        if self._lock._is_owned():
            raise SourceError(f"this interrupts {self._what} in the same thread: do it after that")
        return self._lock
