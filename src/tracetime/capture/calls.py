"""Calls of a recording, of which a signal's handler may make one in the midst of another.

What would wait there for the very thread that it interrupts is done right after instead.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

from tracetime.errors import SourceError, TracetimeError, UsageError

_T = TypeVar("_T")


class _Here(threading.local):
    """What one thread is at."""

    def __init__(self) -> None:
        self.busy = False
        self.sampling = False
        self.then: list[Callable[[], object]] = []
        self.then_close = False


class Calls:
    """The calls that are under way, thread by thread.

    Args:
        close: ends the recording.
        failed: told of what could not be done after a snapshot.
    """

    def __init__(self, close: Callable[[], None], failed: Callable[[str], None]) -> None:
        self._close = close
        self._failed = failed
        self._snapshots = threading.RLock()
        self._here = _Here()

    @property
    def busy(self) -> bool:
        """Whether this thread is at something in which it may wait for others."""
        return self._here.busy

    @property
    def sampling(self) -> bool:
        """Whether this thread is at a snapshot, or waits for its turn: another comes after it."""
        return self._here.sampling

    def run(self, work: Callable[[], _T]) -> _T:
        """Do something; then end the recording, if a handler wanted that meanwhile."""
        here = self._here
        before = here.busy
        try:
            here.busy = True
            return work()
        finally:
            here.busy = before
            if here.then_close and not before:
                here.then_close = False
                self._close()

    def alone(self, work: Callable[[], _T]) -> _T:
        """Do something with a snapshot, one thread at a time; then what handlers left to it."""
        if self._here.sampling:
            return work()
        try:
            return self._sampling(work)
        finally:
            while self._here.then:
                self._sampling(self._catch_up)

    def after_snapshot(self, work: Callable[[], object]) -> None:
        """Leave something to the snapshot that this thread is at; the same only once."""
        if work not in self._here.then:
            self._here.then.append(work)

    def close_after(self) -> None:
        """Leave it to what this thread is at to end the recording."""
        self._here.then_close = True

    def _sampling(self, work: Callable[[], _T]) -> _T:
        try:
            # Before the wait for other threads: a handler that came within it would wait as well,
            # and the next within that, as long as signals come.
            self._here.sampling = True
            with self._snapshots:
                return work()
        finally:
            self._here.sampling = False

    def _catch_up(self) -> None:
        then = self._here.then
        # A handler may have come before this was `sampling`, and done it.
        if not then:
            return
        try:
            # While it is done it stands there: what is asked for again need not be done twice.
            then[0]()
        except (SourceError, UsageError) as error:
            self._failed(str(error))
        finally:
            then.pop(0)


def insist(work: Callable[[], object]) -> None:
    """Do it; once more where something that a signal's handler raises breaks it off."""
    try:
        work()
    except TracetimeError:
        raise
    except BaseException:
        work()
        raise
