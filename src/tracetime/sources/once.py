"""A lock for what one thread does at a time, that a signal's handler does not wait for."""

from __future__ import annotations

from threading import RLock

from tracetime.errors import SourceError


class OneAtATime:
    """To be used in a `with`: threads wait for each other.

    A signal's handler that interrupts the very thread that is within would wait for ever.

    Args:
        what: is done within, for messages: `reading the clocks`.

    Raises:
        SourceError: on entering, in such a handler.
    """

    def __init__(self, what: str) -> None:
        self._what = what
        self._lock = RLock()
        self._within = False

    def __enter__(self) -> None:
        self._lock.acquire()
        if self._within:
            self._lock.release()
            raise SourceError(f"this interrupts {self._what}, in the same thread: do it after that")
        self._within = True

    def __exit__(self, *_: object) -> None:
        self._within = False
        self._lock.release()
