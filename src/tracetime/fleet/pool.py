"""A pool of processes that call one function for each trace.

What kills a process (a fault in a kernel, the system out of memory) costs one trace, not the run:
the traces that were in work are done once more, one after the other, and the one that kills its
process again is rejected.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from itertools import islice
from multiprocessing import connection, get_context, parent_process, resource_tracker
from multiprocessing.process import BaseProcess
from types import FrameType
from typing import Final, TypeVar, cast

from tracetime.sql.memory import limit_memory

T = TypeVar("T")

_AHEAD: Final = 2
"""Traces that are handed to each process: one in work, one that waits."""

_UNHEARD: Final = "ignore:resource_tracker:UserWarning"


def run_in_pool(
    function: Callable[[str], T],
    uris: Iterable[str],
    on_death: Callable[[str], T],
    workers: int,
    memory: int,
) -> Iterator[T]:
    """Yield what a function returns for each URI, in the order in which they are done.

    Args:
        function: is sent to the processes, as its results are from there.
        on_death: called here for a URI whose process dies.
        workers: how many processes there are.
        memory: how many bytes each may take, beyond what it has when it is started.
    """
    left = iter(uris)
    suspects: list[str] = []
    while True:
        yield from _until_broken(function, left, suspects, workers, memory)
        if not suspects:
            return
        again = iter(suspects)
        while True:
            killers: list[str] = []
            yield from _until_broken(function, again, killers, 1, memory, ahead=1)
            if not killers:
                break
            yield from map(on_death, killers)
        suspects = []


def _until_broken(
    function: Callable[[str], T],
    uris: Iterator[str],
    suspects: list[str],
    workers: int,
    memory: int,
    ahead: int = _AHEAD,
) -> Iterator[T]:
    """Yield results until there are no more URIs, or a process dies: then some are suspects."""
    # Forked processes would share what this one holds: locks of Arrow's threads, and its signals.
    pool = ProcessPoolExecutor(workers, get_context("spawn"), _start, (memory,))
    futures: dict[Future[T], str] = {}
    try:
        while True:
            for uri in islice(uris, ahead * workers - len(futures)):
                try:
                    futures[pool.submit(function, uri)] = uri
                except BrokenProcessPool:
                    suspects.append(uri)
                    break
            if not futures:
                return
            for future in wait(futures, return_when=FIRST_COMPLETED).done:
                uri = futures.pop(future)
                try:
                    result = future.result()
                except BrokenProcessPool:
                    suspects.append(uri)
                else:
                    yield result
            if suspects:
                suspects += futures.values()
                return
    except BaseException:
        _end(pool)
        raise
    finally:
        pool.shutdown(cancel_futures=True)


def _end(pool: ProcessPoolExecutor) -> None:
    """Let the processes remove what they have begun, and end."""
    # All stand still first: one that ends while it takes a task leaves half of it to the others.
    processes = list((pool._processes or {}).values())
    for number in (signal.SIGSTOP, signal.SIGTERM, signal.SIGCONT):
        for process in processes:
            if process.pid is not None:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(process.pid, number)
    _kill_after(processes, 4 * _PATIENCE_S)


def _kill_after(processes: Sequence[BaseProcess], seconds: float) -> None:
    """Kill those that have not ended by then: a loop in a kernel lets no handler of Python run."""
    left = {process.sentinel: process for process in processes}
    end = time.monotonic() + seconds
    while left and (remaining := end - time.monotonic()) > 0:
        for sentinel in connection.wait(list(left), remaining):
            del left[cast("int", sentinel)]
    for process in left.values():
        process.kill()


def _start(memory: int) -> None:
    """Prepare a process of the pool: load what is heavy, once; limit its memory."""
    # A terminal sends Ctrl-C to the processes, too: whoever started them decides.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, _terminate)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    import tracetime.fleet.part  # noqa: F401  so that no trace waits for it

    limit_memory(memory)


def _terminate(number: int, frame: FrameType | None) -> None:
    # The `with` blocks that the exception passes remove their files; the executor would go on.
    threading.Thread(target=_exit_soon, daemon=True).start()
    raise SystemExit(128 + number)


def _exit_soon() -> None:
    main = threading.main_thread()
    main.join(timeout=_PATIENCE_S)
    os._exit(128 + signal.SIGTERM)


_PATIENCE_S: Final = 0.5
"""How long the removal of files may take."""


def _end_with_parent() -> None:
    """End this process where the one that started it has been killed."""
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def start_quiet_tracker() -> None:
    """Start the resource tracker of multiprocessing so that it does not warn.

    It removes semaphores of processes that were killed, and warns of each on stderr after their run
    has ended: there is nothing to do. Where it runs already, nothing changes.
    """
    # It gets the options of this interpreter for warnings.
    sys.warnoptions.append(_UNHEARD)
    try:
        resource_tracker.ensure_running()
    finally:
        sys.warnoptions.remove(_UNHEARD)
