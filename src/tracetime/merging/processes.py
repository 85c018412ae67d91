"""Forked processes that make pieces: Python's lock is not one for all of them, as it is in threads.

A fork has what its parent has read, at no cost: traces need not be read again, nor a graph be sent.
It lacks the parent's threads, but has the locks they held: what is done in it is kernels and NumPy,
and it is for programs whose threads are all their own. It ends where its parent does.
"""

from __future__ import annotations

import gc
import signal
import traceback
import warnings
from collections.abc import Callable, Sequence
from multiprocessing import get_context
from multiprocessing.connection import Connection
from queue import SimpleQueue
from typing import Any, Final, Generic, Self, TypeVar

from tracetime.errors import TraceError, TracetimeError

T = TypeVar("T")

Put = Callable[[bytes], None]
Make = Callable[[int, Put, Callable[[int], None]], T]

_PIECE: Final = None
"""Comes before each piece; a number says how far the process is, and a tuple what came of it."""


class Processes(Generic[T]):
    """Processes that make pieces of bytes, and a result, for a number; they end with its `with`.

    Args:
        make: called there with a number, what takes a piece, and what takes how far it is.
        n: how many there are.
    """

    def __init__(self, make: Make[T], n: int) -> None:
        context = get_context("fork")
        self._ends: list[Connection] = []
        self._free: SimpleQueue[Connection] = SimpleQueue()
        self._processes = []
        for _ in range(n):
            here, there = context.Pipe()
            self._ends.append(here)
            process = context.Process(
                target=_serve, args=(make, there, tuple(self._ends)), daemon=True
            )
            with warnings.catch_warnings():
                # Python warns of threads: OpenBLAS, which can be forked, has some.
                warnings.simplefilter("ignore", DeprecationWarning)
                process.start()
            there.close()
            self._processes.append(process)
            self._free.put(here)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for process in self._processes:
            process.terminate()
        for process in self._processes:
            # A thread that waits for one sees its end.
            process.join()

    def make(self, number: int, put: Put, tell: Callable[[int], None]) -> T:
        """Return the result of the next process that is free; called in threads.

        Raises:
            TraceError: the process died.
        """
        end = self._free.get()
        try:
            end.send(number)
            while not isinstance(message := end.recv(), tuple):
                if message is _PIECE:
                    put(end.recv_bytes())
                else:
                    tell(message)
        except (EOFError, ConnectionError):
            raise TraceError(
                "the process that baked it was killed: out of memory, or by a fault of ours"
            ) from None
        finally:
            self._free.put(end)
        result, error = message
        if error is not None:
            raise error
        made: T = result
        return made


def _serve(make: Make[Any], end: Connection, parents: Sequence[Connection]) -> None:
    """Run what the parent asks for, until the parent ends."""
    for one in parents:
        one.close()
    # A terminal sends Ctrl-C to this process, too: its parent decides.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)
    # The collector would write to every object, and so copy what is shared.
    gc.freeze()

    def put(piece: bytes) -> None:
        end.send(_PIECE)
        end.send_bytes(piece)

    try:
        while True:
            asked = end.recv()
            answer: tuple[Any, BaseException | None]
            try:
                answer = make(asked, put, end.send), None
            except ConnectionError:
                return
            except Exception as error:
                if not isinstance(error, TracetimeError):
                    error.add_note(traceback.format_exc())
                answer = None, error
            end.send(answer)
    except (EOFError, ConnectionError):
        return
