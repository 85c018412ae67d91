"""Tasks of Ray that call one function for each trace, in a cluster or on this machine.

Ray places the tasks, starts the workers (once, not once for each trace), and does a task once more
whose worker dies. What is here hands out traces and takes back what came of them.
"""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import socket
import threading
from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from itertools import islice
from typing import Any, Final, TypeVar

from tracetime.errors import UsageError
from tracetime.sql.memory import limited_memory
from tracetime.text import printable

T = TypeVar("T")

LOCAL: Final = "local"
"""The address of a cluster that is started on this machine, and ended after the run."""

_AHEAD: Final = 2
"""Tasks that are handed out for each CPU: one in work, one that waits."""

_AGAIN: Final = 1
"""How often a task is done again whose worker died."""

_OBJECTS: Final = 100 << 20
"""Bytes of the object store of a local cluster: what tasks return is small, and not there."""

_PATIENCE_S: Final = 5.0

_SHORT_S: Final = 0.5
"""A task that takes no longer is not cancelled, but ends."""


def run_in_ray(
    function: Callable[[str], T],
    uris: Iterable[str],
    on_death: Callable[[str], T],
    address: str,
    workers: int | None,
    memory: int,
) -> Iterator[T]:
    """Yield what a function returns for each URI, in the order in which they are done.

    Args:
        function: is sent to the workers, as its results are from there; these need tracetime.
        on_death: called here for a URI whose worker dies, twice.
        address: of the cluster, as `ray.init` has it; `LOCAL` starts one.
        workers: how many tasks are in work at once, at most; by default one for each CPU.
        memory: how many bytes each may take, beyond what its worker has before.

    Raises:
        UsageError: Ray is not installed, or the cluster cannot be used.
    """
    ray = _load()
    with _connection(ray, address, workers, memory):
        _check_memory(ray, memory)

        @ray.remote(num_cpus=1, memory=memory, max_retries=_AGAIN)  # type: ignore[untyped-decorator]
        def one(uri: str) -> T:
            with limited_memory(memory):
                return function(uri)

        most = workers if workers and address != LOCAL else _AHEAD * _cpus(ray)
        yield from _results(ray, one, iter(uris), on_death, most)


def _results(
    ray: Any, task: Any, uris: Iterator[str], on_death: Callable[[str], T], most: int
) -> Iterator[T]:
    """Keep so many tasks in work, and yield what they return."""
    refs: dict[Any, str] = {}
    try:
        while True:
            for uri in islice(uris, most - len(refs)):
                refs[task.remote(uri)] = uri
            if not refs:
                return
            ray.wait(list(refs), num_returns=1)
            done, _ = ray.wait(list(refs), num_returns=len(refs), timeout=0)
            for ref in done:
                uri = refs.pop(ref)
                yield _result(ray, ref, uri, on_death)
    except BaseException:
        _cancel(ray, list(refs))
        raise


def _result(ray: Any, ref: Any, uri: str, on_death: Callable[[str], T]) -> T:
    errors = ray.exceptions
    try:
        result: T = ray.get(ref)
    except errors.RayTaskError as error:
        raise error.cause from None
    except (errors.WorkerCrashedError, errors.OutOfMemoryError, errors.NodeDiedError):
        return on_death(uri)
    return result


def _cancel(ray: Any, refs: list[Any]) -> None:
    """Let the tasks remove what they have begun, and end.

    Ray aborts the process where a task ends in the moment in which it is cancelled
    (https://github.com/ray-project/ray/pull/54798): short tasks would often.
    """
    with contextlib.suppress(Exception):  # The cluster may be gone.
        left = _running(ray, refs, _SHORT_S)
        for ref in left:
            ray.cancel(ref)
        _running(ray, left, _PATIENCE_S)


def _running(ray: Any, refs: list[Any], timeout_s: float) -> list[Any]:
    """Wait until tasks have ended; return those that have not."""
    if not refs:
        return []
    _, left = ray.wait(refs, num_returns=len(refs), timeout=timeout_s)
    return list(left)


@contextlib.contextmanager
def _connection(ray: Any, address: str, workers: int | None, memory: int) -> Iterator[None]:
    """Connect to a cluster, or start one; one that the caller is connected to is used as it is."""
    if ray.is_initialized():
        yield
        return
    own: dict[str, Any] = {}
    if address == LOCAL:
        # A person is asked before a program of theirs reports to others.
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        # With 15, which is Ray's own, they would wait for whatever else this machine does.
        os.environ.setdefault("RAY_worker_niceness", "0")
        own = {"num_cpus": workers, "object_store_memory": _OBJECTS, "include_dashboard": False}
        own["_memory"] = (workers or 1) * memory
    else:
        _check_reachable(address)
    on_sigterm = signal.getsignal(signal.SIGTERM)
    try:
        ray.init(address, log_to_driver=False, logging_level=logging.ERROR, **own)
    except (ConnectionError, RuntimeError, ValueError, ray.exceptions.RayError) as error:
        raise UsageError(f"cannot use Ray at {printable(address)!r}: {error}") from error
    if callable(on_sigterm) and threading.current_thread() is threading.main_thread():
        # Ray's own handler prints addresses of its own code, and another exit code.
        signal.signal(signal.SIGTERM, on_sigterm)
    try:
        yield
    finally:
        ray.shutdown()


def _check_reachable(address: str) -> None:
    """Raise where nobody listens: Ray itself would try for minutes, and end the process."""
    host, _, port = address.rpartition(":")
    if "://" in address or not host or not port.isdecimal():
        return
    try:
        socket.create_connection((host, int(port)), _PATIENCE_S).close()
    except (OSError, OverflowError) as error:
        raise UsageError(
            f"there is no cluster of Ray at {printable(address)!r} ({error}): `ray status` has the "
            f"address of a cluster, and {LOCAL!r} starts one on this machine"
        ) from error


def _check_memory(ray: Any, memory: int) -> None:
    """Raise where no node would ever take a task: Ray would wait for one."""
    nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]
    most = max((int(node.get("memory", 0)) for node in nodes), default=0)
    if most < memory:
        raise UsageError(
            f"no node of the cluster has {memory:,} bytes of memory for a trace, but at most "
            f"{most:,}: lower the limit (--memory)"
        )


def _cpus(ray: Any) -> int:
    return max(1, int(ray.cluster_resources().get("CPU", 1)))


def _load() -> Any:
    try:
        ray = import_module("ray")
        import_module("ray.exceptions")
    except ImportError as error:
        raise UsageError(f"--address needs Ray: pip install tracetime[ray] ({error})") from None
    return ray
