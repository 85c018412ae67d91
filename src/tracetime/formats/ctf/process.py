"""A process of `worker`, which reads traces by babeltrace2, and the frames that it writes.

What it writes is checked as the bytes of a file are: damaged traces may have made babeltrace2 write
anything.
"""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Generator, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from tracetime.errors import TraceError, UsageError
from tracetime.text import printable

_WORKER: Final = Path(__file__).with_name("worker") / "__main__.py"
_SYSTEM_PYTHON: Final = "/usr/bin/python3"
_NO_MODULE: Final = 77
"""How the worker exits where its Python has no bt2."""

_MEMORY: Final = 256 << 20
"""What the worker may take, besides a multiple of the trace: its libraries take 100 MB."""
_MEMORY_FACTOR: Final = 8
_SECONDS: Final = 30
_BYTES_A_SECOND: Final = 50_000
"""What the worker reads at the least: a slow machine reads twenty times as fast."""
_EVENT_BITS: Final = 1
"""What an event takes at the least: those that take nothing would never end."""

_MOST_SAID: Final = 500
"""Characters of a message that are shown."""
_LOGGED: Final = re.compile(r"^[-0-9]+ [:.0-9]+ +\d+ +\d+ [A-Z] \S+ \S+@\S+:\d+ (\[trace\] )?")
_ADDRESS: Final = re.compile(r"[\w-]*addr=(0x[0-9a-f]+|\(nil\)),? ?")

_COLUMNS: Final = {
    "timestamps": np.int64,
    "traces": np.uint32,
    "events": np.int32,
    "threads": np.int32,
    "tids": np.int64,
    "pids": np.int32,
    "cpus": np.int32,
    "known": np.uint8,
    "lengths": np.uint32,
    "args": np.uint8,
}


class Frame(NamedTuple):
    """The facts that the worker wrote, and columns where it has any; see there."""

    facts: Mapping[str, Any]
    columns: Mapping[str, npt.NDArray[Any]]


class Request(NamedTuple):
    """The folders to read, and how.

    Attributes:
        folders: of the traces.
        size: of their files, bytes.
        partial: whether to go on after what is damaged.
        rows: whether to read events, too.
        names: whether to read what they are.
    """

    folders: list[str]
    size: int
    partial: bool
    rows: bool = False
    names: bool = False


def frames(request: Request) -> Generator[Frame, None, None]:
    """Read traces, and yield what the worker writes of them.

    Raises:
        UsageError: bt2 is not installed.
        TraceError: a trace is damaged; with `partial`, at the end.
    """
    with tempfile.TemporaryFile() as messages, _scratch(request) as scratch:
        asked = request._asdict() | {
            "most_events": request.size * 8 // _EVENT_BITS,
            "memory": _MEMORY + _MEMORY_FACTOR * request.size,
            "seconds": _SECONDS + request.size // _BYTES_A_SECOND,
            "scratch": scratch,
        }
        worker = _start(messages)
        assert worker.stdin is not None
        assert worker.stdout is not None
        try:
            worker.stdin.write(json.dumps(asked).encode() + b"\n")
            worker.stdin.flush()
            for frame in _frames_of(worker.stdout):
                if "error" in frame.facts:
                    message = _first(messages) or str(frame.facts["error"])
                    folder = str(frame.facts["folder"])
                    raise TraceError(
                        _error_text(message if folder in message else f"{folder}: {message}")
                    )
                if "end" in frame.facts:
                    return
                yield frame
            raise _end_error(worker.wait(), messages)
        except BrokenPipeError:
            raise _end_error(worker.wait(), messages) from None
        finally:
            worker.kill()
            worker.wait()
            worker.stdout.close()
            with suppress(BrokenPipeError):
                worker.stdin.close()


def _scratch(request: Request) -> AbstractContextManager[str]:
    """A directory for what the worker copies; "" where it copies nothing."""
    return tempfile.TemporaryDirectory() if request.partial else nullcontext("")


def _start(messages: IO[bytes]) -> subprocess.Popen[bytes]:
    python = sys.executable if find_spec("bt2") is not None else _SYSTEM_PYTHON
    try:
        return subprocess.Popen(
            [python, "-I", str(_WORKER)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=messages,
        )
    except OSError:
        raise _not_installed() from None


def _not_installed() -> UsageError:
    return UsageError(
        "CTF traces are read by babeltrace2's Python module bt2, which neither this Python nor "
        f"{_SYSTEM_PYTHON} has: install it (Debian, Ubuntu: apt-get install python3-bt2)"
    )


def _end_error(code: int, messages: IO[bytes]) -> UsageError | TraceError:
    """The error for which the worker wrote no more."""
    if code == _NO_MODULE:
        return _not_installed()
    if code == -signal.SIGKILL:
        return TraceError("babeltrace2 was killed, by hand or for want of memory: read it again")
    how = f"exit code {code}"
    if code < 0:
        how = signal.Signals(-code).name
    message = _first(messages)
    return TraceError(_error_text(f"babeltrace2 ended ({how}){message and ': '}{message}"))


def _first(messages: IO[bytes]) -> str:
    """The first of the messages of babeltrace2, which names the cause; none without any."""
    messages.seek(0)
    line = messages.readline(_MOST_SAID).decode(errors="replace").strip()
    return _ADDRESS.sub("", _LOGGED.sub("", line))


def _error_text(text: str) -> str:
    """The message of babeltrace2, as an error that says what to do."""
    message = printable(text, _MOST_SAID).rstrip(".,: ")
    return f"{message}; get a whole copy of the directory, or see what `babeltrace2` says of it"


def _frames_of(stream: IO[bytes]) -> Iterator[Frame]:
    while line := stream.readline():
        try:
            facts = json.loads(line)
            sizes = facts.get("columns", {})
            columns = {
                name: np.frombuffer(_exactly(stream, int(sizes[name])), kind)
                for name, kind in _COLUMNS.items()
                if name in sizes
            }
        except (ValueError, AttributeError) as error:
            raise TraceError(_error_text(f"babeltrace2 gave no events: {error}")) from error
        yield Frame(facts, columns)


def _exactly(stream: IO[bytes], size: int) -> bytes:
    data = stream.read(size)
    if len(data) < size:
        raise ValueError("it ended within them")
    return data
