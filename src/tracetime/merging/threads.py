"""Work on the next file while one is written: in threads, two files at a time.

Kernels let go of Python's lock, so that one thread reads and writes packets while the other makes
tubes. What a thread makes is taken in the order of the files, whichever is done first.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Condition
from typing import Any, Final, Generic, Self, TypeVar

T = TypeVar("T")
U = TypeVar("U")

_THREADS: Final = 2

MOST_WAITING: Final = 32 << 20
"""Bytes that may wait until they are taken, of each thread; a single piece may have more."""


class _StoppedError(Exception):
    """Nobody waits for the work any more."""


class ThreadJob(Generic[T]):
    """The work of one thread: pieces of bytes, and a result.

    Args:
        pool: runs the thread.
        make: called there with what takes a piece; returns the result.
    """

    def __init__(
        self, pool: ThreadPoolExecutor, make: Callable[[Callable[[bytes], None]], T]
    ) -> None:
        self._pieces: deque[bytes] = deque()
        self._waiting = 0
        self._is_over = self._is_stopped = False
        self._changed = Condition()
        self._future: Future[T] = pool.submit(self._run, make)

    def pieces(self) -> Iterator[bytes]:
        """Yield the pieces in order, each as soon as it is made."""
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._pieces or self._is_over)
                if not self._pieces:
                    return
                piece = self._pieces.popleft()
                self._waiting -= len(piece)
                self._changed.notify_all()
            yield piece

    def result(self) -> T:
        """Return the result, or raise what the thread raised."""
        return self._future.result()

    def stop(self) -> None:
        """Let the thread end at its next piece."""
        with self._changed:
            self._is_stopped = True
            self._changed.notify_all()

    def _run(self, make: Callable[[Callable[[bytes], None]], T]) -> T:
        try:
            return make(self._put)
        finally:
            with self._changed:
                self._is_over = True
                self._changed.notify_all()

    def _put(self, piece: bytes) -> None:
        with self._changed:
            self._changed.wait_for(lambda: self._waiting <= MOST_WAITING or self._is_stopped)
            if self._is_stopped:
                raise _StoppedError
            self._pieces.append(piece)
            self._waiting += len(piece)
            self._changed.notify_all()


class Threads:
    """Threads that make pieces; they end with its `with`."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(_THREADS, thread_name_prefix="tracetime merge")
        self._jobs: list[ThreadJob[Any]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for job in self._jobs:
            job.stop()
        self._pool.shutdown(cancel_futures=True)

    def start(self, make: Callable[[Callable[[bytes], None]], T]) -> ThreadJob[T]:
        """Begin to make pieces as soon as a thread is free; see `ThreadJob`."""
        job = ThreadJob(self._pool, make)
        self._jobs.append(job)
        return job


def each(function: Callable[[T, Callable[[], None]], U], items: Iterable[T]) -> list[U]:
    """Return the results of a function for some items; it is called for two at a time.

    function: also takes what it calls now and then, so that it ends early where another has failed.
    """
    is_stopped = False

    def check() -> None:
        if is_stopped:
            raise _StoppedError

    pool = ThreadPoolExecutor(_THREADS, thread_name_prefix="tracetime merge")
    try:
        return list(pool.map(lambda item: function(item, check), items))
    finally:
        is_stopped = True
        pool.shutdown(cancel_futures=True)
