"""The memory that the daemon of AWS ClockBound shares, layout 2 (releases from 2.0 on).

The layout and its rules: https://github.com/aws/clock-bound, docs/PROTOCOL.md and clock-bound-shm.
The file is kept open and read, not mapped: a daemon that begins anew cuts it to nothing, and who
reads a mapping at that moment dies.
"""

from __future__ import annotations

import os
import struct
import time
import weakref
from collections.abc import Callable
from functools import cached_property, partial
from pathlib import Path
from typing import Final

from tracetime.errors import NoBoundError
from tracetime.sources.posix import in_time_namespace
from tracetime.sources.time_service.statement import (
    ANY_OSCILLATOR_PPB,
    MOST_BOUND_NS,
    PPB,
    DisruptedError,
    Statement,
)
from tracetime.sources.time_service.vmclock import VMCLOCK_PATH, VmClock

CLOCKBOUND_PATH: Final = "/var/run/clockbound/shm0"
_NS: Final = 1_000_000_000
_HEADER: Final = struct.Struct("=IIIHH")
"""Magic number (2), size, version of the layout, generation; in the order of the machine."""
_BODY: Final = struct.Struct("=qqqqqQIiB7x")
"""As of (s, ns), void after (s, ns), bound, disruption marker, drift, status, disruption flag."""
_SIZE: Final = _HEADER.size + _BODY.size
_MAGIC: Final = (0x414D5A4E, 0x43420200)
_VERSION: Final = 2
_UNKNOWN, _SYNCHRONIZED, _FREE_RUNNING, _DISRUPTED = range(4)
_TRIES: Final = 50
_PAUSE_S: Final = 100e-6


class _OpenFile:
    """A file that stays open for reading as long as this object is used.

    Attributes:
        read: the bytes of the memory, as they are now.

    Raises:
        OSError, ValueError: it cannot be opened.
    """

    def __init__(self, path: str) -> None:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        self._fd, self._file = fd, os.fstat(fd)
        weakref.finalize(self, _close, fd, self._file)
        self.read = partial(os.pread, fd, _SIZE, 0)

    def is_at(self, path: str) -> bool:
        """Whether the path still leads to this file.

        Raises:
            OSError: it leads nowhere.
        """
        return os.path.samestat(Path(path).stat(), self._file) and _is_open(self._fd, self._file)

    def has(self, data: bytes) -> bool:
        """Whether the memory has these bytes, all that it has."""
        try:
            return self.read() == data
        except OSError:
            return False


def _is_open(fd: int, file: os.stat_result) -> bool:
    """Whether the descriptor is still the file's: programs close what they do not know."""
    try:
        return os.path.samestat(os.fstat(fd), file)
    except OSError:
        return False


def _close(fd: int, file: os.stat_result) -> None:
    if _is_open(fd, file):
        os.close(fd)


