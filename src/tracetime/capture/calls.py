"""Calls of a recording: a signal's handler may make one while it interrupts another.

A call that would wait there for the thread that it interrupts is done right after instead.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

from tracetime.errors import SourceError, TracetimeError, UsageError

_T = TypeVar("_T")


class _ThreadState(threading.local):
    """The state of one thread's calls."""

    def __init__(self) -> None:
        self.busy = False
        self.sampling = False
        self.deferred: list[Callable[[], object]] = []
        self.close_deferred = False
        self.after_close: Callable[[], object] | None = None


class Calls:
    """The calls that are in progress, thread by thread.

    Args:
        close: ends the recording.
        failed: called with why a deferred call failed.
    """

    def __init__(self, close: Callable[[], None], failed: Callable[[str], None]) -> None:
        self._close = close
        self._failed = failed
        self._snapshots = threading.RLock()
        self._here = _ThreadState()

    @property
    def busy(self) -> bool:
        """Whether this thread is in a call in which it may wait for others."""
        return self._here.busy

    @property
    def sampling(self) -> bool:
        """Whether this thread takes a snapshot, or waits for its turn."""
        return self._here.sampling

    def run(self, work: Callable[[], _T]) -> _T:
        """Do something; then end the recording, if a handler requested that meanwhile."""
        here = self._here
        before = here.busy
        try:
            here.busy = True
            return work()
        finally:
            here.busy = before
            if here.close_deferred and not before:
                here.close_deferred = False
                then, here.after_close = here.after_close, None
                try:
                    self._close()
                finally:
                    if then is not None:
                        then()

    def alone(self, work: Callable[[], _T]) -> _T:
        """Do something with a snapshot, one thread at a time; then what handlers deferred."""
        if self._here.sampling:
            return work()
        try:
            return self._sampling(work)
        finally:
            while self._here.deferred:
                self._sampling(self._catch_up)

    def after_snapshot(self, work: Callable[[], object]) -> None:
        """Defer something until after this thread's snapshot; the same thing only once."""
        if work not in self._here.deferred:
            self._here.deferred.append(work)

    def close_after(self, then: Callable[[], object] | None = None) -> None:
        """Defer the end of the recording, and what to do then, until after this thread's call."""
        self._here.close_deferred = True
        self._here.after_close = then or self._here.after_close

    def _sampling(self, work: Callable[[], _T]) -> _T:
        try:
            # Before the wait for other threads: else a handler that interrupts the wait would wait
            # too, and the next one within that, for as long as signals come.
            self._here.sampling = True
            with self._snapshots:
                return work()
        finally:
            self._here.sampling = False

    def _catch_up(self) -> None:
        deferred = self._here.deferred
        # A handler that came before this was `sampling` may have done it.
        if not deferred:
            return
        try:
            # It stays in the list while it is done: a repeated request is not done twice.
            deferred[0]()
        except (SourceError, UsageError) as error:
            self._failed(str(error))
        finally:
            deferred.pop(0)


def repeat_if_interrupted(work: Callable[[], object]) -> None:
    """Do something; once more if an exception of a signal's handler breaks it off."""
    try:
        work()
    except TracetimeError:
        raise
    except BaseException:
        work()
        raise
