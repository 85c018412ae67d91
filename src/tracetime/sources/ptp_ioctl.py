"""The bytes of Linux's calls on a PTP hardware clock: include/uapi/linux/ptp_clock.h.

The numbers of the calls are those of x86, Arm and RISC-V.
"""

from __future__ import annotations

import ctypes
import errno
import socket
import struct
from collections.abc import Callable
from pathlib import Path
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


class DeviceBracket(NamedTuple):
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


def read_extended(ioctl: Ioctl, fd: int) -> list[DeviceBracket]:
    """Readings that the driver brackets one by one (PTP_SYS_OFFSET_EXTENDED).

    Raises:
        OSError: the driver cannot.
        SourceError: the answer is none.
    """
    times = _times(ioctl, fd, SYS_OFFSET_EXTENDED, 3 * _MOST_SAMPLES)
    return [DeviceBracket(*times[at : at + 3]) for at in range(0, len(times), 3)]


def read_plain(ioctl: Ioctl, fd: int) -> list[DeviceBracket]:
    """Readings of the host and of the device in turn (PTP_SYS_OFFSET).

    Raises:
        OSError: this is no PTP clock.
        SourceError: the answer is none.
    """
    times = _times(ioctl, fd, SYS_OFFSET, 2 * _MOST_SAMPLES + 1)
    return [DeviceBracket(*times[at : at + 3]) for at in range(0, len(times) - 1, 2)]


def narrowest(brackets: list[DeviceBracket]) -> DeviceBracket:
    """The bracket that was read in the shortest time.

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


# The PTP hardware clock by which a network interface stamps packets: ETHTOOL_GET_TS_INFO.
#
# The bytes are those of include/uapi/linux/ethtool.h (struct ethtool_ts_info) and linux/if.h.

SIOCETHTOOL: Final = 0x8946
GET_TS_INFO: Final = 0x41

TX_HARDWARE: Final = 1 << 0
RX_HARDWARE: Final = 1 << 2
RAW_HARDWARE: Final = 1 << 6

_FOLDER: Final = Path("/sys/class/net")
_INFO: Final = struct.Struct("=IIiI12xI12x")
"""Command, what it stamps (SOF_TIMESTAMPING_), the clock, kinds of sending and of receiving."""
_REQUEST: Final = struct.Struct("@16sP16x")
"""struct ifreq: the name, and where the answer goes."""
_LONGEST_NAME: Final = 15


class CardStamps(NamedTuple):
    """The stamps that the hardware of an interface gives.

    Attributes:
        clock: the number N of its /dev/ptpN; None if it has no PTP hardware clock.
        sent, received: whether it gives raw stamps, in that clock, of packets of this direction.
    """

    clock: int | None
    sent: bool
    received: bool


def card_stamps(interface: str, ioctl: Ioctl = linux_ioctl) -> CardStamps:
    """The stamps that the hardware of a network interface gives, and their clock.

    Raises:
        SourceError: there is no such interface, or its driver does not say.
    """
    name = interface.encode()
    if not 0 < len(name) <= _LONGEST_NAME or b"\0" in name:
        raise SourceError(f"{interface!r} is no network interface: `ip link` lists them")
    answer = ctypes.create_string_buffer(_INFO.pack(GET_TS_INFO, 0, -1, 0, 0), _INFO.size)
    request = bytearray(_REQUEST.pack(name, ctypes.addressof(answer)))
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
            ioctl(any_socket.fileno(), SIOCETHTOOL, request)
    except OSError as error:
        if error.errno == errno.ENODEV:
            says = "there is no such network interface: `ip link` lists them"
        else:
            says = f"its driver does not say which clock it has ({error.strerror})"
        raise SourceError(f"{interface}: {says}") from None
    _, stamps, number, _, _ = _INFO.unpack(answer.raw)
    raw = number >= 0 and bool(stamps & RAW_HARDWARE)
    return CardStamps(
        number if number >= 0 else None,
        raw and bool(stamps & TX_HARDWARE),
        raw and bool(stamps & RX_HARDWARE),
    )


def clock_of_card(interface: str, ioctl: Ioctl = linux_ioctl) -> int:
    """The number N of the /dev/ptpN of a network interface.

    Raises:
        SourceError: there is no such interface, or it has no PTP hardware clock.
    """
    number = card_stamps(interface, ioctl).clock
    if number is None:
        raise SourceError(
            f"{interface} has no PTP hardware clock: the host stamps its packets, in REALTIME"
        )
    return number


def cards_of_clock(number: int, ioctl: Ioctl = linux_ioctl, folder: Path = _FOLDER) -> list[str]:
    """The network interfaces whose clock is /dev/ptpN, in the order of their names."""
    found = []
    for path in sorted(folder.glob("*")):
        try:
            if card_stamps(path.name, ioctl).clock == number:
                found.append(path.name)
        except SourceError:
            continue
    return found
