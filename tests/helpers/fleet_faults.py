"""Functions that processes of a pool call, and that end badly for some traces."""

import itertools
import os
import signal
import time
from pathlib import Path

from tracetime.errors import UsageError


def die_if_told(uri):
    """Kill this process where the trace is called so; else return the process, and the trace."""
    if uri.startswith("kill"):
        os.kill(os.getpid(), signal.SIGKILL)
    return os.getpid(), uri


def die_once(uri):
    """Kill this process the first time that it is called for a path that is not there yet."""
    if not Path(uri).exists():
        Path(uri).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return os.getpid(), uri


def take(text):
    """Take so many MB of memory."""
    try:
        return len(bytearray(int(text) << 20)) >> 20
    except MemoryError:
        return -1


def fail(text):
    """Fail as where a data set cannot be written."""
    raise UsageError(text)


def wait(text):
    """Wait for a number of seconds; for a path, until it is interrupted, and then make that file."""
    if text.isdecimal():
        time.sleep(int(text))
        return int(text)
    try:
        # Ray interrupts what Python does, not what it waits for.
        for _ in range(6000):
            time.sleep(0.01)
    finally:
        Path(text).touch()


def hold(text):
    """Return this process; for a path, make that file, and never let go of the interpreter again."""
    if text.startswith("/"):
        Path(text).touch()
        sum(itertools.repeat(0))
    return os.getpid()
