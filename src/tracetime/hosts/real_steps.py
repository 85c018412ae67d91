"""Whether REALTIME was set: Linux's timerfd_create(2), whose timer ends when that happens."""

from __future__ import annotations

import ctypes
import errno
import os
import sys
from typing import Final

from tracetime.errors import SourceError

_CLOCK_REALTIME: Final = 0
_FLAGS: Final = os.O_NONBLOCK | getattr(os, "O_CLOEXEC", 0)
_ABSOLUTE_AND_CANCEL_ON_SET: Final = 1 | 2
_NEVER_S: Final = 1 << 40


class _When(ctypes.Structure):
    """Linux's itimerspec: an interval, and when first."""

    _fields_ = tuple((name, ctypes.c_long) for name in ("every_s", "every_ns", "at_s", "at_ns"))


class RealtimeSteps:
    """Tells when REALTIME was set; raises SourceError where the system does not say so."""

    def __init__(self) -> None:
        if not sys.platform.startswith("linux"):
            raise SourceError("only Linux tells when REALTIME is set")
        library = ctypes.CDLL(None, use_errno=True)
        self._file = library.timerfd_create(_CLOCK_REALTIME, _FLAGS)
        if self._file < 0:
            raise SourceError(f"no timerfd: {os.strerror(ctypes.get_errno())}")
        when = ctypes.byref(_When(0, 0, _NEVER_S, 0))
        if library.timerfd_settime(self._file, _ABSOLUTE_AND_CANCEL_ON_SET, when, None):
            reason = os.strerror(ctypes.get_errno())
            self.close()
            raise SourceError(f"no timer that ends when REALTIME is set: {reason}")

    def seen(self) -> bool:
        """Whether it was set since the last call."""
        try:
            os.read(self._file, 8)
        except OSError as error:
            return error.errno != errno.EAGAIN
        return True

    def close(self) -> None:
        """Close the timer."""
        os.close(self._file)
