"""The bytes of Linux's calls on a PTP hardware clock: include/uapi/linux/ptp_clock.h.

The numbers of the calls are those of x86, Arm and RISC-V.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Final, NamedTuple

from tracetime.errors import SourceError

Ioctl = Callable[[int, int, bytearray], object]
"""Makes a call on a descriptor, which fills the bytes; raises OSError."""

SYS_OFFSET: Final = 0x43403D05
SYS_OFFSET_PRECISE: Final = 0xC0403D08
SYS_OFFSET_EXTENDED: Final = 0xC4C03D09

_TIME: Final = struct.Struct("=qII")
"""Seconds, ns, reserved."""
_HEAD: Final = struct.Struct("=I12x")
_PRECISE_SIZE: Final = 64
_MOST_SAMPLES: Final = 25
_LONGEST_S: Final = 9_000_000_000
_NS: Final = 1_000_000_000


def linux_ioctl(fd: int, request: int, data: bytearray) -> object:
    """ioctl(2), which fills `data`.

    Raises:
        OSError: the call fails.
    """
    from fcntl import ioctl

    return ioctl(fd, request, data, True)


class Bracket(NamedTuple):
    """The device's clock, and REALTIME before and after it was read; ns each."""

    before_ns: int
    device_ns: int
    after_ns: int


class Cross(NamedTuple):
    """The device's clock and those of the host at one moment, as hardware stamps them; ns each."""

    device_ns: int
    real_ns: int
    raw_ns: int


def read_precise(ioctl: Ioctl, fd: int) -> Cross:
    """A cross timestamp (PTP_SYS_OFFSET_PRECISE).

    Raises:
        OSError: the device has none.
        SourceError: the answer is none.
    """
    data = bytearray(_PRECISE_SIZE)
    ioctl(fd, SYS_OFFSET_PRECISE, data)
    return Cross(*(_time(data, at) for at in range(0, 3 * _TIME.size, _TIME.size)))


def read_extended(ioctl: Ioctl, fd: int) -> list[Bracket]:
    """Readings that the driver brackets one by one (PTP_SYS_OFFSET_EXTENDED).

    Raises:
        OSError: the driver cannot.
        SourceError: the answer is none.
    """
    times = _times(ioctl, fd, SYS_OFFSET_EXTENDED, 3 * _MOST_SAMPLES)
    return [Bracket(*times[at : at + 3]) for at in range(0, len(times), 3)]


def read_plain(ioctl: Ioctl, fd: int) -> list[Bracket]:
    """Readings of the host and of the device in turn (PTP_SYS_OFFSET).

    Raises:
        OSError: this is no PTP clock.
        SourceError: the answer is none.
    """
    times = _times(ioctl, fd, SYS_OFFSET, 2 * _MOST_SAMPLES + 1)
    return [Bracket(*times[at : at + 3]) for at in range(0, len(times) - 1, 2)]


def narrowest(brackets: list[Bracket]) -> Bracket:
    """The one that was read in the shortest time.

    Raises:
        SourceError: REALTIME went back in all of them.
    """
    kept = [one for one in brackets if one.after_ns >= one.before_ns]
    if not kept:
        raise SourceError("REALTIME went back in all brackets of the device: try again")
    return min(kept, key=lambda one: one.after_ns - one.before_ns)


def _times(ioctl: Ioctl, fd: int, request: int, count: int) -> list[int]:
    data = bytearray(request >> 16 & 0x3FFF)
    _HEAD.pack_into(data, 0, _MOST_SAMPLES)
    ioctl(fd, request, data)
    if _HEAD.unpack_from(data) != (_MOST_SAMPLES,):
        raise SourceError("the driver has taken another number of samples: update the kernel")
    return [_time(data, _HEAD.size + at * _TIME.size) for at in range(count)]


def _time(data: bytearray, at: int) -> int:
    seconds, ns, _ = _TIME.unpack_from(data, at)
    if not (0 <= seconds <= _LONGEST_S and ns < _NS):
        raise SourceError(
            f"the driver says a time of {seconds} s and {ns} ns, which is none: set the clock, as "
            "ptp4l or phc_ctl do"
        )
    return int(seconds) * _NS + int(ns)