class ClockBound:
    """A reader of the daemon's bound.

    The bound grows by the daemon's drift from its time stamp on. That is of MONOTONIC_COARSE, which
    lags by up to a tick; it is compared with MONOTONIC itself, which holds that tick.

    Args:
        path: of the shared memory.
        vmclock: of the device that counts disruptions.
    """

    name = "clockbound"
    poll_ns = 1_000_000
    retry_ns = 0

    def __init__(self, path: str = CLOCKBOUND_PATH, vmclock: str = VMCLOCK_PATH) -> None:
        self._path = path
        self._vmclock = vmclock
        self._file: _OpenFile | None = None

    @cached_property
    def _elsewhere(self) -> bool:
        """Whether MONOTONIC of this process is not the daemon's."""
        return in_time_namespace()

    @cached_property
    def _device(self) -> VmClock:
        return VmClock(self._vmclock)

    def ask(self, monotonic_ns: Callable[[], int]) -> Statement:
        """The present statement of the memory; see `TimeSource.ask`."""
        try:
            file = self._open_file()
            data = self._consistent(file)
        except (OSError, ValueError) as error:
            raise self._unreadable(error) from None
        fields = _BODY.unpack_from(data, _HEADER.size)
        as_of_s, as_of_ns, void_s, void_ns, bound_ns, marker, drift_ppb, status, watched = fields
        sane = (
            _is_time(as_of_s, as_of_ns)
            and _is_time(void_s, void_ns)
            and 0 <= bound_ns <= MOST_BOUND_NS
            and drift_ppb < PPB
            and _UNKNOWN <= status <= _DISRUPTED
            and watched <= 1
        )
        if not sane:
            raise self._damaged("has values that no ClockBound writes")
        if status == _DISRUPTED:
            raise DisruptedError(
                "ClockBound says that the clock was disrupted; wait until it is synchronised again"
            )
        if status == _UNKNOWN or not bound_ns:
            raise NoBoundError(
                "ClockBound knows no bound; see with `chronyc tracking` whether chronyd is "
                "synchronised"
            )
        holds = self._watch(marker) if watched else None
        if self._elsewhere:
            raise NoBoundError("this time namespace has a MONOTONIC that is not ClockBound's")
        as_of, void_after = as_of_s * _NS + as_of_ns, void_s * _NS + void_ns
        now_ns = monotonic_ns()
        if as_of > now_ns:
            raise self._damaged("is from the future, or of another boot")
        if now_ns >= void_after:
            raise NoBoundError("ClockBound's bound is void: the daemon has ended; start it")
        return Statement(
            bound_ns,
            as_of,
            drift_ppb,
            ANY_OSCILLATOR_PPB,
            str(as_of),
            void_after,
            holds,
            partial(file.has, data),
        )

    def _watch(self, marker: int) -> Callable[[], bool]:
        """A check that no disruption has come since the daemon's last look.

        Raises:
            DisruptedError: one has.
        """
        device = self._device

        def undisrupted() -> bool:
            return device.disruptions() == marker

        if not undisrupted():
            raise DisruptedError(
                "the clock was disrupted, and ClockBound has not noticed yet; try again"
            )
        return undisrupted

    def _open_file(self) -> _OpenFile:
        """The file; a new one if the daemon has put one in its place.

        Raises:
            OSError, ValueError: it cannot be opened.
        """
        file = self._file
        if file is None or not file.is_at(self._path):
            file = self._file = _OpenFile(self._path)
        return file

    def _consistent(self, file: _OpenFile) -> bytes:
        """The bytes of a whole update.

        Raises:
            OSError: they cannot be read.
            NoBoundError: it is no such memory, or is being written for long.
        """
        for _ in range(_TRIES):
            data = file.read()
            # The generation is odd while the daemon writes, and another one after that.
            if not self._generation(data) & 1 and file.read() == data:
                return data
            time.sleep(_PAUSE_S)
        raise NoBoundError(
            f"{self._path} has been half written for {_TRIES * _PAUSE_S * 1e3:g} ms; "
            "restart ClockBound"
        )

    def _generation(self, data: bytes) -> int:
        """The generation of an update, its header checked."""
        if len(data) < _HEADER.size:
            raise self._damaged(f"has {len(data)} bytes")
        *magic, size, version, generation = _HEADER.unpack_from(data)
        if tuple(magic) != _MAGIC:
            raise self._damaged("begins with other bytes")
        if not version or not generation:
            raise NoBoundError(f"ClockBound has not written to {self._path} yet; try again")
        if version < _VERSION:
            raise NoBoundError(
                f"{self._path} has layout {version} of ClockBound's memory; "
                f"update ClockBound to 2.0, which writes layout {_VERSION}"
            )
        if version > _VERSION:
            raise NoBoundError(
                f"{self._path} has layout {version} of ClockBound's memory; "
                f"this version of tracetime reads layout {_VERSION}"
            )
        if len(data) < _SIZE or size < _SIZE:
            raise self._damaged(f"is cut off: it has {min(len(data), size)} bytes of {_SIZE}")
        assert isinstance(generation, int)
        return generation

    def _damaged(self, how: str) -> NoBoundError:
        return NoBoundError(
            f"{self._path} {how}: it is no memory of ClockBound; remove it, and restart ClockBound"
        )

    def _unreadable(self, error: OSError | ValueError) -> NoBoundError:
        reason = getattr(error, "strerror", None) or str(error)
        return NoBoundError(f"{self._path} cannot be read ({reason}); start ClockBound's daemon")


def _is_time(seconds: int, ns: int) -> bool:
    return 0 <= seconds < MOST_BOUND_NS // _NS and 0 <= ns < _NS
