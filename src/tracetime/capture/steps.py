"""Waiting between two snapshots, unless a clock of this machine is set meanwhile.

Linux reports at once that the wall clock was set, or that the machine has slept: it cancels a timer
of the wall clock with TFD_TIMER_CANCEL_ON_SET, timerfd_create(2). Other systems do not report it:
the next snapshot reveals it.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import select
import sys
import time
from typing import Final

from tracetime.capture.flushing import Ending

_TFD_NONBLOCK: Final = getattr(os, "O_NONBLOCK", 0)
_TFD_CLOEXEC: Final = getattr(os, "O_CLOEXEC", 0)
_TFD_TIMER_ABSTIME: Final = 1
_TFD_TIMER_CANCEL_ON_SET: Final = 2
_NEVER_S: Final = (1 << 63) - 1
_COUNTER_BYTES: Final = 8


class _Timer(ctypes.Structure):
    """struct itimerspec with a time_t of 8 bytes: an interval, and when it first ends."""

    _fields_ = (
        ("interval_s", ctypes.c_int64),
        ("interval_ns", ctypes.c_int64),
        ("value_s", ctypes.c_int64),
        ("value_ns", ctypes.c_int64),
    )


class StepWatch:
    """A wait that notices when a clock was set.

    Attributes:
        notices: whether this system reports it.
    """

    def __init__(self) -> None:
        self._woken = Ending()
        self._timer = self._wakes = -1
        timer = timer_of_the_wall_clock()
        if timer >= 0:
            try:
                self._wakes = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
            except OSError:
                os.close(timer)
            else:
                self._timer = timer

    @property
    def notices(self) -> bool:
        return self._timer >= 0

    def wait(self, seconds: float) -> bool:
        """Wait at most so long, or until `wake`; returns whether a clock was set since then."""
        if not self.notices:
            self._woken.wait(max(0.0, seconds))
            return False
        poll = select.poll()
        for descriptor in (self._timer, self._wakes):
            poll.register(descriptor, select.POLLIN)
        ready = dict(poll.poll(max(0.0, seconds * 1_000)))
        cancelled = ready.get(self._timer, 0)
        if any(events & ~select.POLLIN for events in ready.values()):
            # The program closed descriptors that are not its own, as daemons do when they start.
            self._timer = -1
            return self.wait(seconds)
        if not cancelled:
            return False
        # The timer never ends: it is readable only because it was cancelled.
        with contextlib.suppress(OSError):
            os.read(self._timer, _COUNTER_BYTES)
        return True

    def wake(self) -> None:
        """End all waiting, now and from now on; a signal's handler may call this."""
        self._woken.set()
        if self.notices:
            with contextlib.suppress(OSError):
                os.eventfd_write(self._wakes, 1)

    def close(self) -> None:
        """Close the descriptors; nobody may be waiting."""
        timer, self._timer = self._timer, -1
        if timer >= 0:
            os.close(timer)
            os.close(self._wakes)


def timer_of_the_wall_clock() -> int:
    """A timer that is cancelled when the wall clock is set; -1 if the system has none."""
    if not sys.platform.startswith("linux") or ctypes.sizeof(ctypes.c_long) != 8:
        return -1
    try:
        system = ctypes.CDLL(None)
        create, arm = system.timerfd_create, system.timerfd_settime
    except (OSError, AttributeError):
        return -1
    timer = int(create(time.CLOCK_REALTIME, _TFD_CLOEXEC | _TFD_NONBLOCK))
    never = _Timer(0, 0, _NEVER_S, 0)
    flags = _TFD_TIMER_ABSTIME | _TFD_TIMER_CANCEL_ON_SET
    if timer >= 0 and arm(timer, flags, ctypes.byref(never), None) != 0:
        os.close(timer)
        return -1
    return timer
